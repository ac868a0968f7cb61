//! Errors, as sentences that name the server, the command and the collection, and never a password.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use mongodb::bson::Document;
use mongodb::error::{ErrorKind, WriteFailure};

use crate::sentence::ended;

/// Codes of servers that are shutting down, starting, or no longer the primary.
const NOT_SERVING: [i32; 10] = [6, 7, 89, 91, 189, 9001, 10107, 11600, 13435, 13436];
const MAX_TIME_EXPIRED: i32 = 50;
const AUTHENTICATION_FAILED: i32 = 18;
const DUPLICATE_KEY: [i32; 3] = [11000, 11001, 12582];

#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Error {
    /// The URL or an option is wrong.
    Misconfigured(String),
    /// No server can be reached, or the connection was lost. A write may have run.
    Unavailable { server: Arc<str>, doing: String, cause: String },
    /// The user, the password or the mechanism was refused.
    Authentication { server: Arc<str>, cause: String },
    /// No connection became free in time, or too many operations wait already.
    PoolExhausted { server: Arc<str>, doing: String, connections_max: u32, waiters: usize, waited: Duration },
    /// The server took too long. A write may have run.
    Timeout { server: Arc<str>, doing: String, bound: Duration },
    /// The server replied with an error.
    Refused(Box<Refusal>),
    /// The operation cannot be sent.
    Unusable { doing: String, reason: String },
    /// The server's reply cannot be read.
    InvalidReply { server: Arc<str>, doing: String, cause: String },
}

/// An error reply of the server.
#[derive(Debug, Clone)]
pub struct Refusal {
    pub kind: Kind,
    pub server: Arc<str>,
    pub doing: String,
    pub code: i32,
    /// The name of the code; may be empty.
    pub name: String,
    pub message: String,
    /// The failures of a bulk write, by position.
    pub write_errors: Vec<WriteError>,
}

/// The kinds of refusal that a caller can distinguish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    DuplicateKey,
    /// Any other refused write of a document.
    Write,
    Other,
}

/// One refused write of a bulk.
#[derive(Debug, Clone)]
pub struct WriteError {
    /// Its position among the writes.
    pub index: usize,
    pub code: i32,
    pub message: String,
}

/// The server and the operation.
pub(super) struct Asked<'a> {
    pub(super) server: &'a Arc<str>,
    pub(super) doing: &'a str,
    /// The time limit of the whole operation.
    pub(super) bound: Duration,
}

impl Asked<'_> {
    pub(super) fn error(&self, error: &mongodb::error::Error) -> Error {
        if let Some(message) = refusal_without_code(error) {
            return self.command(0, "", message);
        }
        let unusable = |reason: &str| Error::Unusable { doing: self.doing.to_owned(), reason: reason.to_owned() };
        // Found by this crate, before the driver was called.
        if let Some(reason) = error.get_custom::<String>() {
            return unusable(reason);
        }
        let unavailable =
            |cause: String| Error::Unavailable { server: Arc::clone(self.server), doing: self.doing.to_owned(), cause };
        match &*error.kind {
            ErrorKind::Authentication { message, .. } => self.unauthenticated(message),
            ErrorKind::Command(refused) => self.command(refused.code, &refused.code_name, &refused.message),
            ErrorKind::Write(WriteFailure::WriteError(refused)) => {
                self.write(refused.code, refused.code_name.as_deref().unwrap_or_default(), &refused.message, Vec::new())
            }
            ErrorKind::Write(WriteFailure::WriteConcernError(unmet)) => {
                self.unmet(unmet.code, &unmet.code_name, &unmet.message, Vec::new())
            }
            ErrorKind::InsertMany(refused) => {
                let write_errors: Vec<_> = refused
                    .write_errors
                    .iter()
                    .flatten()
                    .map(|one| WriteError { index: one.index, code: one.code, message: one.message.clone() })
                    .collect();
                match (write_errors.first().cloned(), &refused.write_concern_error) {
                    (_, Some(unmet)) => self.unmet(unmet.code, &unmet.code_name, &unmet.message, write_errors),
                    (Some(first), None) => self.write(first.code, "", &first.message, write_errors),
                    (None, None) => self.invalid_reply("a failed insert without a reason".to_owned()),
                }
            }
            ErrorKind::InvalidArgument { message, .. } => unusable(message),
            ErrorKind::Bson(cause) => self.invalid_reply(cause.to_string()),
            ErrorKind::InvalidResponse { message, .. } => self.invalid_reply(message.clone()),
            ErrorKind::Io(cause) => unavailable(cause.to_string()),
            ErrorKind::ServerSelection { message, .. } => unavailable(why_none_was_selected(message)),
            kind => unavailable(kind.to_string()),
        }
    }

    pub(super) fn timed_out(&self) -> Error {
        Error::Timeout { server: Arc::clone(self.server), doing: self.doing.to_owned(), bound: self.bound }
    }

    pub(super) fn invalid_reply(&self, cause: String) -> Error {
        Error::InvalidReply { server: Arc::clone(self.server), doing: self.doing.to_owned(), cause }
    }

    /// The errors of a reply to a command that writes.
    pub(super) fn write(&self, code: i32, name: &str, message: &str, write_errors: Vec<WriteError>) -> Error {
        let kind = if DUPLICATE_KEY.contains(&code) { Kind::DuplicateKey } else { Kind::Write };
        self.refused(kind, code, name, message, write_errors)
    }

    /// A write concern that is not met concerns all documents of a write, so it is told before what failed of some.
    pub(super) fn unmet(&self, code: i32, name: &str, message: &str, write_errors: Vec<WriteError>) -> Error {
        self.refused(Kind::Write, code, name, message, write_errors)
    }

    fn command(&self, code: i32, name: &str, message: &str) -> Error {
        match code {
            MAX_TIME_EXPIRED => self.timed_out(),
            AUTHENTICATION_FAILED => self.unauthenticated(message),
            code if NOT_SERVING.contains(&code) => {
                Error::Unavailable { server: Arc::clone(self.server), doing: self.doing.to_owned(), cause: message.to_owned() }
            }
            code if DUPLICATE_KEY.contains(&code) => self.write(code, name, message, Vec::new()),
            code => self.refused(Kind::Other, code, name, message, Vec::new()),
        }
    }

    fn unauthenticated(&self, message: &str) -> Error {
        Error::Authentication { server: Arc::clone(self.server), cause: message.to_owned() }
    }

    fn refused(&self, kind: Kind, code: i32, name: &str, message: &str, write_errors: Vec<WriteError>) -> Error {
        Error::Refused(Box::new(Refusal {
            kind,
            server: Arc::clone(self.server),
            doing: self.doing.to_owned(),
            code,
            name: name.to_owned(),
            message: message.to_owned(),
            write_errors,
        }))
    }
}

impl WriteError {
    /// One of `writeErrors` in a reply, whose positions begin at `first`.
    pub(super) fn read(reply: &Document, first: usize) -> Option<WriteError> {
        let index = usize::try_from(reply.get_i32("index").ok()?).ok()?;
        let message = reply.get_str("errmsg").unwrap_or_default().to_owned();
        Some(WriteError { index: first + index, code: reply.get_i32("code").unwrap_or_default(), message })
    }
}

/// The reasons in the driver's description of a topology: the error of each server that it tried.
fn why_none_was_selected(message: &str) -> String {
    let mut reasons: Vec<&str> = Vec::new();
    for part in message.split("Error: Kind: ").skip(1) {
        let reason = part.split(", labels: ").next().unwrap_or(part);
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    if reasons.is_empty() { message.to_owned() } else { reasons.join("; ") }
}

/// The message of a server that refuses a command without a code, which the driver reports as a missing reply.
pub(super) fn refusal_without_code(error: &mongodb::error::Error) -> Option<&str> {
    let reply = error.server_response().filter(|_| matches!(*error.kind, ErrorKind::InvalidResponse { .. }))?;
    reply.get_str("errmsg").ok()
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Misconfigured(reason) => write!(formatter, "{}.", ended(reason)),
            Error::Unavailable { server, doing, cause } => {
                write!(formatter, "{server} cannot be reached for {doing}: {}.", ended(cause))
            }
            Error::Authentication { server, cause } => {
                write!(formatter, "{server} does not take the user and the password: {}.", ended(cause))
            }
            Error::PoolExhausted { server, doing, connections_max, waiters, waited } => write!(
                formatter,
                "None of the {connections_max} connections to {server} became free within {} s for {doing}; {waiters} operations wait.",
                waited.as_secs_f64()
            ),
            Error::Timeout { server, doing, bound } => {
                write!(formatter, "{server} did not reply to {doing} within {} s.", bound.as_secs_f64())
            }
            Error::Refused(refusal) => {
                let Refusal { server, doing, code, name, message, write_errors, .. } = &**refusal;
                let name = if name.is_empty() { String::new() } else { format!(" {name}") };
                let more = match write_errors.len() {
                    0 | 1 => String::new(),
                    count => format!(" (the first of {count} errors)"),
                };
                write!(formatter, "{server} refused {doing} with error {code}{name}: {}{more}.", ended(message))
            }
            Error::Unusable { doing, reason } => write!(formatter, "{doing} cannot be sent: {}.", ended(reason)),
            Error::InvalidReply { server, doing, cause } => {
                write!(formatter, "The reply of {server} to {doing} cannot be read: {}.", ended(cause))
            }
        }
    }
}

impl std::error::Error for Error {}
