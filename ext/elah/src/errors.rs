//! Finds the Ruby error classes, which are declared with their sentences in `lib/elah/errors.rb`.

use magnus::{ExceptionClass, Module, RModule, Ruby};

/// The class `Elah::<name>`; `Elah::Error`'s Ruby parent when it is not loaded.
pub(crate) fn class(ruby: &Ruby, name: &str) -> ExceptionClass {
    ruby.class_object()
        .const_get::<_, RModule>("Elah")
        .and_then(|elah| elah.const_get::<_, ExceptionClass>(name))
        .unwrap_or_else(|_| ruby.exception_runtime_error())
}
