//! Waits of fibers for a file descriptor of the application, such as a gem's socket or pipe.

use std::cell::RefCell;
use std::collections::HashMap;
use std::future::poll_fn;
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::task::Poll;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::oneshot;

use crate::wake::{LocalWaker, WaitId};

/// The readiness of a descriptor, wanted or actual.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Readiness {
    pub readable: bool,
    pub writable: bool,
    pub priority: bool,
}

#[derive(Debug)]
pub struct DescriptorWatches {
    running: RefCell<HashMap<WaitId, oneshot::Sender<()>>>,
    ended: RefCell<HashMap<WaitId, Readiness>>,
    waker: LocalWaker,
}

impl DescriptorWatches {
    pub fn new(waker: LocalWaker) -> Self {
        DescriptorWatches { running: RefCell::new(HashMap::new()), ended: RefCell::new(HashMap::new()), waker }
    }

    /// Registers `descriptor` and returns the task that waits for it. Must be called inside the runtime.
    pub fn watch(self: Rc<Self>, wait: WaitId, descriptor: OwnedFd, wanted: Readiness) -> io::Result<impl Future<Output = ()>> {
        let descriptor = register(descriptor, wanted)?;
        let (cancel, cancelled) = oneshot::channel();
        self.running.borrow_mut().insert(wait, cancel);
        Ok(async move {
            let ready = tokio::select! {
                ready = descriptor.ready(interest(wanted)) => ready,
                _ = cancelled => return,
            };
            let found = match ready {
                Ok(guard) => {
                    let ready = guard.ready();
                    Readiness {
                        readable: wanted.readable && (ready.is_readable() || ready.is_read_closed() || ready.is_error()),
                        writable: wanted.writable && (ready.is_writable() || ready.is_write_closed() || ready.is_error()),
                        priority: wanted.priority && ready.is_priority(),
                    }
                }
                // The application's next read or write will get the error itself.
                Err(_) => wanted,
            };
            self.running.borrow_mut().remove(&wait);
            self.ended.borrow_mut().insert(wait, found);
            self.waker.end_wait(wait);
        })
    }

    /// The same for several descriptors: the wait ends when one of them is ready. It does not record which one.
    pub fn watch_any(
        self: Rc<Self>,
        wait: WaitId,
        descriptors: Vec<(OwnedFd, Readiness)>,
    ) -> io::Result<impl Future<Output = ()>> {
        let register = |(descriptor, wanted)| Ok((register(descriptor, wanted)?, interest(wanted)));
        let descriptors = descriptors.into_iter().map(register).collect::<io::Result<Vec<_>>>()?;
        let (cancel, cancelled) = oneshot::channel();
        self.running.borrow_mut().insert(wait, cancel);
        Ok(async move {
            let mut watches: Vec<_> =
                descriptors.iter().map(|(descriptor, wanted)| Box::pin(descriptor.ready(*wanted))).collect();
            let any_ready = poll_fn(|context| {
                let is_ready = watches.iter_mut().any(|watch| watch.as_mut().poll(context).is_ready());
                if is_ready { Poll::Ready(()) } else { Poll::Pending }
            });
            tokio::select! {
                () = any_ready => {}
                _ = cancelled => return,
            }
            self.running.borrow_mut().remove(&wait);
            self.waker.end_wait(wait);
        })
    }

    pub fn take(&self, wait: WaitId) -> Option<Readiness> {
        self.ended.borrow_mut().remove(&wait)
    }

    pub fn cancel(&self, wait: WaitId) {
        // Dropping the sender ends the task.
        self.running.borrow_mut().remove(&wait);
        self.ended.borrow_mut().remove(&wait);
    }
}

#[expect(unsafe_code, reason = "the one registration of a descriptor that tokio did not open")]
fn register(descriptor: OwnedFd, wanted: Readiness) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` is open and stays the same descriptor for as long as the `AsyncFd` owns it.
    unsafe { AsyncFd::register_with_interest(descriptor, interest(wanted)) }.map_err(io::Error::from)
}

fn interest(readiness: Readiness) -> Interest {
    let wanted = [
        (readiness.readable, Interest::READABLE),
        (readiness.writable, Interest::WRITABLE),
        (readiness.priority, Interest::PRIORITY),
    ];
    let interests = wanted.into_iter().filter_map(|(is_wanted, interest)| is_wanted.then_some(interest));
    interests.reduce(Interest::add).unwrap_or(Interest::READABLE)
}
