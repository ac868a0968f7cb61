//! The state of a request for Rack.

use std::cell::Cell;

use magnus::rb_sys::FromRawValue;
use magnus::{Value, gc};
use rb_sys::VALUE;

const NIL: VALUE = rb_sys::Qnil as VALUE;

/// The state of a request for Rack. Each value is nil until it is set.
#[derive(Debug)]
pub(crate) struct RackState {
    env: Cell<VALUE>,
    finishers: Cell<VALUE>,
}

impl RackState {
    pub(crate) fn new() -> Self {
        RackState { env: Cell::new(NIL), finishers: Cell::new(NIL) }
    }

    pub(crate) fn env(&self) -> Value {
        alive(self.env.get())
    }

    /// The Array under `rack.response_finished`.
    pub(crate) fn finishers(&self) -> Value {
        alive(self.finishers.get())
    }

    /// # Safety
    /// As for `keep`.
    pub(crate) unsafe fn keep_env(&self, owner: VALUE, env: VALUE) {
        // SAFETY: the caller's promise.
        unsafe { keep(owner, &self.env, env) };
    }

    /// # Safety
    /// As for `keep`.
    pub(crate) unsafe fn keep_finishers(&self, owner: VALUE, finishers: VALUE) {
        // SAFETY: the caller's promise.
        unsafe { keep(owner, &self.finishers, finishers) };
    }

    pub(crate) fn mark(&self, marker: &gc::Marker) {
        for value in [&self.env, &self.finishers] {
            marker.mark(alive(value.get()));
        }
    }

    /// True if nothing remains to be done after the response.
    pub(crate) fn ends_with_response(&self) -> bool {
        let finishers = magnus::RArray::from_value(self.finishers());
        finishers.is_none_or(|finishers| finishers.is_empty())
    }
}

/// Writes a field of a request and notifies the garbage collector. A request has write barriers, so a waiting one is not
/// marked again by every minor collection and does not bring the next major one nearer.
///
/// # Safety
/// `owner` is the live request that has the field, and `value` a live object.
unsafe fn keep(owner: VALUE, field: &Cell<VALUE>, value: VALUE) {
    field.set(value);
    // SAFETY: the caller's promise; it neither raises nor runs Ruby code.
    unsafe { rb_sys::rb_gc_writebarrier(owner, value) };
}

/// A value from its raw form, which its holder keeps alive.
pub(crate) fn alive(value: VALUE) -> Value {
    // SAFETY: every raw value that this is called with is marked by the object that holds it.
    unsafe { Value::from_raw(value) }
}
