//! The destination of a pool's rows: an index of an entity, with the writes of the call; a list, for the caller to store; a table
//! that is only read; or none.

use std::cell::RefCell;

use elah_lease_pool::{Action, Key, Kind, Lease, LeasePool, Step};
use elah_store::{Entry, Range};
use magnus::value::{Opaque, ReprValue};
use magnus::{Error, RArray, RString, Ruby, TryConvert, Value};

use super::errors::raised;
use crate::entity::shards::index::{self, RubyIndex};
use crate::store::{RubyTable, with_bytes};

/// Bytes of the data of a lease.
const DATA_BYTES_MAX: usize = 64 * 1024;
/// Steps that are read at once.
const PAGE: usize = 1000;

pub(super) struct Rows {
    place: Place,
    key: Key,
}

enum Place {
    Nowhere,
    Index(RubyIndex),
    Table(elah_store::Table, RefCell<Vec<Row>>),
    /// A table of a cluster, which Ruby reads. It is not written: the pool's entity does that. The caller's stack holds it.
    Read(Opaque<Value>),
}

/// A key and a value, or no value for a deletion.
type Row = (Vec<u8>, Option<Vec<u8>>);

impl Rows {
    /// Rows in an `Elah::Entity::Index`, in an `Elah::Store::Table`, or, with nil, none.
    pub(super) fn new(ruby: &Ruby, place: Value, prefix: RString) -> Result<Self, Error> {
        let key = with_bytes(prefix, Key::new).map_err(|error| raised(ruby, &error))?;
        let place = if place.is_nil() {
            Place::Nowhere
        } else if let Ok(table) = <&RubyTable>::try_convert(place) {
            Place::Table(table.table.clone(), RefCell::default())
        } else {
            Place::Index(index::native(ruby, &place)?.clone())
        };
        Ok(Rows { place, key })
    }

    /// Rows to read while the caller's stack holds the table.
    pub(super) fn to_read(ruby: &Ruby, table: Value, prefix: RString) -> Result<Self, Error> {
        let is_native = <&RubyTable>::try_convert(table).is_ok() || index::native(ruby, &table).is_ok();
        if is_native || !table.respond_to("range", false)? {
            return Self::new(ruby, table, prefix);
        }
        let key = with_bytes(prefix, Key::new).map_err(|error| raised(ruby, &error))?;
        Ok(Rows { place: Place::Read(Opaque::from(table)), key })
    }

    pub(super) fn are_kept(&self) -> bool {
        !matches!(self.place, Place::Nowhere)
    }

    /// The pool in the stored rows, and the number of replayed steps; `None` if there is no row.
    pub(super) fn load(&self, ruby: &Ruby, seed: u64) -> Result<Option<(LeasePool, usize)>, Error> {
        let Some((key, snapshot)) = self.last_snapshot(ruby, None)? else { return Ok(None) };
        let invalid = |error| raised(ruby, &error);
        let mut pool = LeasePool::restore(&snapshot, seed).map_err(invalid)?;
        let mut after = self.key.of(Kind::Step, self.key.time(&key).map_err(invalid)?);
        let mut steps = 0;
        loop {
            let page = self.stored(ruby, &self.range(Kind::Step, Some(after), None, PAGE, false))?;
            for (key, value) in &page {
                let step = self.key.time(key).and_then(|at| Step::read(at, value));
                step.and_then(|step| pool.replay(&step)).map_err(invalid)?;
            }
            steps += page.len();
            match page.into_iter().last().filter(|_| steps % PAGE == 0) {
                Some((key, _)) => after = key,
                None => return Ok(Some((pool, steps))),
            }
        }
    }

    /// The last snapshot that is not later than `at`, as key and value.
    pub(super) fn last_snapshot(&self, ruby: &Ruby, at: Option<i64>) -> Result<Option<Entry>, Error> {
        let to = at.map(|at| self.key.of(Kind::Snapshot, at.saturating_add(1)));
        Ok(self.stored(ruby, &self.range(Kind::Snapshot, None, to, 1, true))?.pop())
    }

    pub(super) fn range(&self, kind: Kind, after: Option<Vec<u8>>, to: Option<Vec<u8>>, limit: usize, is_reverse: bool) -> Range {
        Range { prefix: Some(self.key.prefix(kind)), from: None, to, after, limit, is_reverse }
    }

    pub(super) fn key(&self) -> &Key {
        &self.key
    }

    /// Stored rows, without pending ones.
    pub(super) fn stored(&self, ruby: &Ruby, range: &Range) -> Result<Vec<Entry>, Error> {
        match &self.place {
            Place::Nowhere => Ok(Vec::new()),
            Place::Index(index) => index.stored(ruby, range.clone()),
            Place::Table(table, _) => table.range(range).map_err(|error| crate::store::raised(ruby, &error)),
            Place::Read(table) => read(ruby, ruby.get_inner(*table), range),
        }
    }

    /// Writes the row of a step.
    pub(super) fn note(&self, ruby: &Ruby, at: i64, action: Action, lease: &Lease<'_>, data: &[u8]) -> Result<(), Error> {
        let value = |row: &mut Vec<u8>| action.write(lease, data, row);
        self.put(ruby, Kind::Step, at, value)
    }

    /// Writes a snapshot, and deletes up to twice `steps` rows of each kind that are older than the last snapshot before `since`.
    pub(super) fn keep(&self, ruby: &Ruby, at: i64, snapshot: Vec<u8>, since: i64, steps: usize) -> Result<(), Error> {
        self.put(ruby, Kind::Snapshot, at, |row| row.extend_from_slice(&snapshot))?;
        let Some((key, _)) = self.last_snapshot(ruby, Some(since))? else { return Ok(()) };
        let before = self.key.time(&key).map_err(|error| raised(ruby, &error))?;
        for kind in [Kind::Step, Kind::Snapshot] {
            for (key, _) in self.stored(ruby, &self.range(kind, None, Some(self.key.of(kind, before)), 2 * steps, false))? {
                self.delete(ruby, key)?;
            }
        }
        Ok(())
    }

    /// The rows to store, in order.
    pub(super) fn take(&self, ruby: &Ruby) -> Result<RArray, Error> {
        let rows = match &self.place {
            Place::Table(_, rows) => rows.take(),
            Place::Nowhere | Place::Index(_) | Place::Read(_) => Vec::new(),
        };
        let all = ruby.ary_new_capa(rows.len());
        for (key, value) in rows {
            let pair = ruby.ary_new_capa(2);
            pair.push(ruby.str_from_slice(&key))?;
            pair.push(value.map(|value| ruby.str_from_slice(&value)))?;
            all.push(pair)?;
        }
        Ok(all)
    }

    fn put(&self, ruby: &Ruby, kind: Kind, at: i64, value: impl FnOnce(&mut Vec<u8>)) -> Result<(), Error> {
        match &self.place {
            Place::Nowhere => Ok(()),
            Place::Read(_) => Err(read_only(ruby)),
            Place::Index(index) => {
                let key = |row: &mut Vec<u8>| {
                    self.key.write(kind, at, row);
                    Ok::<(), elah_store::Error>(())
                };
                let value = |row: &mut Vec<u8>| {
                    value(row);
                    Ok(())
                };
                index.put_written(key, value).map_err(|error| crate::store::raised(ruby, &error))
            }
            Place::Table(_, rows) => {
                let mut row = Vec::new();
                value(&mut row);
                rows.borrow_mut().push((self.key.of(kind, at), Some(row)));
                Ok(())
            }
        }
    }

    fn delete(&self, ruby: &Ruby, key: Vec<u8>) -> Result<(), Error> {
        match &self.place {
            Place::Nowhere => Ok(()),
            Place::Read(_) => Err(read_only(ruby)),
            Place::Index(index) => index.delete_key(&key).map_err(|error| crate::store::raised(ruby, &error)),
            Place::Table(_, rows) => {
                rows.borrow_mut().push((key, None));
                Ok(())
            }
        }
    }
}

/// Reads rows by `Elah::Store::Table#range`.
fn read(ruby: &Ruby, table: Value, range: &Range) -> Result<Vec<Entry>, Error> {
    let end = |key: &Option<Vec<u8>>| key.as_ref().map(|key| ruby.str_from_slice(key));
    let conditions = magnus::kwargs!(
        ruby,
        "prefix" => end(&range.prefix),
        "from" => end(&range.from),
        "to" => end(&range.to),
        "after" => end(&range.after),
        "limit" => i64::try_from(range.limit).unwrap_or(i64::MAX),
        "reverse" => range.is_reverse
    );
    let rows: RArray = table.funcall("range", (conditions,))?;
    let entry = |row| <(RString, RString)>::try_convert(row).map(|(key, value)| (to_bytes(key), to_bytes(value)));
    rows.into_iter().map(entry).collect()
}

fn to_bytes(text: RString) -> Vec<u8> {
    with_bytes(text, <[u8]>::to_vec)
}

fn read_only(ruby: &Ruby) -> Error {
    Error::new(ruby.exception_type_error(), "A table of a cluster is only read: the pool's entity writes the rows.")
}

/// Refuses data that is too long to be kept with a lease.
pub(super) fn check_data(ruby: &Ruby, data: &[u8]) -> Result<(), Error> {
    if data.len() <= DATA_BYTES_MAX {
        return Ok(());
    }
    let message = format!("The data of a lease has at most {DATA_BYTES_MAX} bytes, not {}.", data.len());
    Err(Error::new(crate::ruby::errors::class(ruby, "LeasePool::InvalidData"), message))
}
