//! The ways in which a request can fail, and the class that the report counts each under.

use std::fmt;
use std::io;

/// Why a request has no response that counts.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The connection could not be opened.
    Connect(io::Error),
    /// No whole response within `--timeout` of the planned send time.
    Timeout,
    /// The connection broke or was closed before the whole response had come.
    Reset(String),
    /// What came back is not HTTP/1.1.
    Malformed(String),
    /// Another status than `--expect-status`.
    Status { expected: u16, got: u16 },
    /// Another body than `--expect-body`.
    Body { expected_bytes: usize, got_bytes: usize },
}

impl Failure {
    /// The classes in the order of the report; `class` indexes it.
    pub(crate) const CLASSES: [&'static str; 6] = ["connect", "timeout", "reset", "malformed", "status", "body"];

    pub(crate) fn class(&self) -> usize {
        match self {
            Self::Connect(_) => 0,
            Self::Timeout => 1,
            Self::Reset(_) => 2,
            Self::Malformed(_) => 3,
            Self::Status { .. } => 4,
            Self::Body { .. } => 5,
        }
    }

    /// Whether the connection can carry the next request: the response was read to its end.
    pub(crate) fn leaves_connection_usable(&self) -> bool {
        matches!(self, Self::Status { .. } | Self::Body { .. })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect(error) => write!(formatter, "the connection could not be opened: {error}"),
            Self::Timeout => write!(formatter, "no whole answer before the timeout"),
            Self::Reset(reason) => write!(formatter, "the connection broke before the whole answer had come: {reason}"),
            Self::Malformed(reason) => write!(formatter, "the answer is not HTTP/1.1: {reason}"),
            Self::Status { expected, got } => write!(formatter, "the status is {got} instead of {expected}"),
            Self::Body { expected_bytes, got_bytes } => {
                write!(formatter, "the body ({got_bytes} bytes) is not the expected one ({expected_bytes} bytes)")
            }
        }
    }
}
