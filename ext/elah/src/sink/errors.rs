//! The journal's errors as Ruby exceptions; the classes are declared in `lib/elah/sink/errors.rb`.

use magnus::{Error, Ruby};

/// The Ruby exception for an error of the journal.
pub(super) fn raised(ruby: &Ruby, error: &elah_journal::Error) -> Error {
    use elah_journal::Error as E;
    let name = match error {
        E::Full { .. } => "Full",
        E::TooLarge { .. } | E::StreamTooLong { .. } => "TooLarge",
        E::Failed { .. } | E::Displaced { .. } => "Failed",
        E::Damaged { .. } => "Damaged",
        E::Unreadable { .. } => "Unreadable",
        E::Closed => "Closed",
        E::CannotOpen { .. } => "CannotOpen",
        _ => "Error",
    };
    Error::new(crate::ruby::errors::class(ruby, &format!("Sink::{name}")), error.to_string())
}
