//! The one place that releases Ruby's global lock (GVL). Every wait for tokio or for another thread uses `without_gvl`.

use std::any::Any;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};

use magnus::{Error, Ruby};

use crate::ruby::errors::panicked;
use crate::ruby::raising::{self, protect};

struct Call<F, R> {
    work: Option<F>,
    outcome: Option<Result<R, Box<dyn Any + Send>>>,
}

/// Runs `work` without the GVL. `unblock` is called from another thread when Ruby wants this one back (a signal, `Thread#kill`,
/// `Timeout`); it must make `work` return soon and must not touch Ruby.
///
/// Returns `None` when an interrupt was pending and `work` never ran. Lets Ruby run trap handlers, and raise what another thread has
/// sent to this one, after every Rust frame below has been left in order. `rb_thread_call_without_gvl2` may raise too, whatever its
/// documentation says: Ruby 3.1 gives the only thread a helper that calls `unblock`, and waits for its end.
pub(crate) fn without_gvl<R, F, U>(ruby: &Ruby, work: F, unblock: &U) -> Result<Option<R>, Error>
where
    F: FnOnce() -> R,
    U: Fn() + Sync,
{
    unsafe extern "C" fn run<R, F: FnOnce() -> R>(call: *mut c_void) -> *mut c_void {
        // SAFETY: `call` is the `Call` below, borrowed by nobody else while this runs.
        let call = unsafe { &mut *call.cast::<Call<F, R>>() };
        if let Some(work) = call.work.take() {
            call.outcome = Some(catch_unwind(AssertUnwindSafe(work)));
        }
        std::ptr::null_mut()
    }
    unsafe extern "C" fn unblock_with<U: Fn() + Sync>(unblock: *mut c_void) {
        // SAFETY: `unblock` outlives the call; `U: Sync` allows another thread to call it.
        let unblock = unsafe { &*unblock.cast::<U>() };
        let _ = catch_unwind(AssertUnwindSafe(unblock));
    }

    let mut call = Call { work: Some(work), outcome: None };
    let (called, unblock) = (std::ptr::from_mut(&mut call).cast(), std::ptr::from_ref(unblock).cast_mut().cast());
    protect(|protected| {
        // SAFETY: both callbacks get pointers to values that live until this returns; neither lets a panic cross, and both have returned
        // when something is raised.
        unsafe {
            raising::rb_thread_call_without_gvl2(protected, Some(run::<R, F>), called, Some(unblock_with::<U>), unblock);
            raising::rb_thread_check_ints(protected);
        }
        rb_sys::Qnil as rb_sys::VALUE
    })?;
    match call.outcome {
        None => Ok(None),
        Some(Ok(result)) => Ok(Some(result)),
        Some(Err(panic)) => Err(panicked(ruby, &*panic)),
    }
}

/// Whether this is the thread in which Ruby runs trap handlers and raises what signals raise.
pub(crate) fn is_main_thread() -> bool {
    // SAFETY: both only return a thread that Ruby holds; called with the GVL held.
    unsafe { rb_sys::rb_thread_current() == rb_sys::rb_thread_main() }
}
