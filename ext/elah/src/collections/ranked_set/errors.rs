//! The errors of ranked sets as Ruby exceptions; the classes are declared in `lib/elah/collections/ranked_set/errors.rb`.

use elah_ranked_set::{Error as E, LoadError};
use magnus::{Error, Ruby};

/// The Ruby exception for an error of the core.
pub(super) fn raised(ruby: &Ruby, error: &E) -> Error {
    let name = match error {
        E::NotText { .. } => return Error::new(crate::ruby::errors::class(ruby, "JSON::GenerateError"), error.to_string()),
        E::NotANumber { .. } | E::TooPrecise { .. } | E::OutOfRange { .. } | E::WrongComponents { .. } => "InvalidScore",
        E::InvalidOrder { .. } => "InvalidOrder",
        E::MemberTooLong { .. } => "InvalidMember",
        E::Full { .. } => "Full",
        E::InvalidCursor { .. } => "InvalidCursor",
        E::PrefixTooLong { .. } => "InvalidPrefix",
        E::InvalidRow { .. } => "InvalidRow",
        _ => "Error",
    };
    Error::new(crate::ruby::errors::class(ruby, &format!("RankedSet::{name}")), error.to_string())
}

/// The Ruby exception for a set that could not be loaded: the store's own, or the set's.
pub(super) fn unloaded(ruby: &Ruby, error: &LoadError<elah_store::Error>) -> Error {
    match error {
        LoadError::Rows(error) => crate::store::raised(ruby, error),
        LoadError::Set(error) => raised(ruby, error),
    }
}
