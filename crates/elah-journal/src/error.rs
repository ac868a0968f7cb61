//! The errors of a journal, one variant per possible reaction of the caller.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A failed operation. It stored nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The journal has reached its limit, or the disk is full. It accepts events again once some are delivered, or there is room.
    Full { what: String },
    /// The event exceeds its limit.
    TooLarge { bytes: usize, bytes_max: usize },
    /// The name of a stream is over its bound.
    StreamTooLong { bytes: usize },
    /// The disk failed a sync or a read, so what it holds is unknown.
    Failed { why: String },
    /// Nobody would find what is synced. Works again when the files are back under their paths.
    Displaced { what: String },
    /// A segment is not as it was written. The next opening sets it aside and goes on.
    Damaged { path: PathBuf, offset: u32 },
    /// There is no descriptor, or no memory, to read with. Works again when there is.
    Unreadable { why: String },
    /// The journal was closed.
    Closed,
    /// The folder cannot be used.
    CannotOpen { path: PathBuf, why: String },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Full { what } => write!(f, "The journal is full: {what}. The event was not accepted."),
            Error::TooLarge { bytes, bytes_max } => {
                write!(f, "An event of {bytes} bytes is too large; it may have up to {bytes_max}.")
            }
            Error::StreamTooLong { bytes } => {
                write!(f, "The name of a stream has {bytes} bytes; it may have up to {}.", super::STREAM_BYTES_MAX)
            }
            Error::Failed { why } => {
                write!(f, "The disk failed: {why}. The journal accepts no events until it is opened again.")
            }
            Error::Displaced { what } => {
                write!(
                    f,
                    "The journal accepts no events: {what} was removed, moved or replaced. It does again when that is back."
                )
            }
            Error::Damaged { path, offset } => write!(f, "The journal's file {} is damaged at byte {offset}.", path.display()),
            Error::Unreadable { why } => write!(f, "The journal cannot be read for now: {why}."),
            Error::Closed => write!(f, "The journal is closed."),
            Error::CannotOpen { path, why } => write!(f, "The journal in {} cannot be opened: {why}.", path.display()),
        }
    }
}

impl std::error::Error for Error {}

impl Error {
    pub(super) fn cannot_open(path: &Path, why: impl fmt::Display) -> Self {
        Error::CannotOpen { path: path.to_owned(), why: why.to_string() }
    }

    pub(super) fn unread(error: &io::Error) -> Self {
        match error.raw_os_error() {
            Some(libc::EMFILE | libc::ENFILE | libc::ENOMEM) => Error::Unreadable { why: error.to_string() },
            _ => Error::failed("a segment could not be read", error),
        }
    }

    pub(super) fn failed(what: &str, why: impl fmt::Display) -> Self {
        Error::Failed { why: format!("{what}: {why}") }
    }
}
