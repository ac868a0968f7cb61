//! The I/O of a connection: one write for all waiting bytes, one read for all that have arrived.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::AsyncReadExt;
use tokio::time::{Sleep, sleep};

use super::frame::{self, Frame, Malformed};
use super::outbox::Outbox;
use super::stream::{CLOSED, Stream, cause_of};

/// The least size of a read.
const READ_BYTES: usize = 16 * 1024;

/// The most bytes allocated ahead for a long frame, so that its length alone takes no memory.
const READ_AHEAD_BYTES: usize = 256 * 1024;

/// How long the other end may take to say hello.
const HELLO_TIME: Duration = Duration::from_secs(5);

/// One end of a link.
pub(crate) trait End {
    fn outbox(&self) -> &Outbox;

    /// Whether it accepts frames at the moment. When that changes, it wakes its outbox.
    fn reads(&self) -> bool;

    /// The other end has said hello.
    fn greeted(&self);

    /// Handles any other frame.
    fn receive(&self, frame: Frame) -> Result<(), Malformed>;

    /// Called after all frames of one read.
    fn received(&self);
}

/// Why a connection has ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// This end closed it.
    Closed,
    /// The other end closed or failed; the cause, for a sentence.
    Gone(String),
    /// The other end sent invalid bytes.
    Malformed(Malformed),
}

/// Serves the connection until it ends. The other end has not said hello.
pub(crate) async fn run(end: &impl End, stream: impl Stream, payload_bytes_max: usize) -> Ended {
    let mut pump = Pump::<_, _, false>::new(end, stream, payload_bytes_max);
    pump.until_hello = Some(Box::pin(sleep(HELLO_TIME)));
    poll_fn(|context| pump.poll(context)).await
}

/// Serves the connection of an end that has said hello, and then `received`.
pub(crate) async fn run_greeted(end: &impl End, stream: impl Stream, received: BytesMut, payload_bytes_max: usize) -> Ended {
    let mut pump = Pump::<_, _, true>::new(end, stream, payload_bytes_max);
    pump.incoming = received;
    end.greeted();
    if let Err(malformed) = pump.deliver() {
        return Ended::Malformed(malformed);
    }
    poll_fn(|context| pump.poll(context)).await
}

/// `FLUSHES` is for streams such as those of TLS, which may hold bytes that the socket did not accept.
struct Pump<'a, E: End, S: Stream, const FLUSHES: bool> {
    end: &'a E,
    stream: S,
    payload_bytes_max: usize,
    /// Bytes being written; those up to `written` have left.
    outgoing: Vec<u8>,
    written: usize,
    incoming: BytesMut,
    /// Bytes of a frame that is too long and has not arrived in whole.
    to_skip: usize,
    /// `None` after the other end has said hello.
    until_hello: Option<Pin<Box<Sleep>>>,
}

impl<'a, E: End, S: Stream, const FLUSHES: bool> Pump<'a, E, S, FLUSHES> {
    fn new(end: &'a E, stream: S, payload_bytes_max: usize) -> Self {
        let (outgoing, incoming) = (Vec::new(), BytesMut::new());
        Pump { end, stream, payload_bytes_max, outgoing, written: 0, incoming, to_skip: 0, until_hello: None }
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Ended> {
        loop {
            self.end.outbox().register(context);
            if let Poll::Ready(ended) = self.poll_write(context) {
                return Poll::Ready(ended);
            }
            if self.end.reads() {
                match self.poll_read(context) {
                    Poll::Ready(Ok(())) => continue,
                    Poll::Ready(Err(ended)) => return Poll::Ready(ended),
                    Poll::Pending => {}
                }
            }
            if let Some(timer) = &mut self.until_hello {
                ready!(timer.as_mut().poll(context));
                return Poll::Ready(Ended::Gone(format!("it did not say hello within {} s", HELLO_TIME.as_secs())));
            }
            return Poll::Pending;
        }
    }

    /// Writes all waiting bytes; ready when the connection has ended.
    fn poll_write(&mut self, context: &mut Context<'_>) -> Poll<Ended> {
        let outbox = self.end.outbox();
        loop {
            if self.written == self.outgoing.len() {
                self.outgoing.clear();
                self.written = 0;
                outbox.swap(&mut self.outgoing);
                if self.outgoing.is_empty() {
                    if FLUSHES && let Poll::Ready(Err(cause)) = Pin::new(&mut self.stream).poll_flush(context) {
                        return Poll::Ready(Ended::Gone(cause_of(&cause)));
                    }
                    return if outbox.is_closed() { Poll::Ready(Ended::Closed) } else { Poll::Pending };
                }
            }
            match Pin::new(&mut self.stream).poll_write(context, &self.outgoing[self.written..]) {
                Poll::Ready(Ok(0)) => return Poll::Ready(Ended::Gone("it accepts no more bytes".to_owned())),
                Poll::Ready(Ok(written)) => {
                    self.written += written;
                    outbox.note_written(written);
                }
                Poll::Ready(Err(cause)) => return Poll::Ready(Ended::Gone(cause_of(&cause))),
                // A closing connection does not wait for an end that does not read.
                Poll::Pending => return if outbox.is_closed() { Poll::Ready(Ended::Closed) } else { Poll::Pending },
            }
        }
    }

    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Ended>> {
        self.incoming.reserve(frame::missing_bytes(&self.incoming).clamp(READ_BYTES, READ_AHEAD_BYTES));
        // Such a future holds only the borrows, so it may be dropped when it is not ready.
        let read = ready!(pin!(self.stream.read_buf(&mut self.incoming)).poll(context));
        Poll::Ready(match read {
            Ok(0) => Err(Ended::Gone(CLOSED.to_owned())),
            Ok(_) => self.deliver().map_err(Ended::Malformed),
            Err(cause) => Err(Ended::Gone(cause_of(&cause))),
        })
    }

    fn deliver(&mut self) -> Result<(), Malformed> {
        while let Some(frame) = frame::take(&mut self.incoming, &mut self.to_skip, self.payload_bytes_max)? {
            match (frame, self.until_hello.is_some()) {
                (Frame::Hello { version, .. }, true) if frame::is_understood(version) => {
                    self.until_hello = None;
                    self.end.greeted();
                }
                (Frame::Hello { version, .. }, true) => return Err(Malformed::OtherVersion(version)),
                (Frame::Hello { .. }, false) => return Err(Malformed::SecondHello),
                (_, true) => return Err(Malformed::NoHello),
                (frame, false) => self.end.receive(frame)?,
            }
        }
        self.end.received();
        Ok(())
    }
}
