//! Results of a lease pool, as instances of the Structs declared in `lib/elah/collections/lease_pool/results.rb`.

use std::sync::OnceLock;

use elah_lease_pool::{Lease, Statistics};
use magnus::value::{Opaque, ReprValue};
use magnus::{Error, IntoValue, RClass, Ruby, Value};

use crate::ruby::raw_objects::filled_struct;
use crate::ruby::utf8;

struct Structs {
    lease: Opaque<RClass>,
    statistics: Opaque<RClass>,
    holder: Opaque<RClass>,
}

static STRUCTS: OnceLock<Structs> = OnceLock::new();

/// Set once by the Ruby half, whose constants keep the classes alive.
pub(super) fn set(ruby: &Ruby, lease: RClass, statistics: RClass, holder: RClass) {
    [lease, statistics, holder].into_iter().for_each(|class| ruby.gc_register_mark_object(class));
    let _ = STRUCTS.set(Structs { lease: lease.into(), statistics: statistics.into(), holder: holder.into() });
}

fn structs(ruby: &Ruby) -> Result<&'static Structs, Error> {
    let missing =
        || Error::new(crate::ruby::errors::class(ruby, "InternalError"), "The Structs of lease pools are not declared.");
    STRUCTS.get().ok_or_else(missing)
}

pub(super) fn lease(ruby: &Ruby, lease: &Lease<'_>) -> Result<Value, Error> {
    let session = session(ruby, lease.session.as_deref())?;
    let values = [
        lease.item.into_value_with(ruby),
        lease.serial.into_value_with(ruby),
        session,
        lease.begun.into_value_with(ruby),
        lease.due.into_value_with(ruby),
        lease.is_changed.into_value_with(ruby),
    ];
    filled_struct(ruby, structs(ruby)?.lease, values)
}

pub(super) fn statistics(ruby: &Ruby, statistics: &Statistics) -> Result<Value, Error> {
    let values = [
        statistics.items.into_value_with(ruby),
        statistics.free.into_value_with(ruby),
        statistics.held.into_value_with(ruby),
        statistics.quarantined.into_value_with(ruby),
        statistics.leaving.into_value_with(ruby),
        statistics.leases.into_value_with(ruby),
        statistics.overflows.into_value_with(ruby),
        statistics.next_free_at.into_value_with(ruby),
    ];
    filled_struct(ruby, structs(ruby)?.statistics, values)
}

pub(super) fn holder(ruby: &Ruby, item: i64, held: &elah_lease_pool::Holder, data: Option<&[u8]>) -> Result<Value, Error> {
    let values = [
        item.into_value_with(ruby),
        held.serial.into_value_with(ruby),
        session(ruby, held.session.as_deref())?,
        held.begun.into_value_with(ruby),
        held.due.into_value_with(ruby),
        session(ruby, data)?,
    ];
    filled_struct(ruby, structs(ruby)?.holder, values)
}

/// Bytes as a frozen String: text if they are UTF-8.
fn session(ruby: &Ruby, bytes: Option<&[u8]>) -> Result<Value, Error> {
    let Some(bytes) = bytes else { return Ok(ruby.qnil().as_value()) };
    let string = match std::str::from_utf8(bytes) {
        Ok(text) => utf8::new_string(bytes, text.is_ascii())?,
        Err(_) => ruby.str_from_slice(bytes),
    };
    string.freeze();
    Ok(string.as_value())
}
