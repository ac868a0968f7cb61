//! `Elah::PipeRoom`: asks whether a pipe takes more bytes, in the thread itself. To Ruby's IO the wait of a fiber would be one of the loop.

use std::time::Duration;

use elah_http::peers::{await_writable, pipe_room};
use magnus::{Error, Module, Object, RModule, Ruby, function};

use crate::ruby::gvl::without_gvl;

/// Waits for up to so many seconds.
fn wait(ruby: &Ruby, descriptor: i32, seconds: f64) -> Result<bool, Error> {
    let within = Duration::try_from_secs_f64(seconds).unwrap_or_default();
    if await_writable(descriptor, Duration::ZERO) {
        return Ok(true);
    }
    Ok(without_gvl(ruby, || await_writable(descriptor, within), &|| {})?.unwrap_or(false))
}

pub(crate) fn init(elah: RModule) -> Result<(), Error> {
    let room = elah.define_module("PipeRoom")?;
    room.define_singleton_method("bytes", function!(pipe_room, 1))?;
    room.define_singleton_method("wait", function!(wait, 2))
}
