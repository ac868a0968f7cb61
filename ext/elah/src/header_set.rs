//! `Elah::HeaderSet`: response headers that are checked once and sent many times; and how any headers come from Ruby.

use elah_core::response::Headers;
use magnus::r_hash::ForEach;
use magnus::{
    Class, Error, Module, Object, RArray, RHash, RModule, RString, Ruby, TryConvert, Value, function, method, value::ReprValue,
};

use crate::errors;

#[magnus::wrap(class = "Elah::HeaderSet", free_immediately, frozen_shareable)]
pub(crate) struct HeaderSet {
    headers: Headers,
}

impl HeaderSet {
    fn new(ruby: &Ruby, headers: RHash) -> Result<Self, Error> {
        Ok(HeaderSet { headers: from_hash(ruby, headers)? })
    }

    pub(crate) fn of(headers: Headers) -> Self {
        HeaderSet { headers }
    }

    fn has(&self, name: String) -> bool {
        self.headers.has(&name)
    }
}

/// Headers from a `HeaderSet` or a Hash of names to a String or an Array of Strings.
pub(crate) fn headers(ruby: &Ruby, value: Value) -> Result<Headers, Error> {
    if let Ok(set) = <&HeaderSet>::try_convert(value) {
        return Ok(set.headers.clone());
    }
    let hash = RHash::from_value(value).ok_or_else(|| {
        let message = format!("Response headers are a Hash or an Elah::HeaderSet, not {}.", value.class());
        Error::new(ruby.exception_type_error(), message)
    })?;
    from_hash(ruby, hash)
}

fn from_hash(ruby: &Ruby, hash: RHash) -> Result<Headers, Error> {
    let mut headers = Headers::new();
    hash.foreach(|name: RString, value: Value| {
        if let Some(values) = RArray::from_value(value) {
            for index in 0..values.len() {
                append(ruby, &mut headers, name, values.entry(index as isize)?)?;
            }
        } else {
            append(ruby, &mut headers, name, value)?;
        }
        Ok(ForEach::Continue)
    })?;
    Ok(headers)
}

fn append(ruby: &Ruby, headers: &mut Headers, name: RString, value: Value) -> Result<(), Error> {
    let value = match RString::from_value(value) {
        Some(string) => string,
        None => value.to_r_string()?,
    };
    // SAFETY: the bytes are copied before Ruby runs again.
    let appended = unsafe { headers.append(name.as_slice(), value.as_slice()) };
    appended.map_err(|error| Error::new(errors::class(ruby, "InvalidHeader"), error.to_string()))
}

pub(crate) fn init(ruby: &Ruby, elah: RModule) -> Result<(), Error> {
    let class = elah.define_class("HeaderSet", ruby.class_object())?;
    class.undef_default_alloc_func();
    class.define_singleton_method("new", function!(HeaderSet::new, 1))?;
    class.define_method("include?", method!(HeaderSet::has, 1))?;
    Ok(())
}
