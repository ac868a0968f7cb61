//! Why a cluster cannot be used.

use std::fmt;

/// Each is a sentence for the operator.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The database does not reply as it should.
    Database { cause: String },
    /// The database has refused a statement and undone it.
    Refused { cause: String, is_full: bool },
    /// All work by a later version of the protocol than this process speaks.
    Later { spoken: u32, own: u32 },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Later { spoken, own } => write!(
                f,
                "The cluster works by version {spoken} of its protocol, and this process speaks version {own}: install the version of \
                 Elah that the other machines have"
            ),
            Error::Refused { cause, .. } | Error::Database { cause } => {
                write!(f, "The cluster's database cannot be used: {cause}")
            }
        }
    }
}

impl std::error::Error for Error {}

impl Error {
    /// No reply came in time.
    pub(crate) fn silent(server: &str, limit: std::time::Duration) -> Error {
        Error::Database { cause: format!("{server} did not reply within {} s", limit.as_secs_f64()) }
    }
}

impl From<tokio_postgres::Error> for Error {
    fn from(error: tokio_postgres::Error) -> Self {
        let Some(refusal) = error.as_db_error() else {
            return Error::Database { cause: elah_clients::sql::chain(&error) };
        };
        let state = refusal.code().code();
        let cause = format!("{} ({state})", refusal.message());
        // A connection that ends, a server that starts or stops, a lost race, a lock or a standby: the same statement may pass later.
        match state.get(..2) {
            Some("08" | "57" | "40" | "25" | "28" | "3D" | "XX" | "55") => Error::Database { cause },
            class => Error::Refused { cause, is_full: class == Some("53") },
        }
    }
}

impl From<elah_clients::sql::Error> for Error {
    fn from(error: elah_clients::sql::Error) -> Self {
        Error::Database { cause: error.to_string() }
    }
}
