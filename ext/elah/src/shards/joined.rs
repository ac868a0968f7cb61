//! The bytes of a text that is given whole, as a String, or in parts, as an Array of Strings and Integers. Parts spare Ruby the
//! Strings that only the store would see: one for each Integer, and the joined one.

use std::io::Write;

use magnus::value::ReprValue;
use magnus::{Error, Fixnum, RArray, RString, Ruby, TryConvert, Value};

use crate::store::with_bytes;

/// Most texts in parts are no longer.
const USUAL_BYTES: usize = 128;

/// Lends the bytes of a text to `work`, which must not run Ruby code. What is neither text nor parts of one is a TypeError.
pub(super) fn with_joined<R>(ruby: &Ruby, text: Value, work: impl FnOnce(&[u8]) -> R) -> Result<R, Error> {
    if let Some(string) = RString::from_value(text) {
        return Ok(with_bytes(string, work));
    }
    let Some(parts) = RArray::from_value(text) else {
        return RString::try_convert(text).map(|string| with_bytes(string, work));
    };
    let mut joined = Vec::with_capacity(USUAL_BYTES);
    // SAFETY: the Array is on this stack, and no Ruby code runs that could change it while its parts are read.
    for part in unsafe { parts.as_slice() } {
        append(ruby, &mut joined, *part)?;
    }
    Ok(work(&joined))
}

fn append(ruby: &Ruby, joined: &mut Vec<u8>, part: Value) -> Result<(), Error> {
    if let Some(string) = RString::from_value(part) {
        with_bytes(string, |bytes| joined.extend_from_slice(bytes));
    } else if let Some(integer) = Fixnum::from_value(part) {
        // Writing to memory does not fail.
        let _ = write!(joined, "{}", integer.to_i64());
    } else {
        let message = format!("A part of a key or value is a String or an Integer of up to 62 bits, not {}.", part.class());
        return Err(Error::new(ruby.exception_type_error(), message));
    }
    Ok(())
}
