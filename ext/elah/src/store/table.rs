//! `Elah::Store::Table`: reads that never suspend, and writes that suspend the fiber until they are on disk.

use bytes::Bytes;
use elah_http::response::LONG_BODY_BYTES;
use elah_store::{Entry, Range, Table};
use magnus::value::ReprValue;
use magnus::{Error, Module, RArray, RClass, RString, Ruby, Value, method};

use super::errors::raised;
use super::{integer, read_string, to_bytes, ttl, with_bytes};
use crate::concurrency::wait::suspend;
use crate::ruby::native_class;
use crate::ruby::receiver::{ExactClass, Receiver};
use crate::server::request::{self, Request};

/// `Elah::Store::Table`, to recognise its instances quickly.
pub(super) static CLASS: ExactClass = ExactClass::new();

#[magnus::wrap(class = "Elah::Store::Table", size)]
pub(crate) struct RubyTable {
    pub(crate) table: Table,
}

impl RubyTable {
    pub(super) fn new(table: Table) -> Self {
        RubyTable { table }
    }

    fn name(&self) -> &str {
        self.table.name()
    }

    fn get(ruby: &Ruby, table: Receiver<Self>, key: RString) -> Result<Value, Error> {
        with_bytes(key, |key| read_string(ruby, |buffer| table.table.get(key, buffer))).map_err(|error| raised(ruby, &error))
    }

    fn size(ruby: &Ruby, table: &Self) -> Result<u64, Error> {
        table.table.size().map_err(|error| raised(ruby, &error))
    }

    fn at(ruby: &Ruby, table: Receiver<Self>, position: Value) -> Result<RArray, Error> {
        let position = integer(ruby, "position", position)?;
        let mut size = 0;
        let value = read_string(ruby, |buffer| {
            let (entries, is_there) = table.table.at(position, buffer)?;
            size = entries;
            Ok(is_there)
        })
        .map_err(|error| raised(ruby, &error))?;
        Ok(ruby.ary_new_from_values(&[ruby.into_value(size), value]))
    }

    /// Responds to `request` with the value at a position. Returns nil and sends nothing if there is no value, or the table has
    /// another size. The bytes go from the store into the response without a String in between.
    fn respond_at(
        ruby: &Ruby,
        table: Receiver<Self>,
        request: Value,
        status: u16,
        headers: Value,
        position: Value,
        size: Value,
    ) -> Result<Value, Error> {
        let position = integer(ruby, "position", position)?;
        let size: u64 = integer(ruby, "size", size)?;
        let mut body = Vec::new();
        let (entries, is_there) = table.table.at(position, &mut body).map_err(|error| raised(ruby, &error))?;
        if !is_there || entries != size {
            return Ok(ruby.qnil().as_value());
        }
        match request::CLASS.native::<Request>(&request).filter(|_| body.len() <= LONG_BODY_BYTES) {
            Some(request) => Ok(ruby.into_value(request.respond_whole(ruby, status, headers, Bytes::from(body))?)),
            None => request.funcall("respond", (status, headers, ruby.str_from_slice(&body))),
        }
    }

    fn range(ruby: &Ruby, table: &Self, conditions: RArray, limit: usize, is_reverse: bool) -> Result<RArray, Error> {
        let range = range(conditions, limit, is_reverse)?;
        entries(ruby, table.table.range(&range).map_err(|error| raised(ruby, &error))?)
    }

    fn put(ruby: &Ruby, table: &Self, key: RString, value: RString, ttl_ms: Option<u64>, only_new: bool) -> Result<bool, Error> {
        let (key, value) = (to_bytes(key), to_bytes(value));
        let put = suspend(ruby, |completer| table.table.put(key, value, ttl(ttl_ms), only_new, |put| completer.complete(put)))?;
        put.map_err(|error| raised(ruby, &error))
    }

    fn delete(ruby: &Ruby, table: &Self, key: RString) -> Result<bool, Error> {
        let key = to_bytes(key);
        let deleted = suspend(ruby, |completer| table.table.delete(key, |deleted| completer.complete(deleted)))?;
        deleted.map_err(|error| raised(ruby, &error))
    }
}

/// A range from `[prefix, from, to, after]`, each a String or nil.
pub(crate) fn range(conditions: RArray, limit: usize, is_reverse: bool) -> Result<Range, Error> {
    let condition = |at: isize| conditions.entry::<Option<RString>>(at).map(|string| string.map(to_bytes));
    Ok(Range { prefix: condition(0)?, from: condition(1)?, to: condition(2)?, after: condition(3)?, limit, is_reverse })
}

/// `[[key, value], ...]` as binary Strings.
pub(crate) fn entries(ruby: &Ruby, entries: Vec<Entry>) -> Result<RArray, Error> {
    let array = ruby.ary_new_capa(entries.len());
    for (key, value) in entries {
        let pair = ruby.ary_new_capa(2);
        pair.push(ruby.str_from_slice(&key))?;
        pair.push(ruby.str_from_slice(&value))?;
        array.push(pair)?;
    }
    Ok(array)
}

pub(super) fn init(ruby: &Ruby, store: RClass) -> Result<(), Error> {
    let class = native_class::define::<RubyTable>(ruby, store, "Table")?;
    CLASS.set(ruby, class);
    class.define_method("name", method!(RubyTable::name, 0))?;
    class.define_method("get", method!(RubyTable::get, 1))?;
    class.define_method("at", method!(RubyTable::at, 1))?;
    class.define_method("respond_at", method!(RubyTable::respond_at, 5))?;
    class.define_method("size", method!(RubyTable::size, 0))?;
    class.define_method("range_native", method!(RubyTable::range, 3))?;
    class.define_method("put_native", method!(RubyTable::put, 4))?;
    class.define_method("delete", method!(RubyTable::delete, 1))?;
    Ok(())
}
