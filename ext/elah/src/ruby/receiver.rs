//! The native part of a Ruby object, without magnus's check, which sets a jump point for each argument. With five arguments a
//! request, that is a twentieth of its CPU time.

use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::OnceLock;

use magnus::rb_sys::AsRawValue;
use magnus::{Error, RClass, Ruby, TryConvert, TypedData, Value};

/// The receiver of a method that is defined on `T`'s own class, and nowhere else. Use it for `self`, never for an argument.
pub(crate) struct Receiver<T> {
    native: *const T,
    of: PhantomData<T>,
}

impl<T: TypedData> TryConvert for Receiver<T> {
    fn try_convert(value: Value) -> Result<Self, Error> {
        // SAFETY: Ruby calls a method of a class on its instances alone (`bind` checks too), and these classes make instances only
        // through magnus, as they have no allocator.
        Ok(Receiver { native: unsafe { native_part(value) }, of: PhantomData })
    }
}

impl<T> Deref for Receiver<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the object is the receiver of the call that is running, so it lives; its native part is never moved.
        unsafe { &*self.native }
    }
}

/// A class whose direct instances are recognised by one comparison.
pub(crate) struct ExactClass {
    class: OnceLock<rb_sys::VALUE>,
}

impl ExactClass {
    pub(crate) const fn new() -> Self {
        ExactClass { class: OnceLock::new() }
    }

    /// Stores the class, which a constant keeps alive and at its address.
    pub(crate) fn set(&self, ruby: &Ruby, class: RClass) {
        ruby.gc_register_mark_object(class);
        let _ = self.class.set(class.as_raw());
    }

    /// The native part of `value` if it is a direct instance; `T` must be the type of the class passed to `set`.
    pub(crate) fn native<'a, T: TypedData>(&self, value: &'a Value) -> Option<&'a T> {
        let raw = value.as_raw();
        if rb_sys::SPECIAL_CONST_P(raw) {
            return None;
        }
        // SAFETY: what is no special constant is a pointer to an object, and every object begins with its `RBasic`.
        let class = unsafe { (*(raw as *const rb_sys::RBasic)).klass };
        let is_direct = self.class.get() == Some(&class);
        // SAFETY: direct instances of the class hold a `T`, and `value` keeps this one alive.
        is_direct.then(|| unsafe { &*native_part(*value) })
    }
}

/// # Safety
/// `value` must be an object that magnus made for a `T`.
unsafe fn native_part<T>(value: Value) -> *const T {
    // SAFETY: the caller's promise: `value` is a typed data object, and its data pointer leads to a `T`.
    unsafe { rb_sys::macros::RTYPEDDATA_GET_DATA(value.as_raw()) }.cast_const().cast()
}
