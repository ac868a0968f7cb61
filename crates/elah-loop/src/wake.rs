//! Wake-ups of the loop: the list of ended waits, filled by the loop's own tasks and, under a lock, by other threads.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Waker;

use tokio::sync::Notify;

/// Identifies one wait of a suspended fiber. A worker never reuses one, so a late wake-up has no effect.
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
    notify: Notify,
}

impl Default for RemoteWaker {
    fn default() -> Self {
        Self::new()
    }
}

impl RemoteWaker {
    pub fn new() -> Self {
        RemoteWaker {
            shared: Arc::new(Remote { ended: Mutex::new(Vec::new()), has_ended: AtomicBool::new(false), notify: Notify::new() }),
        }
    }

    /// Ends the wait `id`: its fiber runs in the loop's next iteration.
    pub fn end_wait(&self, id: WaitId) {
        self.shared.ended.lock().unwrap_or_else(PoisonError::into_inner).push(id);
        self.shared.has_ended.store(true, Ordering::Release);
        self.shared.notify.notify_one();
    }

    /// Makes the running or next iteration return at once.
    pub fn interrupt(&self) {
        self.shared.notify.notify_one();
    }

    pub fn has_ended_waits(&self) -> bool {
        self.shared.has_ended.load(Ordering::Acquire)
    }

    pub fn drain_into(&self, waits: &mut Vec<WaitId>) {
        if self.has_ended_waits() {
            let mut ended = self.shared.ended.lock().unwrap_or_else(PoisonError::into_inner);
            self.shared.has_ended.store(false, Ordering::Release);
            waits.append(&mut ended);
        }
    }

    pub async fn notified(&self) {
        self.shared.notify.notified().await;
    }
}

/// The loop's own wake-ups, without a lock.
#[derive(Clone, Debug, Default)]
pub struct LocalWaker {
    ended: Rc<Ended>,
}

#[derive(Debug, Default)]
struct Ended {
    waits: RefCell<Vec<WaitId>>,
    iteration: RefCell<Option<Waker>>,
}

impl LocalWaker {
    pub fn end_wait(&self, id: WaitId) {
        self.ended.waits.borrow_mut().push(id);
        self.wake_iteration();
    }

    pub fn is_empty(&self) -> bool {
        self.ended.waits.borrow().is_empty()
    }

    pub fn drain_into(&self, waits: &mut Vec<WaitId>) {
        waits.append(&mut self.ended.waits.borrow_mut());
    }

    /// Registers the iteration that waits, so that work ends its wait.
    pub fn register_iteration(&self, waker: &Waker) {
        let mut iteration = self.ended.iteration.borrow_mut();
        match &mut *iteration {
            Some(known) => known.clone_from(waker),
            None => *iteration = Some(waker.clone()),
        }
    }

    pub fn wake_iteration(&self) {
        if let Some(waker) = self.ended.iteration.borrow_mut().take() {
            waker.wake();
        }
    }
}
