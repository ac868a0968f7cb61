//! `Elah::HeaderSet`: response headers that are checked once and sent many times; and the conversion of any headers from Ruby.

use elah_http::response::{Headers, InvalidHeader};
use magnus::r_hash::ForEach;
use magnus::{Error, Module, Object, RArray, RHash, RModule, RString, Ruby, Value, function, method, value::ReprValue};

use crate::ruby::errors;
use crate::ruby::native_class;
use crate::ruby::receiver::ExactClass;

/// `Elah::HeaderSet`, to recognise its instances quickly.
static CLASS: ExactClass = ExactClass::new();

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

    /// Names to a String, or to an Array of Strings if a name has several values.
    fn to_hash(ruby: &Ruby, rb_self: &Self) -> Result<RHash, Error> {
        let hash = ruby.hash_new();
        for (name, value) in rb_self.headers.iter() {
            let value = ruby.enc_str_new(value, ruby.utf8_encoding());
            match hash.get(name) {
                None => hash.aset(name, value)?,
                Some(first) => match RArray::from_value(first) {
                    Some(values) => values.push(value)?,
                    None => hash.aset(name, ruby.ary_new_from_values(&[first, value.as_value()]))?,
                },
            }
        }
        Ok(hash)
    }
}

/// Headers from a `HeaderSet` or a Hash of names to a String or an Array of Strings.
pub(crate) fn headers(ruby: &Ruby, value: Value) -> Result<Headers, Error> {
    if let Some(set) = CLASS.native::<HeaderSet>(&value) {
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

/// Headers that send the client to `location`.
pub(crate) fn headers_to(ruby: &Ruby, location: RString, value: Value) -> Result<Headers, Error> {
    let mut headers = headers(ruby, value)?;
    // SAFETY: the bytes are copied before Ruby runs again.
    unsafe { headers.set_location(location.as_slice()) }.map_err(|error| invalid(ruby, &error))?;
    Ok(headers)
}

fn append(ruby: &Ruby, headers: &mut Headers, name: RString, value: Value) -> Result<(), Error> {
    let value = match RString::from_value(value) {
        Some(string) => string,
        None => value.to_r_string()?,
    };
    // SAFETY: the bytes are copied before Ruby runs again.
    let appended = unsafe { headers.append(name.as_slice(), value.as_slice()) };
    appended.map_err(|error| invalid(ruby, &error))
}

fn invalid(ruby: &Ruby, error: &InvalidHeader) -> Error {
    Error::new(errors::class(ruby, "InvalidHeader"), error.to_string())
}

pub(crate) fn init(ruby: &Ruby, elah: RModule) -> Result<(), Error> {
    let class = native_class::define::<HeaderSet>(ruby, elah, "HeaderSet")?;
    CLASS.set(ruby, class);
    class.define_singleton_method("new", function!(HeaderSet::new, 1))?;
    class.define_method("include?", method!(HeaderSet::has, 1))?;
    class.define_method("to_h", method!(HeaderSet::to_hash, 0))?;
    Ok(())
}
