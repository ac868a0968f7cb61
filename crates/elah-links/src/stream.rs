//! What a link runs over, and why a connection over TCP was not made.

use std::io;

use tokio::io::{AsyncRead, AsyncWrite};

/// A connected socket, with or without TLS.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Unpin {}

impl<S: AsyncRead + AsyncWrite + Unpin + ?Sized> Stream for S {}

/// A connection over TCP. A call through it costs little beside its system calls.
pub(crate) type TcpLink = Box<dyn Stream>;

/// Why a connection was not made.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Nobody accepts it, or it was lost.
    Lost(String),
    /// One end does not accept the other.
    Refused(String),
}

pub(crate) const CLOSED: &str = "it closed the connection";

/// The cause of a lost connection. TLS fails with `UnexpectedEof` if the other process ended without a farewell.
pub(crate) fn cause_of(error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::UnexpectedEof { CLOSED.to_owned() } else { error.to_string() }
}
