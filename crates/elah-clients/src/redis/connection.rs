//! The I/O of an open connection: one write for all waiting commands, one read for all received bytes, and timeouts.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::Instant;

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWrite};
use tokio::time::{Sleep, sleep_until};

use crate::redis::error::Error;
use crate::redis::handshake::Stream;
use crate::redis::in_flight::{InFlight, Waiter};
use crate::redis::reply::{Framer, Replies};

/// The least size of a read.
const READ_BYTES: usize = 16 * 1024;

/// Serves the connection until it ends; returns the cause, for a sentence.
pub(crate) async fn serve<W: Waiter>(in_flight: &InFlight<W>, stream: Stream) -> String {
    let mut serving = Serving {
        in_flight,
        stream,
        outgoing: Vec::new(),
        written: 0,
        needs_flush: false,
        incoming: BytesMut::with_capacity(READ_BYTES),
        framer: Framer::default(),
        timer: Box::pin(sleep_until(Instant::now().into())),
        is_timed: false,
        heard_at: Instant::now(),
        ended: Vec::new(),
    };
    poll_fn(|context| serving.poll(context)).await
}

struct Serving<'a, W: Waiter> {
    in_flight: &'a InFlight<W>,
    stream: Stream,
    /// Bytes being written; those up to `written` have left.
    outgoing: Vec<u8>,
    written: usize,
    needs_flush: bool,
    incoming: BytesMut,
    framer: Framer,
    timer: Pin<Box<Sleep>>,
    /// Whether the timer runs for a waiting caller.
    is_timed: bool,
    /// When the server last sent something.
    heard_at: Instant,
    /// Ended waits; kept to reuse the memory.
    ended: Vec<(W, Result<Replies, Error>)>,
}

impl<W: Waiter> Serving<'_, W> {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<String> {
        loop {
            if let Poll::Ready(cause) = self.poll_write(context) {
                return Poll::Ready(cause);
            }
            match self.poll_read(context) {
                Poll::Ready(Ok(())) => continue,
                Poll::Ready(Err(cause)) => return Poll::Ready(cause),
                Poll::Pending => {}
            }
            return self.poll_timer(context);
        }
    }

    /// Writes all waiting bytes; ready when the connection has ended.
    fn poll_write(&mut self, context: &mut Context<'_>) -> Poll<String> {
        loop {
            if self.written == self.outgoing.len() {
                self.outgoing.clear();
                self.written = 0;
                let mut state = self.in_flight.state();
                if state.is_closed {
                    return Poll::Ready("the client was closed".to_owned());
                }
                std::mem::swap(&mut self.outgoing, &mut state.outgoing);
                if !state.driver.as_ref().is_some_and(|driver| driver.will_wake(context.waker())) {
                    state.driver = Some(context.waker().clone());
                }
            }
            if self.outgoing.is_empty() {
                if std::mem::take(&mut self.needs_flush) {
                    match Pin::new(&mut self.stream).poll_flush(context) {
                        Poll::Ready(Ok(())) => {}
                        Poll::Ready(Err(cause)) => return Poll::Ready(cause.to_string()),
                        Poll::Pending => self.needs_flush = true,
                    }
                }
                return Poll::Pending;
            }
            match ready!(Pin::new(&mut self.stream).poll_write(context, &self.outgoing[self.written..])) {
                Ok(0) => return Poll::Ready("it accepts no more bytes".to_owned()),
                Ok(written) => self.written += written,
                Err(cause) => return Poll::Ready(cause.to_string()),
            }
            self.needs_flush = true;
        }
    }

    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<Result<(), String>> {
        self.incoming.reserve(READ_BYTES);
        // Such a future holds only the borrows, so it may be dropped when it is not ready.
        match ready!(pin!(self.stream.read_buf(&mut self.incoming)).poll(context)) {
            Ok(0) => return Poll::Ready(Err("it closed the connection".to_owned())),
            Ok(_) => self.heard_at = Instant::now(),
            Err(cause) => return Poll::Ready(Err(cause.to_string())),
        }
        Poll::Ready(self.deliver())
    }

    /// Passes complete replies to their waiters.
    fn deliver(&mut self) -> Result<(), String> {
        let mut outcome = Ok(());
        let mut state = self.in_flight.state();
        while !self.incoming.is_empty() {
            if self.framer.is_between() {
                // A push message of the server begins with >.
                let is_unasked = self.incoming[0] == b'>';
                match state.waiting.front() {
                    _ if is_unasked => self.framer.expect(1),
                    Some(waiting) => self.framer.expect(waiting.replies),
                    None => {
                        outcome = Err("it sent a reply to no command".to_owned());
                        break;
                    }
                }
            }
            match self.framer.end(&self.incoming) {
                Ok(None) => break,
                Err(malformed) => {
                    outcome = Err(malformed.to_string());
                    break;
                }
                Ok(Some(end)) if self.incoming[0] == b'>' => self.incoming.advance(end),
                Ok(Some(end)) => {
                    let replies = self.incoming.split_to(end).freeze();
                    if let Some(waiter) = state.waiting.pop_front().and_then(|waiting| waiting.waiter) {
                        self.ended.push((waiter, Ok(Replies::new(replies))));
                    }
                }
            }
        }
        drop(state);
        self.end_waits();
        outcome
    }

    fn end_waits(&mut self) {
        for (waiter, outcome) in self.ended.drain(..) {
            waiter.end(outcome);
        }
    }

    /// Ends waits after their timeout, and the connection of a server that has been silent for twice that time.
    fn poll_timer(&mut self, context: &mut Context<'_>) -> Poll<String> {
        let bound = self.in_flight.settings.times.command;
        loop {
            if self.is_timed {
                ready!(self.timer.as_mut().poll(context));
                self.is_timed = false;
            }
            let now = Instant::now();
            let mut state = self.in_flight.state();
            let Some(oldest) = state.waiting.front().map(|waiting| waiting.due) else { return Poll::Pending };
            let silent_at = oldest.max(self.heard_at + bound) + bound;
            if silent_at <= now {
                return Poll::Ready(format!("it said nothing for {} s", (2 * bound).as_secs_f64()));
            }
            // Later callers have at least that much time.
            let mut next = silent_at.min(now + bound);
            for waiting in &mut state.waiting {
                if waiting.due > now {
                    next = next.min(waiting.due);
                    break;
                }
                if let Some(waiter) = waiting.waiter.take() {
                    let server = self.in_flight.settings.server.clone();
                    self.ended.push((waiter, Err(Error::TimedOut { server, command: waiting.command, after: bound })));
                }
            }
            drop(state);
            self.end_waits();
            self.timer.as_mut().reset(next.into());
            self.is_timed = true;
        }
    }
}
