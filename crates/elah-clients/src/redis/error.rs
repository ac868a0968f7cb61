//! Errors of commands. The texts name the server and the command, never a password or an argument.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::redis::command::Name;

/// Why a command has no reply.
#[derive(Debug, Clone)]
pub enum Error {
    /// The URL or an option of the client is wrong.
    Settings(String),
    /// The connection failed; `retry_after` is the backoff before the next attempt.
    Unreachable { server: Arc<str>, cause: Arc<str>, retry_after: Duration },
    /// The connection ended while the command waited. The server may have run it.
    Lost { server: Arc<str>, command: Name, cause: Arc<str> },
    /// No reply came in time. The server may have run the command.
    TimedOut { server: Arc<str>, command: Name, after: Duration },
    /// More commands wait than the limit allows.
    Overloaded { server: Arc<str>, max: usize },
    /// The client was closed.
    Closed { server: Arc<str> },
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Settings(reason) => write!(formatter, "{reason}"),
            Error::Unreachable { server, cause, retry_after } if retry_after.is_zero() => {
                write!(formatter, "Redis at {server} cannot be reached: {cause}.")
            }
            Error::Unreachable { server, cause, retry_after } => {
                let wait = retry_after.as_secs_f64();
                write!(formatter, "Redis at {server} cannot be reached: {cause}. The next attempt is made in {wait:.2} s.")
            }
            Error::Lost { server, command, cause } => {
                write!(formatter, "The connection to Redis at {server} was lost while {command} waited for its reply: {cause}.")
            }
            Error::TimedOut { server, command, after } => {
                write!(formatter, "Redis at {server} sent no reply to {command} within {} s.", after.as_secs_f64())
            }
            Error::Overloaded { server, max } => {
                write!(formatter, "{max} commands wait for Redis at {server} already, which is as many as may.")
            }
            Error::Closed { server } => write!(formatter, "The client of Redis at {server} is closed."),
        }
    }
}

impl std::error::Error for Error {}

/// A reply by which the server refuses a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The first word, such as `WRONGTYPE`.
    pub code: String,
    /// The whole text, without the arguments that some of Redis's texts repeat.
    pub text: String,
}

impl Refusal {
    /// Parses an error line of the server.
    pub fn new(line: &[u8]) -> Refusal {
        let whole = String::from_utf8_lossy(line);
        let text = whole.split_once(", with args beginning with").map_or(&*whole, |(before, _)| before);
        let code = text.split([' ', '\r', '\n']).next().unwrap_or_default();
        Refusal { code: code.to_owned(), text: text.trim_end().trim_end_matches('.').to_owned() }
    }

    /// Whether the server's current state is the reason, not the command.
    pub fn is_of_the_moment(&self) -> bool {
        const CODES: [&str; 8] =
            ["BUSY", "LOADING", "CLUSTERDOWN", "MASTERDOWN", "TRYAGAIN", "READONLY", "NOREPLICAS", "MISCONF"];
        CODES.contains(&self.code.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_told_without_arguments() {
        let refusal = Refusal::new(b"ERR unknown command 'FOO', with args beginning with: 'secret' ");
        assert_eq!((refusal.code.as_str(), refusal.text.as_str()), ("ERR", "ERR unknown command 'FOO'"));
        assert!(!refusal.is_of_the_moment());
        assert!(Refusal::new(b"BUSY Redis is busy running a script.").is_of_the_moment());
        assert_eq!(Refusal::new(b"").code, "");
    }
}
