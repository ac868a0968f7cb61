//! What waits to be written on a connection, counted from its first byte, so that one knows of each frame whether it has left.

use std::cell::{Cell, RefCell};
use std::task::{Context, Waker};

/// Room that is kept when a burst is over.
const KEPT_BYTES: usize = 256 * 1024;

#[derive(Debug, Default)]
pub(crate) struct Outbox {
    waiting: RefCell<Vec<u8>>,
    appended: Cell<u64>,
    written: Cell<u64>,
    /// The pump, when it sleeps.
    pump: RefCell<Option<Waker>>,
    is_closed: Cell<bool>,
}

impl Outbox {
    /// Appends what `encode` writes, and gives the position behind it.
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

    /// Bytes that have not left.
    pub(crate) fn len(&self) -> usize {
        usize::try_from(self.appended.get() - self.written.get()).unwrap_or(usize::MAX)
    }

    /// Whether everything up to `position` has left.
    pub(crate) fn has_left(&self, position: u64) -> bool {
        position <= self.written.get()
    }

    /// Puts all that waits in place of `outgoing`, which is empty.
    pub(crate) fn swap(&self, outgoing: &mut Vec<u8>) {
        if outgoing.capacity() > KEPT_BYTES {
            *outgoing = Vec::new();
        }
        std::mem::swap(outgoing, &mut self.waiting.borrow_mut());
    }

    pub(crate) fn note_written(&self, bytes: usize) {
        self.written.set(self.written.get() + bytes as u64);
    }

    /// Begins anew, for another connection.
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

    /// Makes the pump look again.
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
