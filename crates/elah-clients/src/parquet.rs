//! Folders of Parquet files: columns of values become files that are complete from the moment they are visible.
//!
//! The files are in partitions below the folder. Each is written in `.unfinished`, synced, and renamed into place. A repeated
//! batch finds its earlier file by the IDs in it.

mod encoding;
mod folder;

use std::fmt;
use std::io;

pub use encoding::{Column, Id, Values};
pub use folder::Folder;

/// Why a file was not written.
#[derive(Debug)]
pub enum Error {
    /// An error of the system, such as a full disk or a folder that is not writable.
    Io(io::Error),
    /// The columns cannot be encoded.
    Encoding(String),
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Io(cause) => cause.fmt(formatter),
            Error::Encoding(cause) => write!(formatter, "The columns have no form in Parquet: {cause}."),
        }
    }
}

impl std::error::Error for Error {}

impl From<io::Error> for Error {
    fn from(cause: io::Error) -> Self {
        Error::Io(cause)
    }
}

impl From<parquet::errors::ParquetError> for Error {
    fn from(cause: parquet::errors::ParquetError) -> Self {
        Error::Encoding(cause.to_string())
    }
}
