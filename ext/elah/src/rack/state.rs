//! The state of a request for Rack.

use std::cell::Cell;

use magnus::rb_sys::FromRawValue;
use magnus::{Value, gc};
use rb_sys::VALUE;

const NIL: VALUE = rb_sys::Qnil as VALUE;

/// The state of a request for Rack. Each value is nil until it is set.
#[derive(Debug)]
pub(crate) struct RackState {
    pub(crate) env: Cell<VALUE>,
    /// The Array under `rack.response_finished`.
    pub(crate) finishers: Cell<VALUE>,
    /// The IO in `rack.input`, if it must be closed.
    pub(crate) spool: Cell<VALUE>,
}

impl RackState {
    pub(crate) fn new() -> Self {
        RackState { env: Cell::new(NIL), finishers: Cell::new(NIL), spool: Cell::new(NIL) }
    }

    pub(crate) fn mark(&self, marker: &gc::Marker) {
        for value in [&self.env, &self.finishers, &self.spool] {
            marker.mark(alive(value.get()));
        }
    }

    /// True if nothing remains to be done after the response.
    pub(crate) fn ends_with_response(&self) -> bool {
        let finishers = magnus::RArray::from_value(alive(self.finishers.get()));
        self.spool.get() == NIL && finishers.is_none_or(|finishers| finishers.is_empty())
    }
}

/// A value from its raw form, which its holder keeps alive.
pub(crate) fn alive(value: VALUE) -> Value {
    // SAFETY: every raw value that this is called with is marked by the object that holds it.
    unsafe { Value::from_raw(value) }
}
