//! The one place that releases Ruby's global lock (GVL). Whoever waits for tokio or for another thread does it through `without_gvl`.

use std::any::Any;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};

use magnus::{Error, Ruby};

struct Call<F, R> {
    work: Option<F>,
    outcome: Option<Result<R, Box<dyn Any + Send>>>,
}

/// Runs `work` without the GVL. `unblock` is called from another thread when Ruby wants this one back (a signal, `Thread#kill`,
/// `Timeout`); it must make `work` return soon and must not touch Ruby.
///
/// Returns `None` when an interrupt was pending and `work` never ran. Pending interrupts are raised here, after every Rust frame
/// below has been left in order: `rb_thread_call_without_gvl2` itself never raises.
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
    // SAFETY: both callbacks get pointers to values that live until this call returns; neither lets a panic cross.
    unsafe {
        rb_sys::rb_thread_call_without_gvl2(
            Some(run::<R, F>),
            std::ptr::from_mut(&mut call).cast(),
            Some(unblock_with::<U>),
            std::ptr::from_ref(unblock).cast_mut().cast(),
        );
    }
    check_interrupts()?;
    match call.outcome {
        None => Ok(None),
        Some(Ok(result)) => Ok(Some(result)),
        Some(Err(panic)) => Err(panicked(ruby, &*panic)),
    }
}

/// Lets Ruby run trap handlers and raise what another thread has sent to this one.
fn check_interrupts() -> Result<(), Error> {
    magnus::rb_sys::protect(|| {
        // SAFETY: called with the GVL held; `protect` catches what it raises.
        unsafe { rb_sys::rb_thread_check_ints() };
        rb_sys::Qnil as rb_sys::VALUE
    })
    .map(|_| ())
}

/// A panic as a Ruby error: the request that caused it fails, the worker goes on.
pub(crate) fn panicked(ruby: &Ruby, panic: &(dyn Any + Send)) -> Error {
    let message = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned());
    Error::new(crate::errors::class(ruby, "InternalError"), format!("Elah's core panicked: {message}. This is a bug in Elah."))
}
