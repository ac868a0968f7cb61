//! Reads within a turn of a loop: they share one snapshot, so that all but the first cost no reader's slot. It is let go of when the
//! turn ends, so that no page is kept from the writers while the loop waits.

use std::cell::{Cell, RefCell};
use std::sync::{Arc, MutexGuard, PoisonError, Weak};

use super::engine::Engine;
use super::env::Snapshot;
use super::error::Error;

/// What a thread knows of the turn that it is in. Every turn of every worker passes here, so one that read nothing pays for two flags.
struct Turn {
    /// False between two turns, and on a thread without a loop.
    is_on: Cell<bool>,
    has_kept: Cell<bool>,
    /// The openings that keep a snapshot.
    keeping: RefCell<Vec<Weak<Engine>>>,
}

thread_local! {
    static TURN: Turn = const { Turn { is_on: Cell::new(false), has_kept: Cell::new(false), keeping: RefCell::new(Vec::new()) } };
}

/// From now on reads of this thread may keep their snapshot, until `end`.
pub(crate) fn begin() {
    TURN.with(|turn| turn.is_on.set(true));
}

/// Lets go of what this thread's reads have kept.
pub(crate) fn end() {
    TURN.with(|turn| {
        turn.is_on.set(false);
        if turn.has_kept.take() {
            turn.keeping.take().iter().filter_map(Weak::upgrade).for_each(|engine| engine.release_kept());
        }
    });
}

/// Whether `engine` may keep a snapshot; it is told then when the turn ends.
fn may_keep(engine: &Arc<Engine>) -> bool {
    TURN.with(|turn| {
        if turn.is_on.get() {
            turn.has_kept.set(true);
            turn.keeping.borrow_mut().push(Arc::downgrade(engine));
        }
        turn.is_on.get()
    })
}

impl Engine {
    /// Calls `work` with the store as it is now. In a turn of a loop reads share one snapshot for as long as no process commits.
    pub(super) fn read<R>(self: &Arc<Self>, work: impl FnOnce(&Snapshot) -> Result<R, Error>) -> Result<R, Error> {
        let Ok(mut kept) = self.kept.try_lock() else { return work(&self.snapshot()?) };
        let snapshot = match kept.take() {
            Some(current) if current.id() == self.env.info().last_txn_id => kept.insert(current),
            stale => {
                let is_noted = stale.is_some();
                drop(stale);
                let snapshot = self.snapshot()?;
                if !is_noted && !may_keep(self) {
                    return work(&snapshot);
                }
                kept.insert(snapshot)
            }
        };
        work(snapshot)
    }

    pub(super) fn release_kept(&self) {
        if !self.is_of_this_process() {
            return self.forget_kept();
        }
        self.kept().take();
    }

    /// In a fork: its parent still reads with what is kept, and ending it here would end it there.
    pub(super) fn forget_kept(&self) {
        std::mem::forget(self.kept().take());
    }

    fn kept(&self) -> MutexGuard<'_, Option<Snapshot>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::super::{Clock, Options, Store};
    use super::*;

    fn store(dir: &tempfile::TempDir) -> Store {
        let pause = Duration::from_millis(100);
        let options = Options { bytes_max: 1 << 24, fold_pause: pause, sweep_pause: pause, clock: Clock::System };
        Store::open(dir.path(), &options).expect("a store")
    }

    fn keeps(store: &Store) -> bool {
        store.handle.with(|engine| Ok(engine.kept().is_some())).expect("an open store")
    }

    fn value(store: &Store) -> Option<Vec<u8>> {
        let mut value = Vec::new();
        let is_there = store.table("t").and_then(|table| table.get(b"k", &mut value)).expect("a read");
        is_there.then_some(value)
    }

    fn put(store: &Store, value: &[u8]) {
        let (done, stored) = mpsc::channel();
        let table = store.table("t").expect("a table");
        table.put(b"k".to_vec(), value.to_vec(), None, false, move |outcome| done.send(outcome).expect("a receiver"));
        assert_eq!(stored.recv(), Ok(Ok(true)));
    }

    #[test]
    fn a_snapshot_is_kept_within_a_turn_alone() {
        let dir = tempfile::tempdir().expect("a folder");
        let store = store(&dir);
        assert_eq!((value(&store), keeps(&store)), (None, false));
        begin();
        assert!(!keeps(&store));
        assert_eq!((value(&store), keeps(&store)), (None, true));
        std::thread::scope(|scope| assert!(scope.spawn(|| value(&store).is_none()).join().expect("another thread's read")));
        end();
        assert!(!keeps(&store));
    }

    #[test]
    fn what_is_committed_is_seen_in_the_same_turn() {
        let dir = tempfile::tempdir().expect("a folder");
        let store = store(&dir);
        begin();
        assert_eq!(value(&store), None);
        for round in 0..3_u8 {
            put(&store, &[round]);
            assert_eq!((value(&store), keeps(&store)), (Some(vec![round]), true));
        }
        end();
        assert!(!keeps(&store));
    }

    #[test]
    fn a_store_that_is_closed_or_released_keeps_nothing() {
        let dir = tempfile::tempdir().expect("a folder");
        let store = store(&dir);
        put(&store, b"1");
        begin();
        assert_eq!(value(&store), Some(b"1".to_vec()));
        super::super::release_all();
        assert_eq!((value(&store), keeps(&store)), (Some(b"1".to_vec()), true));
        store.close();
        let again = self::store(&dir);
        assert_eq!(value(&again), Some(b"1".to_vec()));
        end();
    }
}
