//! Ruby objects made, read, changed and called without a `protect` of their own, for code that does much under one.

use std::ffi::{CStr, c_long};

use magnus::rb_sys::{AsRawValue, FromRawValue};
use magnus::value::Opaque;
use magnus::{Error, RClass, Ruby, Value};
use rb_sys::{ID, VALUE};

use crate::ruby::raising::{self, Protected, protect};

/// A new Struct with its values, made under its own `protect`. `new` would call `initialize`, which costs more than everything
/// else.
pub(crate) fn filled_struct<const N: usize>(ruby: &Ruby, class: Opaque<RClass>, values: [Value; N]) -> Result<Value, Error> {
    let class = ruby.get_inner(class).as_raw();
    // SAFETY: protected; the values are on this stack, and the Struct has as many members.
    let filled = protect(|protected| unsafe {
        let filled = raising::rb_struct_alloc_noinit(protected, class);
        for (place, value) in values.iter().enumerate() {
            raising::rb_struct_aset(protected, filled, rb_sys::LONG2FIX(place as c_long), value.as_raw());
        }
        filled
    })?;
    // SAFETY: Ruby returned it.
    Ok(unsafe { Value::from_raw(filled) })
}

/// A binary String.
pub(crate) fn string(protected: Protected<'_>, bytes: &[u8]) -> VALUE {
    // SAFETY: pointer and length are those of a slice; Ruby copies it.
    unsafe { raising::rb_str_new(protected, bytes.as_ptr().cast(), bytes.len() as i64) }
}

/// A frozen binary String.
pub(crate) fn frozen(protected: Protected<'_>, bytes: &[u8]) -> VALUE {
    // SAFETY: as for `string`.
    unsafe { raising::rb_obj_freeze(protected, string(protected, bytes)) }
}

/// A binary String of digits.
pub(crate) fn digits(protected: Protected<'_>, number: u64) -> VALUE {
    string(protected, itoa::Buffer::new().format(number).as_bytes())
}

/// A UTF-8 String.
pub(crate) fn text(protected: Protected<'_>, text: &str) -> VALUE {
    // SAFETY: as for `string`.
    unsafe { raising::rb_utf8_str_new(protected, text.as_ptr().cast(), text.len() as i64) }
}

/// Adds bytes to a String.
///
/// # Safety
///
/// The argument is a String.
pub(crate) unsafe fn append(protected: Protected<'_>, string: VALUE, bytes: &[u8]) {
    // SAFETY: as for `string`.
    unsafe { raising::rb_str_cat(protected, string, bytes.as_ptr().cast(), bytes.len() as i64) };
}

/// The one frozen String of this content.
///
/// # Safety
///
/// The argument is a String.
pub(crate) unsafe fn interned(protected: Protected<'_>, string: VALUE) -> VALUE {
    // SAFETY: as for this function.
    unsafe { raising::rb_str_to_interned_str(protected, string) }
}

/// An empty Array.
pub(crate) fn array(protected: Protected<'_>) -> VALUE {
    // SAFETY: as for this function.
    unsafe { raising::rb_ary_new(protected) }
}

/// The entry of an Array, nil after its end.
///
/// # Safety
///
/// The argument is an Array.
pub(crate) unsafe fn entry(protected: Protected<'_>, array: VALUE, index: usize) -> VALUE {
    // SAFETY: as for this function.
    unsafe { raising::rb_ary_entry(protected, array, index as c_long) }
}

/// Stores an entry of an Array.
///
/// # Safety
///
/// The argument is an Array.
pub(crate) unsafe fn store(protected: Protected<'_>, array: VALUE, index: usize, value: VALUE) {
    // SAFETY: as for this function.
    unsafe { raising::rb_ary_store(protected, array, index as c_long, value) }
}

/// The ID of a name; IDs are permanent.
pub(crate) fn name(protected: Protected<'_>, name: &'static CStr) -> ID {
    // SAFETY: as for this function.
    unsafe { raising::rb_intern(protected, name.as_ptr()) }
}

/// Calls a method, private ones too.
///
/// # Safety
///
/// Receiver and arguments are live objects.
pub(crate) unsafe fn call(protected: Protected<'_>, receiver: VALUE, name: ID, arguments: &[VALUE]) -> VALUE {
    // SAFETY: as for this function; Ruby copies the arguments before the method runs.
    unsafe { raising::rb_funcallv(protected, receiver, name, arguments.len() as _, arguments.as_ptr()) }
}

/// A struct `Names` of the numbers of names, by fields: `names! { runner: c"@runner", leave: c"leave" }`.
macro_rules! names {
    ($($field:ident: $name:literal),* $(,)?) => {
        /// The variables and methods of the Ruby side.
        struct Names { $($field: rb_sys::ID),* }

        impl Names {
            fn intern(protected: $crate::ruby::raising::Protected<'_>) -> Self {
                Names { $($field: $crate::ruby::raw_objects::name(protected, $name)),* }
            }
        }
    };
}
pub(crate) use names;
