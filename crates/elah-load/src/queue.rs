//! The requests that are due and have not found a free connection yet.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::time::Instant;

use tokio::sync::Notify;

/// A queue of planned send times in one thread. Connections take turns: the one that waited longest is served first.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    due: RefCell<VecDeque<Instant>>,
    arrival: Notify,
    is_closed: Cell<bool>,
}

impl Queue {
    /// Adds a request that was planned for `planned`.
    pub(crate) fn push(&self, planned: Instant) {
        self.due.borrow_mut().push_back(planned);
        self.arrival.notify_one();
    }

    /// No more requests will come; what is queued is still handed out.
    pub(crate) fn close(&self) {
        self.is_closed.set(true);
        self.arrival.notify_waiters();
    }

    /// The planned time of the next request, or nothing once the queue is closed and empty.
    pub(crate) async fn next(&self) -> Option<Instant> {
        loop {
            // Made before the queue is looked at, so that a close in between is not missed.
            let arrival = self.arrival.notified();
            if let Some(planned) = self.due.borrow_mut().pop_front() {
                return Some(planned);
            }
            if self.is_closed.get() {
                return None;
            }
            arrival.await;
        }
    }
}
