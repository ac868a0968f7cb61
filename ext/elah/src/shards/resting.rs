//! `Elah::Shards::Resting`: the native part of `Elah::Entity::Region` that finds an entity which is in memory and which nobody calls,
//! without a frame of Ruby.

use std::sync::OnceLock;

use magnus::rb_sys::{AsRawValue, FromRawValue, protect};
use magnus::{Error, Module, RModule, Value, method};
use rb_sys::VALUE;

use super::state::{CLASS, RubyState};
use crate::raw_objects::{call, lookup, names, variable};

const NIL: VALUE = rb_sys::Qnil as VALUE;

static NAMES: OnceLock<Names> = OnceLock::new();

names! {
    thread: c"@thread", placement: c"@placement", version: c"@version", here: c"@here", is_durable: c"@is_durable",
    runner: c"@runner", entity: c"@entity", state: c"@state", current_version: c"version",
}

/// The entity of a key while nobody calls it and all that it wrote is as safe as its answers have to be, else nil.
fn at_rest(region: Value, key: Value) -> Result<Value, Error> {
    find(region, key, true)
}

/// The same; `is_to_be_safe` says whether what it wrote must be as safe as answers have to be.
pub(crate) fn find(region: Value, key: Value, is_to_be_safe: bool) -> Result<Value, Error> {
    let found = protect(|| {
        // SAFETY: protected; the module and the responders of entities are for `Elah::Entity::Region` alone.
        unsafe { resting(region.as_raw(), key.as_raw(), is_to_be_safe) }.unwrap_or(NIL)
    })?;
    // SAFETY: an activation of the region holds it.
    Ok(unsafe { Value::from_raw(found) })
}

/// # Safety
/// `region` is an `Elah::Entity::Region`; under `protect`.
unsafe fn resting(region: VALUE, key: VALUE, is_to_be_safe: bool) -> Option<VALUE> {
    // SAFETY: the caller's promise; what is read is held by the region.
    unsafe {
        let names = NAMES.get_or_init(|| Names::intern());
        let placement = variable(region, names.placement);
        // Another thread, no call yet, or a board that has changed: a call sees to it.
        if variable(region, names.thread) != rb_sys::rb_thread_current()
            || placement == NIL
            || variable(region, names.version) != call(placement, names.current_version, &[])
        {
            return None;
        }
        let activation = lookup(variable(region, names.here), key);
        if activation == NIL || variable(activation, names.runner) != NIL {
            return None;
        }
        let entity = variable(activation, names.entity);
        let state = Value::from_raw(variable(activation, names.state));
        let waits = is_to_be_safe && variable(region, names.is_durable) == rb_sys::Qtrue as VALUE;
        let rests = CLASS.native::<RubyState>(&state).is_some_and(|state| state.is_whole(waits));
        (entity != NIL && rests).then_some(entity)
    }
}

pub(super) fn init(shards: RModule) -> Result<(), Error> {
    let module = shards.define_module("Resting")?;
    module.define_method("at_rest", method!(at_rest, 1))
}
