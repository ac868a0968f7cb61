//! The stream that hyper reads: the peer's bytes pass through the guard first, and every wait in either direction is timed.

use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::{Buf, BytesMut};
use hyper::rt::ReadBufCursor;
use tokio::io::ReadBuf;

use crate::connection_state::ConnectionState;
use crate::guard::{Guard, Phase, Step};
use crate::problem::Problem;
use crate::shared::Shared;
use crate::socket::Socket;

pub(crate) struct GuardedSocket {
    socket: Socket,
    guard: Guard,
    /// Bytes read but not passed on; nearly always empty, because a head that arrives whole passes straight through.
    held: BytesMut,
    /// How many bytes at the front of `held` the guard has passed.
    passed: usize,
    /// Whether hyper has seen the end of the stream in place of a refused message. The refusal is then the next response.
    ends_in_refusal: bool,
    shared: Rc<Shared>,
    state: Rc<ConnectionState>,
}

impl GuardedSocket {
    pub(crate) fn new(socket: Socket, guard: Guard, shared: Rc<Shared>, state: Rc<ConnectionState>) -> Self {
        GuardedSocket { socket, guard, held: BytesMut::new(), passed: 0, ends_in_refusal: false, shared, state }
    }

    /// The stream, and the bytes that were read but not used.
    pub(crate) fn into_parts(self) -> (Socket, BytesMut) {
        (self.socket, self.held)
    }

    /// True if the peer was in the middle of a message, or has sent more than got a response. Closing now would reset the
    /// connection and could destroy the response in flight.
    pub(crate) fn has_unread(&self) -> bool {
        self.guard.phase() != Phase::BetweenMessages || self.held.iter().any(|byte| !b"\r\n".contains(byte))
    }

    /// True if everything before a refused message has its response and the refusal itself has not been sent.
    pub(crate) fn ends_in_refusal(&self) -> bool {
        self.ends_in_refusal
    }

    pub(crate) fn socket(&mut self) -> &mut Socket {
        &mut self.socket
    }

    fn hand_over(&mut self, buffer: &mut ReadBufCursor<'_>) {
        let count = self.passed.min(buffer.remaining());
        buffer.put_slice(&self.held[..count]);
        self.held.advance(count);
        self.passed -= count;
    }

    /// Runs the guard over the part of `self.held` that has not passed.
    fn inspect_held(&mut self) {
        let mut heads_left = self.shared.limits.pipeline_max;
        while self.passed < self.held.len() && heads_left > 0 {
            let heads_before = self.guard.messages();
            match self.guard.step(&self.held[self.passed..]) {
                Step::Pass(count) => {
                    self.guard.lower_version(&mut self.held[self.passed..]);
                    self.passed += count;
                }
                Step::NeedMore => break,
                Step::Reject(rejection) => {
                    self.refuse(rejection.status, rejection.code, rejection.detail);
                    break;
                }
            }
            heads_left -= self.guard.messages() - heads_before;
        }
        self.note_progress();
    }

    fn refuse(&self, status: u16, code: &'static str, detail: String) {
        self.state.refuse(Problem::new(status, code, detail));
    }

    fn note_progress(&self) {
        self.state.note_progress(self.guard.phase(), self.guard.messages());
    }

    /// What hyper reads in place of a refused message: the end of the stream. A refused body ends at once, so that the refusal is
    /// its request's response. A refused head ends the stream only when no earlier request waits for a response. Until then the
    /// end would add `connection: close` to those responses.
    fn poll_refused(&mut self) -> Poll<io::Result<()>> {
        if self.guard.phase() == Phase::InBody {
            return Poll::Ready(Ok(()));
        }
        if self.state.has_request_in_flight() {
            return Poll::Pending;
        }
        self.ends_in_refusal = true;
        Poll::Ready(Ok(()))
    }

    /// Reads once. Bytes that the guard passes at once go to `buffer` without another copy; the rest is held. False at the peer's
    /// end.
    fn poll_fill(&mut self, context: &mut Context<'_>, buffer: &mut ReadBufCursor<'_>) -> Poll<io::Result<bool>> {
        let shared = Rc::clone(&self.shared);
        let mut scratch = shared.scratch.borrow_mut();
        let wanted = buffer.remaining().min(scratch.len());
        let mut read = ReadBuf::new(&mut scratch[..wanted]);
        std::task::ready!(self.socket.poll_read(context, &mut read))?;
        let bytes = read.filled_mut();
        if bytes.is_empty() {
            return Poll::Ready(Ok(false));
        }
        self.state.note_read(bytes.len(), shared.clock.now_ms());
        let mut rest = &*bytes;
        if self.held.is_empty() {
            match self.guard.step(bytes) {
                Step::Pass(count) => {
                    self.guard.lower_version(bytes);
                    buffer.put_slice(&bytes[..count]);
                    rest = &bytes[count..];
                }
                Step::NeedMore => {}
                Step::Reject(rejection) => {
                    self.refuse(rejection.status, rejection.code, rejection.detail);
                    return Poll::Ready(Ok(true));
                }
            }
        }
        if rest.is_empty() {
            self.note_progress();
        } else {
            self.held.extend_from_slice(rest);
            self.inspect_held();
        }
        Poll::Ready(Ok(true))
    }
}

impl hyper::rt::Read for GuardedSocket {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, mut buffer: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let room = buffer.remaining();
        loop {
            if this.passed == 0 && !this.held.is_empty() && !this.state.is_refused() {
                this.inspect_held();
            }
            if this.passed > 0 {
                this.hand_over(&mut buffer);
                return Poll::Ready(Ok(()));
            }
            if this.state.is_refused() {
                return this.poll_refused();
            }
            match this.poll_fill(context, &mut buffer) {
                Poll::Ready(Ok(true)) if buffer.remaining() < room => return Poll::Ready(Ok(())),
                Poll::Ready(Ok(true)) => {}
                Poll::Ready(Ok(false)) => {
                    this.state.note_end_of_stream();
                    return Poll::Ready(Ok(()));
                }
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                // An empty line before a request may be held.
                Poll::Pending if this.state.may_end(this.shared.is_draining(), this.shared.leaves_backlog.get()) => {
                    return Poll::Ready(Ok(()));
                }
                Poll::Pending => {
                    this.state.note_read_wait(this.shared.clock.now_ms());
                    return Poll::Pending;
                }
            }
        }
    }
}

impl GuardedSocket {
    fn note_write<T>(&self, outcome: &Poll<T>) {
        match outcome {
            Poll::Ready(_) => {
                self.state.note_written();
                if self.state.is_refused() {
                    // hyper waits for a read that nothing else would end. It looks again after this response.
                    self.state.wake();
                }
            }
            Poll::Pending => self.state.note_write_wait(self.shared.clock.now_ms()),
        }
    }
}

impl hyper::rt::Write for GuardedSocket {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let outcome = self.socket.poll_write(context, bytes);
        self.note_write(&outcome);
        outcome
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = self.socket.poll_write_vectored(context, slices);
        self.note_write(&outcome);
        outcome
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.socket.poll_shutdown(context)
    }
}
