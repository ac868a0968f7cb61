//! The client's errors as Ruby exceptions; the classes are declared in `lib/elah/errors.rb` and `lib/elah/clients/redis/errors.rb`.

use elah_clients::redis::{Error as RedisError, Name, Refusal};
use magnus::{Error, Ruby, prelude::*};

use crate::ruby::errors::class;

/// The Ruby exception for a missing reply.
pub(crate) fn raised(ruby: &Ruby, error: &RedisError) -> Error {
    let name = match error {
        RedisError::Settings(_) => "OptionError",
        RedisError::Unreachable { .. } | RedisError::Lost { .. } => "Unavailable",
        RedisError::TimedOut { .. } => "QueryTimeout",
        RedisError::Overloaded { .. } => "PoolExhausted",
        RedisError::Closed { .. } => "Redis::Closed",
    };
    Error::new(class(ruby, name), error.to_string())
}

/// The Ruby exception for an error reply: an instance, as it may be one among other replies.
pub(super) fn refused(ruby: &Ruby, server: &str, name: Name, refusal: &Refusal) -> Error {
    let message = format!("Redis at {server} refused {name}: {}.", refusal.text);
    let exception = match refusal.is_of_the_moment() {
        true => class(ruby, "Unavailable").new_instance((message,)),
        false => class(ruby, "Redis::Error").new_instance((message, refusal.code.as_str())),
    };
    exception.map_or_else(|failure| failure, Error::from)
}
