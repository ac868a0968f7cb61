//! `Elah::StopSignals`: blocks the signals that end a server, in this thread. Linux keeps the mask, and what is pending, when the process executes
//! another image, where the start of Ruby would lose a signal or end by it.

use std::mem::MaybeUninit;
use std::ptr;

use magnus::{Error, Module, Object, RModule, function};

const SIGNALS: [libc::c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGQUIT];

fn block() {
    change(libc::SIG_BLOCK);
}

fn unblock() {
    change(libc::SIG_UNBLOCK);
}

fn change(how: libc::c_int) {
    let mut set = MaybeUninit::uninit();
    // SAFETY: sigemptyset initializes the set, and none of the calls keeps a pointer to it. They fail for invalid arguments only.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for signal in SIGNALS {
            libc::sigaddset(set.as_mut_ptr(), signal);
        }
        libc::pthread_sigmask(how, set.as_ptr(), ptr::null_mut());
    }
}

pub(crate) fn init(elah: RModule) -> Result<(), Error> {
    let signals = elah.define_module("StopSignals")?;
    signals.define_singleton_method("block", function!(block, 0))?;
    signals.define_singleton_method("unblock", function!(unblock, 0))
}
