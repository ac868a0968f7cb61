//! Counts those who wait for a connection.

use std::sync::atomic::{AtomicUsize, Ordering};

/// How many wait at this moment.
#[derive(Debug, Default)]
pub(crate) struct Waiters(AtomicUsize);

/// One who waits, for as long as it lives.
pub(crate) struct Waiter<'w>(&'w Waiters);

impl Waiters {
    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// One more, and how many waited before it.
    pub(crate) fn enter(&self) -> (Waiter<'_>, usize) {
        let before = self.0.fetch_add(1, Ordering::Relaxed);
        (Waiter(self), before)
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}
