//! The store's errors as Ruby exceptions; the classes are declared in `lib/elah/store/errors.rb`.

use magnus::{Class, Error, Ruby, kwargs};

/// The Ruby exception for an error of the core.
pub(crate) fn raised(ruby: &Ruby, error: &elah_store::Error) -> Error {
    use elah_store::Error as E;
    if let E::Unavailable { why, may_have_run } = error {
        let keywords = kwargs!("may_have_run" => *may_have_run);
        let unavailable = crate::ruby::errors::class(ruby, "Store::Unavailable").new_instance((why.as_str(), keywords));
        return unavailable.map_or_else(|error| error, Error::from);
    }
    let name = match error {
        E::InvalidKey { .. } | E::InvalidName { .. } => "InvalidKey",
        E::ValueTooLong { .. } | E::TransactionTooLarge { .. } | E::TooManyTables => "TooLarge",
        E::CounterOverflow { .. } => "Overflow",
        E::Full { .. } => "Full",
        E::Failed { .. } | E::Replaced => "Failed",
        E::Overloaded { .. } | E::TooManyReaders { .. } => "Busy",
        E::Conflict => "Conflict",
        E::Fenced { .. } => "Fenced",
        E::OtherShards { .. } => "OtherShards",
        E::Closed => "Closed",
        E::CannotOpen { .. } => "CannotOpen",
        E::InUse { .. } => "InUse",
        E::Damaged { .. } => "Damaged",
        _ => "Error",
    };
    Error::new(crate::ruby::errors::class(ruby, &format!("Store::{name}")), error.to_string())
}
