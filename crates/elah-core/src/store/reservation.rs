//! The store's lock, kept for a transaction that has lost often: what it reads cannot change before it is committed.
//!
//! A process that writes one transaction after the other commits while another process reads, and so the other may lose for ever: it reads
//! again while the next one is on its way to the disk. One that reads while its own writer has the lock cannot lose.

use std::sync::Arc;

use super::Transaction;
use super::engine::Engine;
use super::error::Error;
use super::queue::{Done, Job};
use super::shared::Handle;

/// See the module. The writer keeps the lock for 20 ms at most; a transaction that takes longer may lose.
pub struct Reservation {
    engine: Arc<Engine>,
    handle: Arc<Handle>,
    is_granted: bool,
}

impl Reservation {
    /// `done` gets the reservation when the writer has the lock. It ends when it is dropped.
    pub(super) fn request(engine: Arc<Engine>, handle: Arc<Handle>, done: impl FnOnce(Result<Self, Error>) + Send + 'static) {
        let mut reservation = Reservation { engine: Arc::clone(&engine), handle, is_granted: false };
        let done: Done<()> = Box::new(move |granted| {
            done(granted.map(|()| {
                reservation.engine.queue.reserve();
                reservation.is_granted = true;
                reservation
            }));
        });
        engine.submit(Job::Reserve(done));
    }

    /// Begins the transaction on the store as it is now and as it stays.
    pub fn begin(self) -> Result<Transaction, Error> {
        let (engine, handle) = (Arc::clone(&self.engine), Arc::clone(&self.handle));
        Transaction::begin(&engine, &handle, Some(self))
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        // In a fork there is no writer, and the queue's lock may be held for ever.
        if self.is_granted && self.engine.is_of_this_process() {
            self.engine.queue.end_reservation();
        }
    }
}
