//! `Elah::Memory`: returns free memory of the allocators to the system.

use magnus::{Error, Module, Object, RModule, function};

unsafe extern "C" {
    /// mimalloc's, which this library allocates with: returns its free pages to the system.
    fn mi_collect(force: bool);
    /// glibc's, which Ruby allocates with.
    #[cfg(target_env = "gnu")]
    fn malloc_trim(pad: usize) -> i32;
}

/// Takes milliseconds if there is much to return.
fn release() {
    // SAFETY: both may be called at any time and by any thread, and take no pointers.
    unsafe {
        mi_collect(true);
        #[cfg(target_env = "gnu")]
        malloc_trim(0);
    }
}

pub(crate) fn init(elah: RModule) -> Result<(), Error> {
    elah.define_module("Memory")?.define_singleton_method("release", function!(release, 0))
}
