//! The lease of a transaction, which one task at a time holds. Once the transaction is abandoned, the lease ends with its holder.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::{Mutex, Notify, OwnedMutexGuard};

use super::lease::Lease;

/// A lease that several tasks use in turn.
pub(super) struct Shared {
    /// `None` when the transaction is over.
    lease: Arc<Mutex<Option<Lease>>>,
    is_abandoned: AtomicBool,
    abandoning: Notify,
}

impl Shared {
    pub(super) fn new(lease: Lease) -> Arc<Shared> {
        Arc::new(Shared {
            lease: Arc::new(Mutex::new(Some(lease))),
            is_abandoned: AtomicBool::new(false),
            abandoning: Notify::new(),
        })
    }

    /// Waits until no other task holds the lease.
    pub(super) async fn hold(self: &Arc<Shared>) -> Held {
        // Made before the wait: one that is given up may have got the lock, and has to look as well.
        let mut held = Held { guard: None, shared: Arc::clone(self) };
        held.guard = Some(Arc::clone(&self.lease).lock_owned().await);
        held
    }

    /// Ends the lease now, or as soon as its holder lets go of it.
    pub(super) fn abandon(&self) {
        self.is_abandoned.store(true, Ordering::SeqCst);
        self.abandoning.notify_waiters();
        self.end();
    }

    /// Waits until the transaction is abandoned.
    pub(super) async fn abandoned(&self) {
        let abandoning = self.abandoning.notified(); // before the look, so that nothing comes in between
        if !self.is_abandoned.load(Ordering::SeqCst) {
            abandoning.await;
        }
    }

    /// Ends the lease unless a task holds it, which does so when it lets go.
    fn end(&self) {
        if let Ok(mut lease) = self.lease.try_lock() {
            lease.take();
        }
    }
}

/// The lease, as long as one task uses it.
pub(super) struct Held {
    guard: Option<OwnedMutexGuard<Option<Lease>>>,
    shared: Arc<Shared>,
}

impl Held {
    /// `None` when the transaction is over.
    pub(super) fn lease(&mut self) -> Option<&mut Lease> {
        self.guard.as_mut()?.as_mut().filter(|_| !self.shared.is_abandoned.load(Ordering::SeqCst))
    }

    /// Takes the lease out, which ends the transaction for the other tasks.
    pub(super) fn take(&mut self) -> Option<Lease> {
        self.guard.as_mut()?.take()
    }
}

impl Drop for Held {
    /// Looks after it has let go: what abandons the transaction before has found the lease held, and what does later finds it free.
    fn drop(&mut self) {
        self.guard = None;
        if self.shared.is_abandoned.load(Ordering::SeqCst) {
            self.shared.end();
        }
    }
}
