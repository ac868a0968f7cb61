//! Folders of Parquet files: columns of values become a file that is whole from the moment it can be seen.
//!
//! The files lie in partitions below the folder. Each is written in `.unfinished`, synced, and renamed into its place, which a batch that
//! comes again finds by the ids in it.

mod encoding;
mod folder;

use std::fmt;
use std::io;

pub use encoding::{Column, Id, Values};
pub use folder::Folder;

/// Why a file was not written.
#[derive(Debug)]
pub enum Error {
    /// The system refused: the disk is full, the folder is not writable.
    Io(io::Error),
    /// The columns have no form as a file.
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
