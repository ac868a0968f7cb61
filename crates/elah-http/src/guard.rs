//! The guard before hyper: decides from raw bytes alone what may reach it.
//!
//! A [`Guard`] follows one connection's byte stream message by message. It is stricter than hyper and agrees with it on where
//! each message ends, so no later parser can read the bytes differently. It does no I/O and stores no bytes: the connection holds
//! those that have not passed yet. `specs/http_limits.md` lists every rule.

mod bytes;
mod field;
mod framing;
mod head;
mod host;
mod rejection;

use std::rc::Rc;

use framing::{Body, ChunkScan};
use head::HeadScan;
pub(crate) use rejection::Rejection;

/// The limits that all connections of a worker share.
#[derive(Debug, Clone)]
pub(crate) struct GuardLimits {
    /// Bytes of a request line and its header lines; at most 65,535, the limit of hyper's header names.
    pub(crate) header_bytes_max: usize,
    /// Header lines of one request, and trailer lines of one body. hyper must get the same number.
    pub(crate) headers_max: usize,
    /// Bytes of the request target; at most 65,534, the limit of hyper's URI type.
    pub(crate) uri_bytes_max: usize,
    /// Bytes of a body, without chunk framing.
    pub(crate) body_bytes_max: u64,
}

/// What to do with the bytes passed to [`Guard::step`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// The first n > 0 bytes may go to hyper. They hold at most one head, at the front.
    Pass(usize),
    /// A head or a chunk line is incomplete: keep the bytes and call again with more.
    NeedMore,
    /// None of these bytes may pass, now or later.
    Reject(Rejection),
}

/// The kind of bytes expected next, which selects the timeout.
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
    /// The position of a minor version above 1 in the head that has just passed.
    later_minor_at: Option<usize>,
}

#[derive(Debug)]
enum State {
    Head(HeadScan),
    /// Remaining bytes of a Content-Length body; never 0.
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

    /// Checks `input`: the bytes that were read from the peer and have not passed, from the end of the last `Pass` on.
    ///
    /// One `Pass` holds at most one message (its head and the part of its body that `input` has), so the caller can stop reading
    /// ahead between two messages. A head passes only as a whole. After `Reject` every later call rejects.
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

    /// Rewrites a later HTTP/1.x as HTTP/1.1 in the bytes that have just passed. A server treats it as the highest minor version
    /// that it knows (RFC 9110 2.5), but hyper refuses any other.
    pub(crate) fn lower_version(&mut self, passed: &mut [u8]) {
        if let Some(at) = self.later_minor_at.take() {
            passed[at] = b'1';
        }
    }

    /// The current phase of the stream; after a refusal, the phase of the refused bytes.
    pub(crate) fn phase(&self) -> Phase {
        match &self.state {
            State::Head(head) if !head.is_started() => Phase::BetweenMessages,
            State::Head(_) => Phase::InHead,
            State::Length(_) | State::Chunked(_) => Phase::InBody,
            State::Refused { phase, .. } => *phase,
        }
    }

    /// Number of heads that have passed.
    pub(crate) fn messages(&self) -> u64 {
        self.messages
    }

    /// How many bytes at the front of `input` may pass. An error only if none may, now or later.
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
                // The head passes by itself. The next step finds the same fault with nothing before it.
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
