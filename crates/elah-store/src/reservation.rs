//! The store's lock, kept for a transaction that has lost often: what it reads cannot change before it is committed.
//!
//! A process that writes one transaction after the other commits while another process reads, and so the other may lose for ever: it reads
//! again while the next one is on its way to the disk. One that reads while its own writer has the lock cannot lose.

use std::sync::{Arc, Weak};

use super::Transaction;
use super::engine::Engine;
use super::error::Error;
use super::queue::{Done, Job};
use super::shared::Handle;

/// See the module. The writer keeps the lock for up to 20 ms; a transaction that takes longer may lose.
///
/// It keeps no opening: one that waits for its transaction may be inherited by a fork, which could not open the directory beside it.
pub struct Reservation {
    engine: Weak<Engine>,
    handle: Arc<Handle>,
    is_granted: bool,
}

impl Reservation {
    /// `done` gets the reservation when the writer has the lock. Dropping the reservation ends it.
    pub(super) fn request(engine: &Arc<Engine>, handle: Arc<Handle>, done: impl FnOnce(Result<Self, Error>) + Send + 'static) {
        let mut reservation = Reservation { engine: Arc::downgrade(engine), handle, is_granted: false };
        let done: Done<()> = Box::new(move |granted| {
            done(granted.and_then(|()| {
                reservation.engine.upgrade().ok_or(Error::Closed)?.queue.reserve();
                reservation.is_granted = true;
                Ok(reservation)
            }));
        });
        engine.submit(Job::Reserve(done));
    }

    /// Begins the transaction on the current state of the store, which stays as it is. `Closed` if the store was closed for a fork.
    pub fn begin(self) -> Result<Transaction, Error> {
        let engine = self.engine.upgrade().ok_or(Error::Closed)?;
        let handle = Arc::clone(&self.handle);
        Transaction::begin(&engine, &handle, Some(self))
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let Some(engine) = self.engine.upgrade() else { return };
        // In a fork there is no writer, and the queue's lock may never be released.
        if self.is_granted && engine.is_of_this_process() {
            engine.queue.end_reservation();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::super::session::Session;
    use super::super::{Clock, Options, Store};
    use super::*;
    use crate::engine::writer::PATIENCE_MAX;

    /// As in `tests/store/serialisable.rs`, a thread that gets no core for long enough may lose, but not each time.
    #[test]
    fn the_wait_for_another_process_is_no_part_of_the_time_that_a_reservation_has() {
        let dir = tempfile::tempdir().expect("a folder");
        let pause = Duration::from_secs(3600);
        let options = Options { bytes_max: 1 << 24, fold_pause: pause, sweep_pause: pause, clock: Clock::System };
        let store = Store::open(dir.path(), &options).expect("a store");
        let engine = store.handle.with(|engine| Ok(Arc::clone(engine))).expect("an open store");
        let table = store.table("t").expect("a table");
        let has_won = (0..10_u8).any(|attempt| {
            let of_another_process = Session::begin(&engine.env, engine.tree, 0).expect("the lock");
            let (sender, granted) = mpsc::channel();
            store.reserve(move |reservation| sender.send(reservation).expect("somebody waits"));
            assert!(granted.recv_timeout(2 * PATIENCE_MAX).is_err(), "another has the lock");
            drop(of_another_process);
            let mut transaction = granted.recv().expect("a result").and_then(Reservation::begin).expect("a transaction");
            let (sender, stored) = mpsc::channel();
            table.put(b"k".to_vec(), vec![attempt], None, false, move |outcome| sender.send(outcome).expect("somebody waits"));
            transaction.get(&table, b"k").expect("a read");
            // A writer without the lock would store it now.
            let early = stored.recv_timeout(PATIENCE_MAX / 4);
            transaction.put(&table, b"seen", vec![attempt], None).expect("a put");
            let (sender, committed) = mpsc::channel();
            transaction.commit(move |outcome| sender.send(outcome).expect("somebody waits"));
            assert_eq!(early.or_else(|_| stored.recv()), Ok(Ok(true)));
            committed.recv().expect("a result").is_ok()
        });
        assert!(has_won);
    }

    /// A fork while a transaction waited for its lock left a child that could not open the directory.
    #[test]
    fn one_that_was_granted_before_a_fork_keeps_no_opening() {
        let dir = tempfile::tempdir().expect("a folder");
        let pause = Duration::from_secs(3600);
        let options = Options { bytes_max: 1 << 24, fold_pause: pause, sweep_pause: pause, clock: Clock::System };
        let store = Store::open(dir.path(), &options).expect("a store");
        let engine = store.handle.with(|engine| Ok(Arc::downgrade(engine))).expect("an open store");
        let (sender, granted) = mpsc::channel();
        store.reserve(move |reservation| sender.send(reservation).expect("somebody waits"));
        let granted = granted.recv().expect("a result").expect("a reservation");
        store.close(); // as a fork closes all
        assert!(engine.upgrade().is_none());
        assert!(matches!(granted.begin(), Err(Error::Closed)));
    }
}
