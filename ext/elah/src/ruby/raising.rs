//! Functions of Ruby's C API that may raise, and the proof that somebody catches it.
//!
//! A raise is a jump: it skips the drops of the Rust frames that it leaves. So each of these functions asks for a [`Protected`], and [`protect`]
//! alone hands one out. Nothing between `protect` and the call may own what has to be dropped.

use std::ffi::{c_char, c_int, c_long, c_void};
use std::marker::PhantomData;

use magnus::Error;
use rb_sys::{ID, VALUE};

/// The proof that whoever has it runs inside [`protect`]. Takes no memory, and cannot leave the closure that got it.
#[derive(Clone, Copy)]
pub(crate) struct Protected<'p>(PhantomData<*mut &'p ()>);

/// Runs `work`, and returns what Ruby code or functions in it raise as an error.
pub(crate) fn protect(work: impl for<'p> FnOnce(Protected<'p>) -> VALUE) -> Result<VALUE, Error> {
    magnus::rb_sys::protect(|| work(Protected(PhantomData)))
}

macro_rules! raising {
    ($($name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?;)*) => { $(
        /// # Safety
        /// That of the function in Ruby's C API, but for the raise.
        #[inline]
        pub(crate) unsafe fn $name(_: Protected<'_>, $($argument: $type),*) $(-> $result)? {
            // SAFETY: the caller's promise; the proof says that a raise is caught.
            unsafe { rb_sys::$name($($argument),*) }
        }
    )* };
}

raising! {
    rb_any_to_s(object: VALUE) -> VALUE;
    rb_ary_cat(array: VALUE, values: *const VALUE, count: c_long) -> VALUE;
    rb_ary_entry(array: VALUE, index: c_long) -> VALUE;
    rb_ary_new() -> VALUE;
    rb_ary_new_capa(capacity: c_long) -> VALUE;
    rb_ary_new_from_values(count: c_long, values: *const VALUE) -> VALUE;
    rb_ary_push(array: VALUE, value: VALUE) -> VALUE;
    rb_ary_store(array: VALUE, index: c_long, value: VALUE);
    rb_big2str(number: VALUE, base: c_int) -> VALUE;
    rb_enc_interned_str(text: *const c_char, length: c_long, encoding: *mut rb_sys::rb_encoding) -> VALUE;
    rb_funcallv(receiver: VALUE, name: ID, count: c_int, arguments: *const VALUE) -> VALUE;
    rb_hash_aset(hash: VALUE, key: VALUE, value: VALUE) -> VALUE;
    rb_hash_bulk_insert(count: c_long, pairs: *const VALUE, hash: VALUE);
    rb_hash_dup(hash: VALUE) -> VALUE;
    rb_hash_foreach(hash: VALUE, each: Option<unsafe extern "C" fn(VALUE, VALUE, VALUE) -> c_int>, argument: VALUE);
    rb_hash_new() -> VALUE;
    rb_intern(name: *const c_char) -> ID;
    rb_marshal_dump(value: VALUE, io: VALUE) -> VALUE;
    rb_marshal_load(bytes: VALUE) -> VALUE;
    rb_method_boundp(class: VALUE, name: ID, flags: c_int) -> c_int;
    rb_obj_freeze(object: VALUE) -> VALUE;
    rb_obj_method(object: VALUE, name: VALUE) -> VALUE;
    rb_obj_method_arity(object: VALUE, name: ID) -> c_int;
    rb_str_cat(string: VALUE, bytes: *const c_char, length: c_long) -> VALUE;
    rb_str_dup(string: VALUE) -> VALUE;
    rb_str_encode(string: VALUE, encoding: VALUE, flags: c_int, options: VALUE) -> VALUE;
    rb_str_intern(string: VALUE) -> VALUE;
    rb_str_new(bytes: *const c_char, length: c_long) -> VALUE;
    rb_str_new_frozen(string: VALUE) -> VALUE;
    rb_str_to_interned_str(string: VALUE) -> VALUE;
    rb_str_to_inum(string: VALUE, base: c_int, is_checked: c_int) -> VALUE;
    rb_struct_alloc_noinit(class: VALUE) -> VALUE;
    rb_struct_aset(object: VALUE, index: VALUE, value: VALUE) -> VALUE;
    rb_thread_call_without_gvl2(
        work: Option<unsafe extern "C" fn(*mut c_void) -> *mut c_void>,
        argument: *mut c_void,
        unblock: Option<unsafe extern "C" fn(*mut c_void)>,
        unblocked: *mut c_void
    ) -> *mut c_void;
    rb_thread_check_ints();
    rb_utf8_str_new(bytes: *const c_char, length: c_long) -> VALUE;
}

// What only the client of MongoDB calls.
#[cfg(feature = "mongo")]
raising! {
    rb_float_new(number: f64) -> VALUE;
    rb_ivar_get(object: VALUE, name: ID) -> VALUE;
    rb_ivar_set(object: VALUE, name: ID, value: VALUE) -> VALUE;
    rb_ll2inum(number: std::ffi::c_longlong) -> VALUE;
    rb_obj_alloc(class: VALUE) -> VALUE;
    rb_reg_new_str(source: VALUE, options: c_int) -> VALUE;
    rb_require(feature: *const c_char) -> VALUE;
    rb_time_timespec(time: VALUE) -> rb_sys::timespec;
    rb_time_timespec_new(time: *const rb_sys::timespec, offset: c_int) -> VALUE;
    rb_ull2inum(number: std::ffi::c_ulonglong) -> VALUE;
}
