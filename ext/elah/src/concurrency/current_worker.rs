//! The worker of the calling thread.

use std::cell::RefCell;
use std::mem::ManuallyDrop;
use std::rc::Rc;

use elah_http::worker::Worker;
use magnus::{Error, Ruby};

use crate::ruby::errors;

thread_local! {
    /// Dropped only by the owner of the loop. A thread that ends without closing its loop has no runtime left to shut down.
    static WORKER: ManuallyDrop<RefCell<Option<Rc<Worker>>>> = const { ManuallyDrop::new(RefCell::new(None)) };
}

/// The worker of the calling thread.
///
/// # Errors
/// `Elah::RequestFinished` on a thread without a loop.
pub(crate) fn worker(ruby: &Ruby) -> Result<Rc<Worker>, Error> {
    WORKER.with(|cell| cell.borrow().clone()).ok_or_else(|| {
        Error::new(
            errors::class(ruby, "RequestFinished"),
            "No loop runs on this thread: a request belongs to the thread of its worker. Read params, headers and what else a block \
             needs before Elah.offload or Thread.new.",
        )
    })
}

pub(crate) fn is_there() -> bool {
    WORKER.with(|cell| cell.borrow().is_some())
}

pub(crate) fn set(worker: Rc<Worker>) {
    WORKER.with(|cell| *cell.borrow_mut() = Some(worker));
}

pub(crate) fn take() -> Option<Rc<Worker>> {
    WORKER.with(|cell| cell.borrow_mut().take())
}
