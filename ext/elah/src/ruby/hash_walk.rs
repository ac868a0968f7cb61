//! Walks over the pairs of a Ruby Hash, for the writers of JSON and BSON.

use std::ffi::c_int;

use magnus::{Error, Ruby};
use rb_sys::VALUE;

use crate::ruby::errors::catching;
use crate::ruby::raising::{self, protect};

struct Walk<'w, F> {
    ruby: &'w Ruby,
    each: F,
    outcome: Result<(), Error>,
}

/// Calls `each` with the keys and values of a Hash, until it fails. What it raises or panics with becomes the error.
///
/// # Safety
/// `hash` must be a live Hash, and stay one during the walk.
pub(crate) unsafe fn each_pair<F>(ruby: &Ruby, hash: VALUE, each: F) -> Result<(), Error>
where
    F: FnMut(VALUE, VALUE) -> Result<(), Error>,
{
    unsafe extern "C" fn pair<F: FnMut(VALUE, VALUE) -> Result<(), Error>>(key: VALUE, value: VALUE, walk: VALUE) -> c_int {
        // SAFETY: `walk` is the one below, used by nobody else during the walk.
        let walk = unsafe { &mut *(walk as *mut Walk<'_, F>) };
        walk.outcome = catching(walk.ruby, || (walk.each)(key, value));
        let next = if walk.outcome.is_ok() { rb_sys::st_retval::ST_CONTINUE } else { rb_sys::st_retval::ST_STOP };
        next as c_int
    }

    let mut walk = Walk { ruby, each, outcome: Ok(()) };
    let walk_pointer = std::ptr::from_mut(&mut walk) as VALUE;
    protect(|protected| {
        // SAFETY: the caller's promise; `pair` neither raises nor panics across Ruby's frames.
        unsafe { raising::rb_hash_foreach(protected, hash, Some(pair::<F>), walk_pointer) };
        rb_sys::Qnil as VALUE
    })?;
    walk.outcome
}
