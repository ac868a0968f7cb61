//! Ruby Strings as UTF-8 text, and UTF-8 text as Ruby Strings.

use std::ffi::c_int;

use magnus::rb_sys::FromRawValue;
use magnus::{Error, RString, TryConvert, Value};
use rb_sys::{VALUE, ruby_coderange_type as CodeRange};

use crate::ruby::raising::{self, Protected, protect};

const SEVEN_BIT: c_int = CodeRange::RUBY_ENC_CODERANGE_7BIT as c_int;
const VALID: c_int = CodeRange::RUBY_ENC_CODERANGE_VALID as c_int;
/// The bits of a String's flags that say its range; none of them is set before it is scanned.
const KNOWN_RANGE: c_int = CodeRange::RUBY_ENC_CODERANGE_BROKEN as c_int;

/// A Ruby String with respect to UTF-8.
pub(crate) enum Text<'s> {
    Utf8 {
        text: &'s str,
        is_ascii: bool,
    },
    /// In an encoding that must be converted first.
    Foreign,
    /// Not valid in its encoding, or bytes that are not UTF-8.
    Broken,
}

/// Classifies `string`. Bytes without an encoding (ASCII-8BIT) count as UTF-8 if they are valid.
///
/// # Safety
/// `string` is a live String, and nothing changes or frees it while the text is used: no Ruby code runs.
pub(crate) unsafe fn text<'s>(string: VALUE) -> Text<'s> {
    // SAFETY: the caller's promise; none of these calls raises or runs Ruby code.
    unsafe {
        let bytes = std::slice::from_raw_parts(rb_sys::RSTRING_PTR(string).cast::<u8>(), rb_sys::RSTRING_LEN(string) as usize);
        // Ruby caches the result of the scan in the String.
        let range = match (*(string as *const rb_sys::RBasic)).flags as c_int & KNOWN_RANGE {
            0 => rb_sys::rb_enc_str_coderange(string),
            known => known,
        };
        if range == SEVEN_BIT {
            return Text::Utf8 { text: std::str::from_utf8_unchecked(bytes), is_ascii: true };
        }
        let encoding = rb_sys::ENCODING_GET(string);
        let is_bytes = encoding == rb_sys::rb_ascii8bit_encindex() || encoding == rb_sys::rb_usascii_encindex();
        match range {
            VALID if encoding == rb_sys::rb_utf8_encindex() => {
                Text::Utf8 { text: std::str::from_utf8_unchecked(bytes), is_ascii: false }
            }
            _ if is_bytes => match std::str::from_utf8(bytes) {
                Ok(text) => Text::Utf8 { text, is_ascii: false },
                Err(_) => Text::Broken,
            },
            VALID => Text::Foreign,
            _ => Text::Broken,
        }
    }
}

/// `string` converted to UTF-8 by Ruby's converters, which call no method of it. Raises an EncodingError.
pub(crate) fn converted(string: VALUE) -> Result<Value, Error> {
    let converted = protect(|protected| {
        // SAFETY: `string` is a live String; `protect` catches what is raised.
        unsafe {
            let utf8 = rb_sys::rb_enc_from_encoding(rb_sys::rb_utf8_encoding());
            raising::rb_str_encode(protected, string, utf8, 0, rb_sys::Qnil as VALUE)
        }
    })?;
    // SAFETY: Ruby returned it.
    Ok(unsafe { Value::from_raw(converted) })
}

/// A new UTF-8 String. `text` must be valid UTF-8, and only ASCII if `is_ascii`, so that Ruby need not scan it again.
pub(crate) fn new_string(text: &[u8], is_ascii: bool) -> Result<RString, Error> {
    let string = protect(|protected| raw_string(protected, text, is_ascii))?;
    // SAFETY: Ruby returned it.
    RString::try_convert(unsafe { Value::from_raw(string) })
}

/// The raw form of `new_string`.
pub(crate) fn raw_string(protected: Protected<'_>, text: &[u8], is_ascii: bool) -> VALUE {
    let range = if is_ascii { SEVEN_BIT } else { VALID };
    // SAFETY: Ruby copies the bytes; the flags of the new object are ours alone to set.
    unsafe {
        let string = raising::rb_utf8_str_new(protected, text.as_ptr().cast(), text.len() as _);
        (*(string as *mut rb_sys::RBasic)).flags |= range as VALUE;
        string
    }
}

/// This process's shared String object for `text`, frozen.
pub(crate) fn interned(text: &str) -> Result<Value, Error> {
    // SAFETY: Ruby returned it.
    protect(|protected| raw_interned(protected, text)).map(|string| unsafe { Value::from_raw(string) })
}

/// The raw form of `interned`.
pub(crate) fn raw_interned(protected: Protected<'_>, text: &str) -> VALUE {
    // SAFETY: Ruby copies the bytes if it has no such String yet.
    unsafe { raising::rb_enc_interned_str(protected, text.as_ptr().cast(), text.len() as _, rb_sys::rb_utf8_encoding()) }
}
