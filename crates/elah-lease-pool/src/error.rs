//! Reasons why an operation of a lease pool is refused. Nothing has changed then.

use std::fmt;

/// Why an operation was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A list of items has more than [`crate::ITEMS_MAX`].
    TooManyItems { count: usize },
    /// So many items still leave the pool that a list of new ones finds no room.
    TooManyLeaving { count: usize },
    /// An item is negative or larger than [`crate::ITEM_MAX`].
    InvalidItem { item: i64 },
    /// A list of items names one twice.
    DuplicateItem { item: i64 },
    /// A hold is not positive, a quarantine is negative, or one of them is longer than [`crate::Terms::TIME_MAX`].
    InvalidTerms { what: &'static str, value: i64 },
    /// A session has more than [`crate::SESSION_BYTES_MAX`] bytes, or none.
    InvalidSession { bytes: usize },
    /// The name of a pool in its rows is longer than [`crate::PREFIX_BYTES_MAX`].
    PrefixTooLong { bytes: usize },
    /// A stored row is damaged, or does not fit the rows before it.
    InvalidRow { why: &'static str },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::TooManyItems { count } => write!(f, "A pool has at most {} items, not {count}.", crate::ITEMS_MAX),
            Error::TooManyLeaving { count } => {
                let slots = crate::pool::SLOTS_MAX;
                write!(
                    f,
                    "A pool has at most {slots} items with those that leave: {count} would leave, so resize again when some have left."
                )
            }
            Error::InvalidItem { item } => write!(f, "An item is a number from 0 to {}, not {item}.", crate::ITEM_MAX),
            Error::DuplicateItem { item } => write!(f, "The list has item {item} twice."),
            Error::InvalidTerms { what, value } => write!(f, "The {what} of a lease pool cannot be {value} µs."),
            Error::InvalidSession { bytes } => {
                write!(f, "A session has 1 to {} bytes, not {bytes}.", crate::SESSION_BYTES_MAX)
            }
            Error::PrefixTooLong { bytes } => {
                write!(f, "The name of a pool has at most {} bytes, not {bytes}.", crate::PREFIX_BYTES_MAX)
            }
            Error::InvalidRow { why } => write!(f, "A stored row of the lease pool is damaged: {why}."),
        }
    }
}

impl std::error::Error for Error {}
