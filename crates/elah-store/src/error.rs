//! The errors of the store, one variant per possible reaction of the caller.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use super::bounds::{KEY_BYTES_MAX, NAME_BYTES_MAX, OPERATIONS_MAX, READERS_MAX, TABLES_MAX, VALUE_BYTES_MAX};

/// A failed operation. Nothing of it was stored, unless the variant says otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A key must have 1 to `KEY_BYTES_MAX` bytes.
    InvalidKey { bytes: usize },
    /// A value may have up to `VALUE_BYTES_MAX` bytes.
    ValueTooLong { bytes: usize },
    /// A table's or counter's name must have 1 to `NAME_BYTES_MAX` bytes.
    InvalidName { bytes: usize },
    /// The store holds `TABLES_MAX` tables and counters.
    TooManyTables,
    /// A counter would leave the range of a signed 64-bit integer.
    CounterOverflow { value: i64, by: i64 },
    /// The file has reached its limit, or the disk is full. Writes work again when there is room.
    Full { what: String },
    /// The disk failed a write or a sync, so its content is unknown until the store is reopened. Reads continue, unless the
    /// record of the last commit failed.
    Failed { why: String },
    /// The path of the store does not lead to its file any more, so what is written there is lost to whoever opens it next.
    Replaced,
    /// More writes are waiting than the store admits.
    Overloaded { waiting: usize, bytes: usize },
    /// All reader slots are in use.
    TooManyReaders { readers_max: u32 },
    /// A transaction may use the tables of its own store only.
    ForeignTable { name: String },
    /// A transaction may have `OPERATIONS_MAX` operations.
    TransactionTooLarge { operations: usize },
    /// Another commit changed something that the transaction had read.
    Conflict,
    /// Another owner has claimed the shard; the write under the older epoch was not stored.
    Fenced { shard: u16, epoch: u64, stored: u64 },
    /// The database of a cluster does not take part at the moment. With `may_have_run`, it has received the write, and nobody knows
    /// whether it is stored.
    Unavailable { why: String, may_have_run: bool },
    /// The store has the number of shards of its first owner.
    OtherShards { stored: u32, asked: u32 },
    /// The store was closed.
    Closed,
    /// The directory cannot be used as a store.
    CannotOpen { path: PathBuf, why: String },
    /// Another process has it open.
    InUse { path: PathBuf, what: String },
    /// Its file is damaged.
    Damaged { path: PathBuf, why: String },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::InvalidKey { bytes: 0 } => write!(f, "A key is empty; it must have 1 to {KEY_BYTES_MAX} bytes."),
            Error::InvalidKey { bytes } => write!(f, "A key of {bytes} bytes is too long; it may have up to {KEY_BYTES_MAX}."),
            Error::ValueTooLong { bytes } => {
                write!(f, "A value of {bytes} bytes is too long; it may have up to {VALUE_BYTES_MAX}.")
            }
            Error::InvalidName { bytes } => {
                write!(f, "The name of a table or counter has {bytes} bytes; it must have 1 to {NAME_BYTES_MAX}.")
            }
            Error::TooManyTables => write!(f, "The store has {TABLES_MAX} tables and counters already, which is the limit."),
            Error::CounterOverflow { value, by } => {
                write!(f, "A counter at {value} cannot be changed by {by}: the sum does not fit into 64 bits.")
            }
            Error::Full { what } => write!(f, "The store is full: {what}. Nothing of this operation was stored."),
            Error::Failed { why } => {
                write!(f, "The disk failed: {why}. The store accepts no writes until it is closed and opened again.")
            }
            Error::Replaced => f.write_str(
                "The folder of the store was removed or replaced: its data.mdb or lock.mdb is not the file that this process has opened. The \
                 store accepts no writes until that file is back in its place, or every process has closed the store, which can then be opened \
                 again.",
            ),
            Error::Overloaded { waiting, bytes } => {
                write!(f, "{waiting} writes with {bytes} bytes are waiting for the disk already.")
            }
            Error::TooManyReaders { readers_max } => {
                write!(f, "All {readers_max} readers of the store are taken; transactions that stay open hold them.")
            }
            Error::TransactionTooLarge { operations } => {
                write!(f, "A transaction with {operations} operations is too large; it may have up to {OPERATIONS_MAX}.")
            }
            Error::ForeignTable { name } => write!(f, "{name:?} belongs to another store than this transaction."),
            Error::Conflict => write!(f, "Another write changed what this transaction had read."),
            Error::Fenced { shard, epoch, stored } => {
                write!(
                    f,
                    "Shard {shard} has another owner: its epoch is {stored}, not {epoch}. Nothing of this operation was stored."
                )
            }
            Error::Unavailable { why, .. } => f.write_str(why),
            Error::OtherShards { stored, asked } => {
                write!(f, "The store is divided into {stored} shards for good, and cannot be used with {asked}.")
            }
            Error::Closed => write!(f, "The store is closed."),
            Error::Damaged { path, why } => {
                write!(
                    f,
                    "The store in {} cannot be opened, since its data.mdb is damaged: {why}. Stop every process that uses \
                     the store, then put a copy in its place, or remove it to begin a new store.",
                    path.display()
                )
            }
            Error::InUse { path, what } => {
                write!(f, "Another process has the store in {} open: stop every process that uses it to {what}.", path.display())
            }
            Error::CannotOpen { path, why } => write!(f, "The store in {} cannot be opened: {why}.", path.display()),
        }
    }
}

impl std::error::Error for Error {}

impl Error {
    /// A sentence about a store that accepts no writes, without the details of one operation.
    pub fn state(&self) -> String {
        match self {
            Error::Full { what } => format!("The store is full: {what}."),
            other => other.to_string(),
        }
    }
}

impl Error {
    pub(super) fn damaged(path: &Path, why: impl fmt::Display) -> Self {
        Error::Damaged { path: path.to_owned(), why: why.to_string() }
    }

    pub(super) fn reached_bytes_max() -> Self {
        Error::Full { what: "its file has reached bytes_max".to_owned() }
    }

    pub(super) fn cannot_open(path: &Path, why: impl fmt::Display) -> Self {
        Error::CannotOpen { path: path.to_owned(), why: why.to_string() }
    }
}

/// Whether the system reports a lack of room: on the disk, in the quota, or by the file's size limit.
pub(super) fn means_no_room(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge)
}

/// LMDB's error for a read or a write of an open store. Anything that is not clearly a lack of room or of readers means that the
/// file or the disk cannot be trusted.
impl From<heed::Error> for Error {
    fn from(error: heed::Error) -> Self {
        match error {
            heed::Error::Mdb(heed::MdbError::MapFull) => Error::reached_bytes_max(),
            heed::Error::Mdb(heed::MdbError::TxnFull) => {
                Error::Full { what: "one transaction changes too many pages".to_owned() }
            }
            heed::Error::Mdb(heed::MdbError::ReadersFull) => Error::TooManyReaders { readers_max: READERS_MAX },
            heed::Error::Mdb(heed::MdbError::MapResized) => {
                Error::Failed { why: "another process has opened the store with a larger bytes_max".to_owned() }
            }
            heed::Error::Io(error) if means_no_room(&error) => Error::Full { what: format!("the disk has no room ({error})") },
            other => Error::Failed { why: other.to_string() },
        }
    }
}
