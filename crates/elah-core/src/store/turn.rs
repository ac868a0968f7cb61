//! What the reads and writes within a turn of a loop have in common. Reads share one snapshot, so that all but the first cost no reader's
//! slot; it is let go of when the turn ends, so that no page is kept from the writers while the loop waits. Writes wait for the turn to
//! end, and for the requests that are at hand then, so that all of it share a commit: their fibers cannot go on before.

use std::cell::{Cell, RefCell};
use std::sync::{Arc, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use super::engine::Engine;
use super::env::Snapshot;
use super::error::Error;

/// How long a write waits for `begin_writes`. One that takes longer is held up by a handler that neither waits nor ends, and other processes
/// may wait for what was written.
const WRITE_DELAY_MAX: Duration = Duration::from_millis(5);

/// What a thread knows of the turn that it is in. Every turn of every worker passes here, so one without a read and a write pays for three
/// flags.
struct Turn {
    /// False between two turns, and on a thread without a loop.
    is_on: Cell<bool>,
    has_kept: Cell<bool>,
    /// The openings that keep a snapshot.
    keeping: RefCell<Vec<Weak<Engine>>>,
    has_written: Cell<bool>,
    /// The openings whose writers wait for `begin_writes`.
    writing: RefCell<Vec<Weak<Engine>>>,
}

thread_local! {
    static TURN: Turn = const {
        Turn {
            is_on: Cell::new(false),
            has_kept: Cell::new(false),
            keeping: RefCell::new(Vec::new()),
            has_written: Cell::new(false),
            writing: RefCell::new(Vec::new()),
        }
    };
}

/// From now on reads of this thread may keep their snapshot, and its writes wait, until `release_reads` and `begin_writes`.
pub(crate) fn begin() {
    TURN.with(|turn| turn.is_on.set(true));
}

/// Lets go of what this thread's reads have kept, and has the writers begin with what it has written. For who is in no turn nothing happens.
pub fn end() {
    release_reads();
    begin_writes();
}

/// The first half of `end`.
pub(crate) fn release_reads() {
    TURN.with(|turn| {
        turn.is_on.set(false);
        if turn.has_kept.take() {
            turn.keeping.take().iter().filter_map(Weak::upgrade).for_each(|engine| engine.release_kept());
        }
    });
}

/// The second half of `end`.
pub(crate) fn begin_writes() {
    TURN.with(|turn| {
        if turn.has_written.take() {
            turn.writing.take().iter().filter_map(Weak::upgrade).for_each(|engine| engine.hurry());
        }
    });
}

/// Whether `begin_writes` has something to begin with.
pub(crate) fn has_written() -> bool {
    TURN.with(|turn| turn.has_written.get())
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

/// How long the writer of `engine` may wait for more before it begins with what this thread submits; it is told when the turn ends.
pub(super) fn write_delay(engine: &Arc<Engine>) -> Duration {
    TURN.with(|turn| {
        if !turn.is_on.get() {
            return Duration::ZERO;
        }
        turn.has_written.set(true);
        let mut writing = turn.writing.borrow_mut();
        if !writing.iter().any(|known| known.as_ptr() == Arc::as_ptr(engine)) {
            writing.push(Arc::downgrade(engine));
        }
        WRITE_DELAY_MAX
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
    fn a_writer_waits_for_more_within_a_turn_alone() {
        let dir = tempfile::tempdir().expect("a folder");
        let store = store(&dir);
        let delay = || store.handle.with(|engine| Ok(write_delay(engine))).expect("an open store");
        let writing = || TURN.with(|turn| turn.writing.borrow().len());
        assert_eq!((delay(), writing()), (Duration::ZERO, 0));
        begin();
        assert_eq!((delay(), delay(), writing()), (WRITE_DELAY_MAX, WRITE_DELAY_MAX, 1));
        std::thread::scope(|scope| assert!(scope.spawn(|| delay().is_zero()).join().expect("another thread's write")));
        end();
        assert_eq!((delay(), writing()), (Duration::ZERO, 0));
    }

    #[test]
    fn what_a_turn_has_written_is_stored_when_it_ends() {
        let dir = tempfile::tempdir().expect("a folder");
        let store = store(&dir);
        let table = store.table("t").expect("a table");
        let (done, stored) = mpsc::channel();
        begin();
        for key in [b"a", b"b"] {
            let done = done.clone();
            table.put(key.to_vec(), b"1".to_vec(), None, false, move |outcome| done.send(outcome).expect("a receiver"));
        }
        end();
        assert_eq!([stored.recv(), stored.recv()], [Ok(Ok(true)), Ok(Ok(true))]);
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
