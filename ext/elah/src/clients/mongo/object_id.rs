//! `Elah::Mongo::ObjectId` for the writer and the reader of BSON: twelve bytes in a Ruby object.

use std::sync::OnceLock;

use elah_clients::mongo::generate_object_id;
use magnus::rb_sys::{AsRawValue, FromRawValue};
use magnus::{Error, RClass, RString, Ruby, Value};
use rb_sys::{ID, VALUE};

use crate::ruby::raising::{self, Protected, protect};

/// The class, kept alive and at its address, and the name of the variable that holds the bytes.
static CLASS: OnceLock<(VALUE, ID)> = OnceLock::new();

/// The bytes of `object`, which is not of a core class, if it is an ObjectId.
pub(super) fn bytes(object: VALUE) -> Option<[u8; 12]> {
    let &(class, variable) = CLASS.get()?;
    // SAFETY: `object` is live and no special constant, so it begins with its `RBasic`.
    if unsafe { (*(object as *const rb_sys::RBasic)).klass } != class {
        return None;
    }
    // SAFETY: protected; Ruby returned it.
    let bytes = protect(|protected| unsafe { raising::rb_ivar_get(protected, object, variable) })
        .ok()
        .map(|bytes| unsafe { Value::from_raw(bytes) })?;
    let bytes = RString::from_value(bytes)?;
    // SAFETY: the bytes are copied before Ruby runs again.
    unsafe { bytes.as_slice() }.try_into().ok()
}

/// A frozen ObjectId.
pub(super) fn raw(protected: Protected<'_>, bytes: &[u8; 12]) -> VALUE {
    let Some(&(class, variable)) = CLASS.get() else { return rb_sys::Qnil as VALUE };
    // SAFETY: the class has Ruby's own allocator.
    unsafe {
        let object = raising::rb_obj_alloc(protected, class);
        raising::rb_ivar_set(protected, object, variable, crate::ruby::raw_objects::frozen(protected, bytes));
        raising::rb_obj_freeze(protected, object)
    }
}

/// A new id.
pub(super) fn generate() -> Result<Value, Error> {
    let bytes = generate_object_id();
    // SAFETY: Ruby returned it.
    protect(|protected| raw(protected, &bytes)).map(|object| unsafe { Value::from_raw(object) })
}

/// Stores the class, which Ruby defines.
pub(super) fn register(ruby: &Ruby, class: RClass) -> Result<(), Error> {
    ruby.gc_register_mark_object(class);
    let mut name = 0;
    protect(|protected| {
        name = crate::ruby::raw_objects::name(protected, c"@bytes");
        rb_sys::Qnil as VALUE
    })?;
    let _ = CLASS.set((class.as_raw(), name));
    Ok(())
}
