//! The store's errors as Ruby exceptions; the classes are declared in `lib/elah/store/errors.rb`.

use magnus::{Error, Ruby};

/// The Ruby exception for an error of the core.
pub(crate) fn raised(ruby: &Ruby, error: &elah_store::Error) -> Error {
    use elah_store::Error as E;
    let name = match error {
        E::InvalidKey { .. } | E::InvalidName { .. } => "InvalidKey",
        E::ValueTooLong { .. } | E::TransactionTooLarge { .. } | E::TooManyTables => "TooLarge",
        E::CounterOverflow { .. } => "Overflow",
        E::Full { .. } => "Full",
        E::Failed { .. } | E::Replaced => "Failed",
        E::Overloaded { .. } | E::TooManyReaders { .. } => "Busy",
        E::Conflict => "Conflict",
        E::Fenced { .. } => "Fenced",
        E::Unavailable { .. } => "Unavailable",
        E::OtherShards { .. } => "OtherShards",
        E::Closed => "Closed",
        E::CannotOpen { .. } => "CannotOpen",
        E::InUse { .. } => "InUse",
        E::Damaged { .. } => "Damaged",
        _ => "Error",
    };
    Error::new(crate::ruby::errors::class(ruby, &format!("Store::{name}")), error.to_string())
}
