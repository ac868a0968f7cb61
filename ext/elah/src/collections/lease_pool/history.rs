//! The holder of an item at some time, from the rows in a table.

use elah_lease_pool::{Kind, Step};
use magnus::value::ReprValue;
use magnus::{Error, RString, Ruby, Value};

use super::errors::raised;
use super::number;
use super::rows::Rows;
use super::structs;

/// The holder of an item at the time `at`, or nil. Every process may ask, whichever owns the pool.
pub(super) fn holder(ruby: &Ruby, table: Value, prefix: RString, item: Value, at: i64) -> Result<Value, Error> {
    let item = number(ruby, item)?;
    let rows = Rows::to_read(ruby, table, prefix)?;
    let invalid = |error| raised(ruby, &error);
    let Some((key, snapshot)) = rows.last_snapshot(ruby, Some(at))? else { return Ok(ruby.qnil().as_value()) };
    let from = rows.key().time(&key).map_err(invalid)?;
    let after = rows.key().of(Kind::Step, from);
    let to = rows.key().of(Kind::Step, at.saturating_add(1));
    // At most as many as a pool takes between two snapshots.
    let steps = rows.stored(ruby, &rows.range(Kind::Step, Some(after), Some(to), usize::MAX, false))?;
    let steps = steps.iter().map(|(key, value)| rows.key().time(key).and_then(|at| Step::read(at, value)));
    let Some(held) = elah_lease_pool::holder(&snapshot, steps, item, at).map_err(invalid)? else {
        return Ok(ruby.qnil().as_value());
    };
    let first = rows.key().of(Kind::Step, held.begun);
    let range = store_range(first);
    let row = rows.stored(ruby, &range)?.pop();
    let step = row.as_ref().map(|(_, value)| Step::read(held.begun, value).map_err(invalid)).transpose()?;
    structs::holder(ruby, item, &held, step.map(|step| step.data))
}

/// The one row of a key.
fn store_range(key: Vec<u8>) -> elah_store::Range {
    elah_store::Range { prefix: Some(key), limit: 1, ..elah_store::Range::default() }
}
