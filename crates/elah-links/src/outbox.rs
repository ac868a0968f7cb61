//! The bytes that wait to be written on a connection, counted from its first byte, so that each frame is known to have left or
//! not.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::task::{Context, Poll, Waker};

/// Capacity kept after a burst.
const KEPT_BYTES: usize = 256 * 1024;

#[derive(Debug, Default)]
pub(crate) struct Outbox {
    waiting: RefCell<Vec<u8>>,
    appended: Cell<u64>,
    written: Cell<u64>,
    /// The pump, while it sleeps.
    pump: RefCell<Option<Waker>>,
    is_closed: Cell<bool>,
}

impl Outbox {
    /// Appends what `encode` writes, and returns the position after it.
    pub(crate) fn append(&self, encode: impl FnOnce(&mut Vec<u8>)) -> u64 {
        let mut waiting = self.waiting.borrow_mut();
        let before = waiting.len();
        encode(&mut waiting);
        let end = self.appended.get() + (waiting.len() - before) as u64;
        self.appended.set(end);
        drop(waiting);
        self.wake();
        end
    }

    /// Number of bytes that have not left.
    pub(crate) fn len(&self) -> usize {
        usize::try_from(self.appended.get() - self.written.get()).unwrap_or(usize::MAX)
    }

    /// Whether everything up to `position` has left.
    pub(crate) fn has_left(&self, position: u64) -> bool {
        position <= self.written.get()
    }

    /// Moves all waiting bytes to `outgoing`, which is empty.
    pub(crate) fn swap(&self, outgoing: &mut Vec<u8>) {
        if outgoing.capacity() > KEPT_BYTES {
            *outgoing = Vec::new();
        }
        std::mem::swap(outgoing, &mut self.waiting.borrow_mut());
    }

    pub(crate) fn note_written(&self, bytes: usize) {
        self.written.set(self.written.get() + bytes as u64);
    }

    /// Starts again for another connection.
    pub(crate) fn reset(&self) {
        self.waiting.borrow_mut().clear();
        self.appended.set(0);
        self.written.set(0);
    }

    /// Ends the connection.
    pub(crate) fn close(&self) {
        self.is_closed.set(true);
        self.wake();
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.get()
    }

    /// Waits until the connection is ended; for the time before the pump runs.
    pub(crate) async fn closed(&self) {
        poll_fn(|context| {
            self.register(context);
            if self.is_closed() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }

    /// Wakes the pump.
    pub(crate) fn wake(&self) {
        if let Some(pump) = self.pump.borrow_mut().take() {
            pump.wake();
        }
    }

    pub(crate) fn register(&self, context: &Context<'_>) {
        let mut pump = self.pump.borrow_mut();
        match &mut *pump {
            Some(known) => known.clone_from(context.waker()),
            None => *pump = Some(context.waker().clone()),
        }
    }
}
