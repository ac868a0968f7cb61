//! Waking the loop: the list of waits that are over, filled by the loop's own tasks and, under a lock, by other threads.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

/// Names one suspended fiber. Never used twice in a worker's life, so a late wake-up finds nobody and does no harm.
pub type WaitId = u64;

/// Wakes the loop from any thread. Cheap to clone.
#[derive(Clone, Debug)]
pub struct RemoteWaker {
    shared: Arc<Remote>,
}

#[derive(Debug)]
struct Remote {
    ended: Mutex<Vec<WaitId>>,
    has_ended: AtomicBool,
    interrupted: AtomicBool,
    notify: Notify,
}

impl RemoteWaker {
    pub(crate) fn new() -> Self {
        RemoteWaker {
            shared: Arc::new(Remote {
                ended: Mutex::new(Vec::new()),
                has_ended: AtomicBool::new(false),
                interrupted: AtomicBool::new(false),
                notify: Notify::new(),
            }),
        }
    }

    /// Ends the wait `id`: its fiber runs in the loop's next turn.
    pub fn end_wait(&self, id: WaitId) {
        self.shared.ended.lock().unwrap_or_else(PoisonError::into_inner).push(id);
        self.shared.has_ended.store(true, Ordering::Release);
        self.shared.notify.notify_one();
    }

    /// Makes the running or next turn return at once.
    pub fn interrupt(&self) {
        self.shared.interrupted.store(true, Ordering::Release);
        self.shared.notify.notify_one();
    }

    pub(crate) fn take_interrupt(&self) -> bool {
        self.shared.interrupted.load(Ordering::Relaxed) && self.shared.interrupted.swap(false, Ordering::AcqRel)
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.shared.has_ended.load(Ordering::Acquire)
    }

    pub(crate) fn drain_into(&self, waits: &mut Vec<WaitId>) {
        if self.has_ended() {
            let mut ended = self.shared.ended.lock().unwrap_or_else(PoisonError::into_inner);
            self.shared.has_ended.store(false, Ordering::Release);
            waits.append(&mut ended);
        }
    }

    pub(crate) async fn notified(&self) {
        self.shared.notify.notified().await;
    }
}
