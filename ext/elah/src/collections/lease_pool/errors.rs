//! The errors of lease pools as Ruby exceptions; the classes are declared in `lib/elah/collections/lease_pool/errors.rb`.

use elah_lease_pool::Error as E;
use magnus::{Error, Ruby};

/// The Ruby exception for an error of the crate.
pub(super) fn raised(ruby: &Ruby, error: &E) -> Error {
    let name = match error {
        E::TooManyItems { .. } | E::TooManyLeaving { .. } | E::InvalidItem { .. } | E::DuplicateItem { .. } => "InvalidItem",
        E::InvalidTerms { .. } => "InvalidTerms",
        E::InvalidSession { .. } => "InvalidSession",
        E::PrefixTooLong { .. } => "InvalidName",
        E::InvalidRow { .. } => "InvalidRow",
        _ => "Error",
    };
    Error::new(crate::ruby::errors::class(ruby, &format!("LeasePool::{name}")), error.to_string())
}
