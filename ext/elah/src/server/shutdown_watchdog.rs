//! `Elah::ShutdownWatchdog`: a thread without Ruby's lock that ends the process if its server does not.

use std::time::Duration;

use elah_loop::shutdown_watchdog::{self, Settings};
use magnus::{Error, Module, Object, RModule, Ruby, function};

use crate::ruby::errors;

fn start(ruby: &Ruby, drain_seconds: f64, grace_seconds: f64, status: i32, is_worker: bool) -> Result<(), Error> {
    let seconds = |seconds: f64| Duration::try_from_secs_f64(seconds).unwrap_or_default();
    let settings = Settings { drain: seconds(drain_seconds), grace: seconds(grace_seconds), status, is_worker };
    shutdown_watchdog::start(settings).map_err(|cause| {
        Error::new(errors::class(ruby, "Error"), format!("The shutdown watchdog could not be started: {cause}."))
    })
}

fn note_drain() {
    shutdown_watchdog::note_drain();
}

fn stop() {
    shutdown_watchdog::stop();
}

pub(crate) fn init(elah: RModule) -> Result<(), Error> {
    let watchdog = elah.define_module("ShutdownWatchdog")?;
    watchdog.define_singleton_method("start", function!(start, 4))?;
    watchdog.define_singleton_method("note_drain", function!(note_drain, 0))?;
    watchdog.define_singleton_method("stop", function!(stop, 0))
}
