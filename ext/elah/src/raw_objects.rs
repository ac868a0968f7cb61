//! Ruby Strings and Arrays made without a `protect` of their own, for code that makes many under one.
//!
//! Each of these functions may raise `NoMemoryError`, so all of them must be called under `protect`, with nothing between it and
//! them that has to be dropped.

use rb_sys::VALUE;

/// A binary String.
///
/// # Safety
///
/// Call it under `protect`.
pub(crate) unsafe fn string(bytes: &[u8]) -> VALUE {
    // SAFETY: pointer and length are those of a slice; Ruby copies it.
    unsafe { rb_sys::rb_str_new(bytes.as_ptr().cast(), bytes.len() as i64) }
}

/// A frozen binary String.
///
/// # Safety
///
/// Call it under `protect`.
pub(crate) unsafe fn frozen(bytes: &[u8]) -> VALUE {
    // SAFETY: as for `string`.
    unsafe { rb_sys::rb_obj_freeze(string(bytes)) }
}

/// A binary String of digits.
///
/// # Safety
///
/// Call it under `protect`.
pub(crate) unsafe fn digits(number: u64) -> VALUE {
    // SAFETY: as for `string`.
    unsafe { string(itoa::Buffer::new().format(number).as_bytes()) }
}

/// A UTF-8 String.
///
/// # Safety
///
/// Call it under `protect`.
pub(crate) unsafe fn text(text: &str) -> VALUE {
    // SAFETY: as for `string`.
    unsafe { rb_sys::rb_utf8_str_new(text.as_ptr().cast(), text.len() as i64) }
}

/// Adds bytes to a String.
///
/// # Safety
///
/// Call it under `protect`, with a String.
pub(crate) unsafe fn append(string: VALUE, bytes: &[u8]) {
    // SAFETY: as for `string`.
    unsafe { rb_sys::rb_str_cat(string, bytes.as_ptr().cast(), bytes.len() as i64) };
}

/// The one frozen String of this content.
///
/// # Safety
///
/// Call it under `protect`, with a String.
pub(crate) unsafe fn interned(string: VALUE) -> VALUE {
    // SAFETY: as for this function.
    unsafe { rb_sys::rb_str_to_interned_str(string) }
}

/// An empty Array.
///
/// # Safety
///
/// Call it under `protect`.
pub(crate) unsafe fn array() -> VALUE {
    // SAFETY: as for this function.
    unsafe { rb_sys::rb_ary_new() }
}
