//! The client's errors as Ruby exceptions; the classes are declared in `lib/elah/errors.rb` and `lib/elah/clients/sql/errors.rb`.

use elah_clients::sql::{Error as SqlError, Kind};
use magnus::{Error, ExceptionClass, Ruby, Value, prelude::*};

/// The Ruby exception for an error of the client.
pub(super) fn raised(ruby: &Ruby, error: &SqlError) -> Error {
    let (name, refusal) = match error {
        SqlError::Misconfigured(_) => ("OptionError", None),
        SqlError::Unreachable { .. } | SqlError::Lost { .. } => ("Unavailable", None),
        SqlError::PoolExhausted { .. } => ("PoolExhausted", None),
        SqlError::QueryTimeout { .. } => ("QueryTimeout", None),
        SqlError::Closed { .. } => ("SQL::Closed", None),
        SqlError::Refused(refusal) => (refused(refusal.kind), Some(refusal)),
        SqlError::RolledBack(refusal) => ("SQL::RolledBack", Some(refusal)),
        _ => ("SQL::Error", None),
    };
    let class = crate::ruby::errors::class(ruby, name);
    let Some(refusal) = refusal else { return Error::new(class, error.to_string()) };
    with_state(class, &error.to_string(), &refusal.sqlstate, refusal.number).unwrap_or_else(|failure| failure)
}

fn refused(kind: Kind) -> &'static str {
    match kind {
        Kind::UniqueViolation => "SQL::UniqueViolation",
        Kind::ForeignKeyViolation => "SQL::ForeignKeyViolation",
        Kind::SerializationFailure => "SQL::SerializationFailure",
        Kind::Syntax => "SQL::SyntaxError",
        Kind::Authentication => "SQL::AuthenticationFailed",
        Kind::Cancelled => "SQL::Cancelled",
        Kind::Other => "SQL::Error",
    }
}

fn with_state(class: ExceptionClass, message: &str, sqlstate: &str, number: Option<u16>) -> Result<Error, Error> {
    let exception = class.new_instance((message,))?;
    exception.funcall::<_, _, Value>("refused_with", (sqlstate, number))?;
    Ok(exception.into())
}

/// A transaction, or a stream of rows, was used on a loop or thread on which it did not begin.
pub(super) fn elsewhere(ruby: &Ruby) -> Error {
    let message = "A transaction and its rows belong to the loop, or the thread, on which they began.";
    Error::new(crate::ruby::errors::class(ruby, "SQL::Error"), message)
}

/// Rows were read after their transaction has closed them.
pub(super) fn over(ruby: &Ruby) -> Error {
    let message = "The transaction has ended before all of its rows were read.";
    Error::new(crate::ruby::errors::class(ruby, "SQL::Error"), message)
}
