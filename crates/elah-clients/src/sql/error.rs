//! Errors, as sentences that name the server and the statement, and never a password or a parameter.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::sentence::ended;

/// Characters of a statement that an error quotes.
const STATEMENT_CHARS: usize = 300;

#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Error {
    /// The URL or an option is wrong.
    Misconfigured(String),
    /// The connection failed.
    Unreachable { server: Arc<str>, cause: String },
    /// The connection ended before the reply was complete. The statement may have run.
    Lost { server: Arc<str>, statement: Option<Arc<str>>, cause: String },
    /// No connection became free in time, or too many callers wait already.
    PoolExhausted { server: Arc<str>, connections_max: usize, waiters: usize, waited: Duration },
    /// The server took too long.
    QueryTimeout { server: Arc<str>, statement: Arc<str>, bound: Duration },
    /// The server replied with an error.
    Refused(Box<Refusal>),
    /// The transaction was rolled back, because this was the server's reply to a statement in it.
    RolledBack(Box<Refusal>),
    /// The call is invalid: a wrong number of parameters, or a value that does not fit the column's type.
    Unusable { server: Arc<str>, statement: Option<Arc<str>>, reason: String },
    /// The client was closed.
    Closed { server: Arc<str> },
}

/// An error reply of the server.
#[derive(Debug, Clone)]
pub struct Refusal {
    pub kind: Kind,
    pub server: Arc<str>,
    pub statement: Option<Arc<str>>,
    /// Five characters.
    pub sqlstate: String,
    /// MySQL's and MariaDB's own number.
    pub number: Option<u16>,
    pub message: String,
}

/// The kinds of refusal that a caller can distinguish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    UniqueViolation,
    ForeignKeyViolation,
    /// A deadlock, a lost race between serialisable transactions, or a lock timeout: retry the transaction.
    SerializationFailure,
    /// The statement does not parse, or names something that does not exist.
    Syntax,
    /// The user, the password or the database is wrong.
    Authentication,
    /// The server itself ended the statement.
    Cancelled,
    Other,
}

impl Kind {
    /// The kind of an SQLSTATE and, for MySQL, of the more precise number.
    pub(super) fn of(sqlstate: &str, number: Option<u16>) -> Kind {
        match number {
            Some(1022 | 1062 | 1169 | 1586) => return Kind::UniqueViolation,
            Some(1216 | 1217 | 1451 | 1452) => return Kind::ForeignKeyViolation,
            Some(1020 | 1205 | 1213) => return Kind::SerializationFailure,
            Some(1044 | 1045 | 1049 | 1698) => return Kind::Authentication,
            Some(1317) => return Kind::Cancelled,
            _ => {}
        }
        match sqlstate {
            "23505" => Kind::UniqueViolation,
            "23503" => Kind::ForeignKeyViolation,
            "40001" | "40P01" | "55P03" => Kind::SerializationFailure,
            "57014" => Kind::Cancelled,
            "3D000" => Kind::Authentication,
            _ if sqlstate.starts_with("28") => Kind::Authentication,
            _ if sqlstate.starts_with("42") => Kind::Syntax,
            _ => Kind::Other,
        }
    }
}

impl Error {
    /// True if the connection cannot be used any more.
    pub(super) fn is_fatal(&self) -> bool {
        !matches!(self, Error::Refused(_) | Error::RolledBack(_) | Error::Unusable { .. })
    }
}

struct InStatement<'a>(Option<&'a Arc<str>>);

impl fmt::Display for InStatement<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(statement) = self.0 else { return Ok(()) };
        formatter.write_str(" In: ")?;
        let mut left = STATEMENT_CHARS;
        let mut separator = "";
        for word in statement.split_whitespace() {
            if word.chars().count() >= left {
                return formatter.write_str(" …");
            }
            left -= word.chars().count() + 1;
            write!(formatter, "{separator}{word}")?;
            separator = " ";
        }
        Ok(())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Misconfigured(reason) => write!(formatter, "{}.", ended(reason)),
            Error::Unreachable { server, cause } => write!(formatter, "{server} cannot be reached: {}.", ended(cause)),
            Error::Lost { server, statement, cause } => {
                write!(formatter, "The connection to {server} was lost: {}.{}", ended(cause), InStatement(statement.as_ref()))
            }
            Error::PoolExhausted { server, connections_max, waiters, waited } if waited.is_zero() => {
                write!(formatter, "All {connections_max} connections to {server} are in use, and {waiters} callers wait for one.")
            }
            Error::PoolExhausted { server, connections_max, waited, .. } => {
                let seconds = waited.as_secs_f64();
                write!(formatter, "None of the {connections_max} connections to {server} became free within {seconds} s.")
            }
            Error::QueryTimeout { server, statement, bound } => {
                let seconds = bound.as_secs_f64();
                write!(formatter, "{server} did not reply within {seconds} s.{}", InStatement(Some(statement)))
            }
            Error::Refused(refusal) => {
                let Refusal { server, statement, sqlstate, message, .. } = &**refusal;
                let message = ended(message);
                write!(formatter, "{server} refused with {sqlstate}: {message}.{}", InStatement(statement.as_ref()))
            }
            Error::RolledBack(refusal) => {
                let Refusal { server, statement, sqlstate, message, .. } = &**refusal;
                let (message, statement) = (ended(message), InStatement(statement.as_ref()));
                write!(
                    formatter,
                    "{server} has rolled the transaction back: a statement failed with {sqlstate}: {message}.{statement}"
                )
            }
            Error::Unusable { server, statement, reason } => {
                write!(formatter, "{} (for {server}).{}", ended(reason), InStatement(statement.as_ref()))
            }
            Error::Closed { server } => write!(formatter, "The client of {server} is closed."),
        }
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_statement_is_cut_and_written_in_one_line() {
        let statement: Arc<str> = format!("SELECT *\n  FROM t WHERE {}", "a = 1 OR ".repeat(100)).into();
        let error = Error::QueryTimeout { server: "h:1/d".into(), statement, bound: Duration::from_millis(1500) };
        let text = error.to_string();
        assert!(text.starts_with("h:1/d did not reply within 1.5 s. In: SELECT * FROM t WHERE a = 1"), "{text}");
        assert!(text.ends_with(" …") && text.len() < 400, "{text}");
    }

    #[test]
    fn kinds_are_known_by_state_and_by_number() {
        assert_eq!(Kind::of("23505", None), Kind::UniqueViolation);
        assert_eq!(Kind::of("23000", Some(1062)), Kind::UniqueViolation);
        assert_eq!(Kind::of("23000", Some(1452)), Kind::ForeignKeyViolation);
        assert_eq!(Kind::of("40001", Some(1213)), Kind::SerializationFailure);
        assert_eq!(Kind::of("42P01", None), Kind::Syntax);
        assert_eq!(Kind::of("28P01", None), Kind::Authentication);
        assert_eq!(Kind::of("22012", None), Kind::Other);
    }
}
