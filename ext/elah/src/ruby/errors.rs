//! Look-up of the Ruby error classes, which are declared with their messages in `lib/elah/errors.rb`.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use magnus::value::ReprValue;
use magnus::{Error, ExceptionClass, Module, RModule, Ruby, Value};

/// The class `Elah::<path>` (`JSON::ParseError`); Ruby's RuntimeError when `elah/errors` is not loaded.
pub(crate) fn class(ruby: &Ruby, path: &str) -> ExceptionClass {
    let (module, name) = path.rsplit_once("::").map_or((None, path), |(module, name)| (Some(module), name));
    ruby.class_object()
        .const_get::<_, RModule>("Elah")
        .and_then(|elah| match module {
            Some(module) => elah.const_get::<_, Value>(module)?.funcall("const_get", (name,)),
            None => elah.const_get(name),
        })
        .unwrap_or_else(|_| ruby.exception_runtime_error())
}

/// Runs `work`; a panic in it becomes an `Elah::InternalError`, where Ruby would otherwise end the process.
pub(crate) fn catching<R>(ruby: &Ruby, work: impl FnOnce() -> Result<R, Error>) -> Result<R, Error> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(panicked(ruby, &*panic)))
}

/// A panic as a Ruby error: the request that caused it fails, and the worker continues.
pub(crate) fn panicked(ruby: &Ruby, panic: &(dyn Any + Send)) -> Error {
    let message = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned());
    Error::new(class(ruby, "InternalError"), format!("Elah's core panicked: {message}. This is a bug in Elah."))
}
