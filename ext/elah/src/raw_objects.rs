//! Ruby objects made, read, changed and called without a `protect` of their own, for code that does much under one.
//!
//! Each of these functions may raise, at least `NoMemoryError`, so all of them must be called under `protect`, with nothing between it
//! and them that has to be dropped.

use std::ffi::{CStr, c_long};

use rb_sys::{ID, VALUE};

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

/// The entry of an Array, nil behind its end.
///
/// # Safety
///
/// Call it under `protect`, with an Array.
pub(crate) unsafe fn entry(array: VALUE, index: usize) -> VALUE {
    // SAFETY: as for this function.
    unsafe { rb_sys::rb_ary_entry(array, index as c_long) }
}

/// Puts an entry into an Array.
///
/// # Safety
///
/// Call it under `protect`, with an Array.
pub(crate) unsafe fn store(array: VALUE, index: usize, value: VALUE) {
    // SAFETY: as for this function.
    unsafe { rb_sys::rb_ary_store(array, index as c_long, value) }
}

/// What a Hash has for a key, or nil.
///
/// # Safety
///
/// Call it under `protect`, with a Hash.
pub(crate) unsafe fn lookup(hash: VALUE, key: VALUE) -> VALUE {
    // SAFETY: as for this function.
    unsafe { rb_sys::rb_hash_lookup(hash, key) }
}

/// The number of a name, which stays.
///
/// # Safety
///
/// Call it under `protect`.
pub(crate) unsafe fn name(name: &'static CStr) -> ID {
    // SAFETY: as for this function.
    unsafe { rb_sys::rb_intern(name.as_ptr()) }
}

/// The number of a Symbol.
///
/// # Safety
///
/// Call it under `protect`, with a Symbol.
pub(crate) unsafe fn symbol_name(symbol: VALUE) -> ID {
    // SAFETY: as for this function.
    unsafe { rb_sys::rb_sym2id(symbol) }
}

/// An instance variable, nil when it is not set.
///
/// # Safety
///
/// Call it under `protect`, with an object.
pub(crate) unsafe fn variable(object: VALUE, name: ID) -> VALUE {
    // SAFETY: as for this function.
    unsafe { rb_sys::rb_ivar_get(object, name) }
}

/// Sets an instance variable.
///
/// # Safety
///
/// Call it under `protect`, with an object that is not frozen.
pub(crate) unsafe fn set_variable(object: VALUE, name: ID, value: VALUE) {
    // SAFETY: as for this function.
    unsafe { rb_sys::rb_ivar_set(object, name, value) };
}

/// Calls a method, private ones too.
///
/// # Safety
///
/// Call it under `protect`: whatever the method raises comes through.
pub(crate) unsafe fn call(receiver: VALUE, name: ID, arguments: &[VALUE]) -> VALUE {
    // SAFETY: as for this function; Ruby copies the arguments before the method runs.
    unsafe { rb_sys::rb_funcallv(receiver, name, arguments.len() as _, arguments.as_ptr()) }
}

/// A struct `Names` of the numbers of names, by fields: `names! { runner: c"@runner", leave: c"leave" }`.
macro_rules! names {
    ($($field:ident: $name:literal),* $(,)?) => {
        /// The variables and methods of the Ruby side.
        struct Names { $($field: rb_sys::ID),* }

        impl Names {
            /// # Safety
            /// Under `protect`.
            unsafe fn intern() -> Self {
                // SAFETY: the caller's promise.
                unsafe { Names { $($field: $crate::raw_objects::name($name)),* } }
            }
        }
    };
}
pub(crate) use names;
