//! The channel between a handler that writes its response in pieces and the connection that sends it, bounded in bytes.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;

use elah_loop::wake::WaitId;

/// The largest part of a piece that the connection takes at once.
const PART_BYTES: usize = 64 * 1024;

/// One streamed response. Both ends live on the worker's thread.
#[derive(Debug)]
pub(crate) struct StreamState {
    chunks: RefCell<VecDeque<Bytes>>,
    buffered_bytes: Cell<usize>,
    buffer_bytes_max: usize,
    /// Bytes of the announced length that the connection has not taken; `None` without an announced length.
    bytes_left: Cell<Option<u64>>,
    end: Cell<End>,
    reader: RefCell<Option<Waker>>,
    reader_is_gone: Cell<bool>,
    /// The fibers that wait for room. Several may write to one stream.
    writers: RefCell<Vec<WaitId>>,
    /// The fibers that wait until the connection has taken everything or is closed.
    end_watchers: RefCell<Vec<WaitId>>,
    was_delivered: Cell<bool>,
    end_wait: elah_loop::wake::LocalWaker,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Open,
    Complete,
    /// The handler failed after the head was sent. The connection must break, so that the client does not take the part for the
    /// whole.
    Broken,
}

/// The future end of a stream: `wait` ends with it.
#[derive(Debug)]
pub struct StreamEnd {
    pub wait: WaitId,
    stream: Rc<StreamState>,
}

impl StreamEnd {
    pub(crate) fn new(wait: WaitId, stream: Rc<StreamState>) -> Self {
        stream.wait_for_end(wait);
        StreamEnd { wait, stream }
    }

    /// Whether the connection took the whole response.
    pub fn was_delivered(&self) -> bool {
        self.stream.was_delivered.get()
    }
}

/// The result of a write.
#[derive(Debug, PartialEq, Eq)]
pub enum Written {
    Accepted,
    /// Not accepted, because the client has too much unread: wait for room and write it again.
    Full(Bytes),
    /// The client has disconnected; nothing was accepted.
    ClientGone,
}

impl StreamState {
    pub(crate) fn new(buffer_bytes_max: usize, end_wait: elah_loop::wake::LocalWaker) -> Self {
        StreamState {
            chunks: RefCell::new(VecDeque::new()),
            buffered_bytes: Cell::new(0),
            buffer_bytes_max,
            bytes_left: Cell::new(None),
            end: Cell::new(End::Open),
            reader: RefCell::new(None),
            reader_is_gone: Cell::new(false),
            writers: RefCell::new(Vec::new()),
            end_watchers: RefCell::new(Vec::new()),
            was_delivered: Cell::new(false),
            end_wait,
        }
    }

    /// Announces the length of the response.
    pub(crate) fn announce(&self, bytes: Option<u64>) {
        self.bytes_left.set(bytes);
    }

    pub(crate) fn bytes_left(&self) -> Option<u64> {
        self.bytes_left.get()
    }

    /// Accepts the whole piece or nothing of it. The connection takes a long one in parts, and what it has not taken counts.
    pub(crate) fn write(&self, mut chunk: Bytes) -> Written {
        if self.buffered_bytes.get() > self.buffer_bytes_max && !self.reader_is_gone.get() {
            return Written::Full(chunk);
        }
        loop {
            if !self.push(chunk.split_to(chunk.len().min(PART_BYTES))) {
                return Written::ClientGone;
            }
            if chunk.is_empty() {
                return Written::Accepted;
            }
        }
    }

    /// Accepts a piece, however much the client has unread. False if it has disconnected.
    pub(crate) fn push(&self, chunk: Bytes) -> bool {
        if self.reader_is_gone.get() || self.end.get() != End::Open {
            return self.was_delivered.get() && chunk.is_empty();
        }
        if !chunk.is_empty() {
            self.buffered_bytes.set(self.buffered_bytes.get() + chunk.len());
            self.chunks.borrow_mut().push_back(chunk);
            self.wake_reader();
        }
        true
    }

    /// Ends the wait `id` as soon as there is room, or the client has disconnected.
    pub(crate) fn wait_for_room(&self, id: WaitId) {
        self.writers.borrow_mut().push(id);
        if self.reader_is_gone.get() || self.has_room() {
            self.wake_writers();
        }
    }

    pub(crate) fn close(&self) {
        if self.end.get() == End::Open {
            self.end.set(End::Complete);
            self.wake_reader();
        }
    }

    pub(crate) fn break_off(&self) {
        if self.end.get() == End::Open {
            self.end.set(End::Broken);
            self.wake_reader();
        }
    }

    /// The connection reads no more: it is closed, or has the end of the response, or its last announced byte, after which the
    /// handler may still be running.
    pub(crate) fn reader_left(&self) {
        self.reader_is_gone.set(true);
        let has_all = self.end.get() == End::Complete && self.chunks.borrow().is_empty();
        self.was_delivered.set(has_all || self.bytes_left.get() == Some(0));
        self.chunks.borrow_mut().clear();
        self.wake_writers();
        for id in self.end_watchers.take() {
            self.end_wait.end_wait(id);
        }
    }

    /// Ends the wait `id` when the connection has taken the whole response or is closed.
    pub(crate) fn wait_for_end(&self, id: WaitId) {
        if self.reader_is_gone.get() {
            self.end_wait.end_wait(id);
        } else {
            self.end_watchers.borrow_mut().push(id);
        }
    }

    /// True if the handler has not ended the response and the client has disconnected.
    pub(crate) fn is_unread(&self) -> bool {
        self.end.get() == End::Open && self.reader_is_gone.get() && !self.was_delivered.get()
    }

    pub(crate) fn is_reader_gone(&self) -> bool {
        self.reader_is_gone.get()
    }

    pub(crate) fn poll_chunk(&self, context: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        let chunk = self.chunks.borrow_mut().pop_front();
        if let Some(chunk) = chunk {
            self.buffered_bytes.set(self.buffered_bytes.get() - chunk.len());
            self.bytes_left.set(self.bytes_left.get().map(|left| left.saturating_sub(chunk.len() as u64)));
            if self.has_room() {
                self.wake_writers();
            }
            return Poll::Ready(Some(Ok(chunk)));
        }
        match self.end.get() {
            End::Complete => Poll::Ready(None),
            End::Broken => Poll::Ready(Some(Err(io::Error::other("the handler failed after it had begun the response")))),
            End::Open => {
                *self.reader.borrow_mut() = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }

    /// Pieces that the connection has not taken yet.
    pub(crate) fn pieces(&self) -> usize {
        self.chunks.borrow().len()
    }

    /// Half the limit, so that a writer wakes for more than a few bytes.
    fn has_room(&self) -> bool {
        self.buffered_bytes.get() <= self.buffer_bytes_max / 2
    }

    fn wake_reader(&self) {
        if let Some(waker) = self.reader.borrow_mut().take() {
            waker.wake();
        }
    }

    fn wake_writers(&self) {
        for id in self.writers.take() {
            self.end_wait.end_wait(id);
        }
    }
}
