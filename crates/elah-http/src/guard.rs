//! The hardening layer before hyper: decides, from raw bytes alone, what may reach it.
//!
//! A [`Guard`] follows one connection's byte stream message by message. It is stricter than hyper in what it lets
//! through and agrees with it on where each message ends, so that no byte can be read as something else further in.
//! It does no I/O and keeps no bytes: the connection holds what has not passed yet. `specs/http_limits.md` lists every rule.

mod bytes;
mod framing;
mod head;
mod host;
mod rejection;

use std::rc::Rc;

use framing::{Body, ChunkScan};
use head::HeadScan;
pub(crate) use rejection::Rejection;

/// The bounds that all connections of a worker share.
#[derive(Debug, Clone)]
pub(crate) struct GuardLimits {
    /// Bytes of a request line with all its header lines; at most 65,535, where hyper's header names end.
    pub(crate) header_bytes_max: usize,
    /// Header lines of one request, and trailer lines of one body. hyper must be told the same number.
    pub(crate) headers_max: usize,
    /// Bytes of the request target; at most 65,534, where hyper's URI type ends.
    pub(crate) uri_bytes_max: usize,
    /// Bytes of a body, chunk framing not counted.
    pub(crate) body_bytes_max: u64,
}

/// What to do with the bytes that were shown to [`Guard::step`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// The first n > 0 bytes may go to hyper. They hold at most one head, at the front.
    Pass(usize),
    /// A head or a chunk line is incomplete: keep the bytes and call again with more after them.
    NeedMore,
    /// Nothing of these bytes may pass, now or later.
    Reject(Rejection),
}

/// Where in the stream of messages the next byte belongs, so that the right timeout runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    BetweenMessages,
    InHead,
    InBody,
}

/// Follows the requests of one connection.
#[derive(Debug)]
pub(crate) struct Guard {
    limits: Rc<GuardLimits>,
    state: State,
    messages: u64,
    /// Where the head that has just passed names a minor version above 1.
    later_minor_at: Option<usize>,
}

#[derive(Debug)]
enum State {
    Head(HeadScan),
    /// Bytes of a Content-Length body that are still to come; never 0.
    Length(u64),
    Chunked(ChunkScan),
    Refused {
        rejection: Rejection,
        phase: Phase,
    },
}

impl Guard {
    pub(crate) fn new(limits: Rc<GuardLimits>) -> Self {
        Self { limits, state: State::Head(HeadScan::default()), messages: 0, later_minor_at: None }
    }

    /// Judges `input`: the bytes that were read from the peer and have not passed, beginning where the last `Pass` ended.
    ///
    /// One `Pass` holds at most one message (its head and what `input` has of its body), so that the caller can stop
    /// reading ahead between two messages. A head passes only when it is whole. After `Reject` every later call rejects.
    pub(crate) fn step(&mut self, input: &[u8]) -> Step {
        match self.passable(input) {
            Ok(0) => Step::NeedMore,
            Ok(bytes) => Step::Pass(bytes),
            Err(rejection) => {
                self.state = State::Refused { rejection: rejection.clone(), phase: self.phase() };
                Step::Reject(rejection)
            }
        }
    }

    /// Makes HTTP/1.1 of a later HTTP/1.x in the bytes that have just passed: a server reads the highest minor version that it knows
    /// (RFC 9110 2.5), and hyper refuses any other.
    pub(crate) fn lower_version(&mut self, passed: &mut [u8]) {
        if let Some(at) = self.later_minor_at.take() {
            passed[at] = b'1';
        }
    }

    /// Where the stream stands; after a refusal, where that found it.
    pub(crate) fn phase(&self) -> Phase {
        match &self.state {
            State::Head(head) if !head.is_started() => Phase::BetweenMessages,
            State::Head(_) => Phase::InHead,
            State::Length(_) | State::Chunked(_) => Phase::InBody,
            State::Refused { phase, .. } => *phase,
        }
    }

    /// Heads that have passed.
    pub(crate) fn messages(&self) -> u64 {
        self.messages
    }

    /// How many bytes at the front of `input` may pass; an error only when that is none and never will be.
    fn passable(&mut self, input: &[u8]) -> Result<usize, Rejection> {
        let mut passed = 0;
        if let State::Head(scan) = &mut self.state {
            let Some(head) = scan.scan(input, &self.limits)? else { return Ok(0) };
            passed = head.bytes;
            self.later_minor_at = head.later_minor_at;
            self.messages += 1;
            self.state = match head.body {
                Body::Empty => State::Head(HeadScan::default()),
                Body::Length(bytes) => State::Length(bytes),
                Body::Chunked => State::Chunked(ChunkScan::default()),
            };
            if matches!(head.body, Body::Empty) {
                return Ok(passed);
            }
        }
        let body = &input[passed..];
        let (bytes, is_whole) = match &mut self.state {
            State::Length(left) => {
                let bytes = usize::try_from(*left).unwrap_or(usize::MAX).min(body.len());
                *left -= bytes as u64;
                (bytes, *left == 0)
            }
            State::Chunked(scan) => match scan.scan(body, &self.limits) {
                // The head passes by itself; the next step meets the same fault with nothing before it.
                Err(_) if passed > 0 => (0, false),
                outcome => outcome?,
            },
            State::Refused { rejection, .. } => return Err(rejection.clone()),
            State::Head(_) => (0, false),
        };
        if is_whole {
            self.state = State::Head(HeadScan::default());
        }
        Ok(passed + bytes)
    }
}

#[cfg(test)]
mod tests;
