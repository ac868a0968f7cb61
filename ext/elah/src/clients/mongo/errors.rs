//! The client's errors as Ruby exceptions; the classes are declared in `lib/elah/errors.rb` and `lib/elah/clients/mongo/errors.rb`.

use elah_clients::mongo::{Error as Failure, Kind, Refusal};
use magnus::value::ReprValue;
use magnus::{Class, Error, Exception, ExceptionClass, RArray, Ruby, Value};

use crate::ruby::errors::class;

/// The Ruby exception for an error of the client.
pub(super) fn raised(ruby: &Ruby, failure: &Failure) -> Error {
    let message = failure.to_string();
    let name = match failure {
        Failure::Misconfigured(_) => "OptionError",
        Failure::Unavailable { .. } => "Unavailable",
        Failure::Authentication { .. } => "Mongo::AuthenticationFailed",
        Failure::PoolExhausted { .. } => "PoolExhausted",
        Failure::Timeout { .. } => "QueryTimeout",
        Failure::Unusable { .. } => "Mongo::InvalidValue",
        Failure::InvalidReply { .. } => "Mongo::InvalidReply",
        Failure::Refused(refusal) => return refused(ruby, refusal, &message).unwrap_or_else(|error| error),
        _ => "Mongo::Error",
    };
    Error::new(class(ruby, name), message)
}

fn refused(ruby: &Ruby, refusal: &Refusal, message: &str) -> Result<Error, Error> {
    let class: ExceptionClass = class(
        ruby,
        match refusal.kind {
            Kind::DuplicateKey => "Mongo::DuplicateKey",
            Kind::Write => "Mongo::WriteFailed",
            Kind::Other => "Mongo::Refused",
        },
    );
    let write_errors: RArray = ruby.ary_new_capa(refusal.write_errors.len());
    for error in &refusal.write_errors {
        let row: Value = ruby
            .ary_new_from_values(&[
                ruby.integer_from_u64(error.index as u64).as_value(),
                ruby.integer_from_i64(error.code.into()).as_value(),
                ruby.str_new(&error.message).as_value(),
            ])
            .as_value();
        write_errors.push(row)?;
    }
    let exception: Exception = class.new_instance((message, refusal.code, refusal.name.as_str(), write_errors))?;
    Ok(Error::from(exception))
}
