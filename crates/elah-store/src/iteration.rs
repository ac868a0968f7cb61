//! What the reads and writes within an iteration of a loop have in common. Reads share one snapshot, so that all but the first cost no reader's
//! slot; it is let go of when the iteration ends, so that no page is kept from the writers while the loop waits. Writes wait for the iteration to
//! end, and for the requests that are at hand then, so that all of it share a commit: their fibers cannot go on before.

use std::cell::{Cell, RefCell};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// How long a write waits for `begin_writes`. One that takes longer is held up by a handler that neither waits nor ends, and other processes
/// may wait for what was written.
const WRITE_DELAY_MAX: Duration = Duration::from_millis(5);

/// An opening of a store that takes part in the iteration of a thread.
pub(super) trait InIteration {
    /// Ends the snapshot that reads of the iteration share.
    fn release_reads(&self);

    /// Begins with the writes of the iteration.
    fn begin_writes(&self);
}

/// What a thread knows of the iteration that it is in. Every iteration of every worker passes here, so one without a read and a write pays for three
/// flags.
struct Iteration {
    /// False between two iterations, and on a thread without a loop.
    is_on: Cell<bool>,
    has_kept: Cell<bool>,
    /// The openings that keep a snapshot.
    keeping: RefCell<Vec<Weak<dyn InIteration>>>,
    has_written: Cell<bool>,
    /// The openings whose writers wait for `begin_writes`.
    writing: RefCell<Vec<Weak<dyn InIteration>>>,
}

thread_local! {
    static ITERATION: Iteration = const {
        Iteration {
            is_on: Cell::new(false),
            has_kept: Cell::new(false),
            keeping: RefCell::new(Vec::new()),
            has_written: Cell::new(false),
            writing: RefCell::new(Vec::new()),
        }
    };
}

/// From now on reads of this thread may keep their snapshot, and its writes wait, until `release_reads` and `begin_writes`.
pub fn begin() {
    ITERATION.with(|iteration| iteration.is_on.set(true));
}

/// Lets go of what this thread's reads have kept, and has the writers begin with what it has written. For who is in no iteration nothing happens.
pub fn end() {
    release_reads();
    begin_writes();
}

/// The first half of `end`.
pub fn release_reads() {
    ITERATION.with(|iteration| {
        iteration.is_on.set(false);
        if iteration.has_kept.take() {
            iteration.keeping.take().iter().filter_map(Weak::upgrade).for_each(|opening| opening.release_reads());
        }
    });
}

/// The second half of `end`.
pub fn begin_writes() {
    ITERATION.with(|iteration| {
        if iteration.has_written.take() {
            iteration.writing.take().iter().filter_map(Weak::upgrade).for_each(|opening| opening.begin_writes());
        }
    });
}

/// Whether `begin_writes` has something to begin with.
pub fn has_written() -> bool {
    ITERATION.with(|iteration| iteration.has_written.get())
}

/// Whether `opening` may keep a snapshot until the iteration ends.
pub(super) fn may_keep<O: InIteration + 'static>(opening: &Arc<O>) -> bool {
    ITERATION.with(|iteration| {
        if iteration.is_on.get() {
            iteration.has_kept.set(true);
            iteration.keeping.borrow_mut().push(weak(opening));
        }
        iteration.is_on.get()
    })
}

/// How long the writer of `opening` may wait for more writes before it begins with what this thread submits. The end of the iteration cuts it short.
pub(super) fn write_delay<O: InIteration + 'static>(opening: &Arc<O>) -> Duration {
    ITERATION.with(|iteration| {
        if !iteration.is_on.get() {
            return Duration::ZERO;
        }
        iteration.has_written.set(true);
        let mut writing = iteration.writing.borrow_mut();
        if !writing.iter().any(|known| known.as_ptr().cast::<O>() == Arc::as_ptr(opening)) {
            writing.push(weak(opening));
        }
        WRITE_DELAY_MAX
    })
}

fn weak<O: InIteration + 'static>(opening: &Arc<O>) -> Weak<dyn InIteration> {
    let weak: Weak<O> = Arc::downgrade(opening);
    weak
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
        let writing = || ITERATION.with(|iteration| iteration.writing.borrow().len());
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
