//! The count of callers that wait for a connection.

use std::sync::atomic::{AtomicUsize, Ordering};

/// The current number.
#[derive(Debug, Default)]
pub(crate) struct Waiters(AtomicUsize);

/// A waiting caller, counted while it lives.
pub(crate) struct Waiter<'w>(&'w Waiters);

impl Waiters {
    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// Counts one more, and returns the number before it.
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
