//! An optimistic transaction: it reads one snapshot and collects its writes; the writer checks at the commit that the reads still
//! hold.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use super::bounds::OPERATIONS_MAX;
use super::engine::Engine;
use super::env::{Snapshot, Tree};
use super::error::Error;
use super::layout::{FullKey, check_key, check_value, decode_count};
use super::merge::{Keys, Merge, Pending};
use super::queue::{Done, Job};
use super::range::{Entry, Range, walk};
use super::reservation::Reservation;
use super::session::live;
use super::shared::Handle;
use super::table::TableName;
use super::write::{Changes, Read, Work, Write};
use super::{Counter, Table};

/// A transaction's change of a counter's key: an optional reset, then an optional addition. Adding 0 creates the key.
#[derive(Clone, Copy, Debug, Default)]
struct CountChange {
    is_reset: bool,
    added: Option<i64>,
}

/// Changes by the table's name.
type ByTable<T> = BTreeMap<String, (Arc<TableName>, Keys<T>)>;

/// See the module. It holds a reader slot until it is committed or dropped, so it should not wait for anything else.
pub struct Transaction {
    handle: Arc<Handle>,
    engine: Arc<Engine>,
    snapshot: Snapshot,
    now_ms: u64,
    reads: Vec<Read>,
    puts: ByTable<Pending>,
    counts: ByTable<CountChange>,
    /// Ends with the transaction.
    reservation: Option<Reservation>,
}

impl Transaction {
    pub(super) fn begin(engine: &Arc<Engine>, handle: &Arc<Handle>, reservation: Option<Reservation>) -> Result<Self, Error> {
        let snapshot = engine.snapshot()?;
        let now_ms = engine.options.clock.now_ms();
        Ok(Transaction {
            handle: Arc::clone(handle),
            engine: Arc::clone(engine),
            snapshot,
            now_ms,
            reads: Vec::new(),
            puts: BTreeMap::new(),
            counts: BTreeMap::new(),
            reservation,
        })
    }

    fn tree(&self) -> Tree {
        self.engine.tree
    }

    fn own<'a>(&self, handle: &Handle, name: &'a Arc<TableName>) -> Result<&'a Arc<TableName>, Error> {
        if !self.handle.shares_opening_with(handle) {
            return Err(Error::ForeignTable { name: name.name.clone() });
        }
        Ok(name)
    }

    /// The value of `key` in this transaction.
    pub fn get(&mut self, table: &Table, key: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        let table = self.own(&table.handle, &table.name)?;
        check_key(key)?;
        if let Some(pending) = self.puts.get(&table.name).and_then(|(_, keys)| keys.get(key)) {
            return Ok(pending.value.clone());
        }
        self.read(table, key)
    }

    /// Reads the snapshot and records the result.
    fn read(&mut self, table: &Arc<TableName>, key: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        let seen = match table.id(self.engine.opening, self.tree(), &self.snapshot)? {
            None => None,
            Some(id) => {
                let stored = self.tree().get(&self.snapshot, FullKey::new(id, key)?.as_bytes())?;
                stored.map(|stored| live(table.kind, stored, self.now_ms)).transpose()?.flatten().map(<[u8]>::to_vec)
            }
        };
        self.note(Read::Value { table: Arc::clone(table), key: key.to_vec(), seen: seen.clone() })?;
        Ok(seen)
    }

    fn note(&mut self, read: Read) -> Result<(), Error> {
        self.reads.push(read);
        self.check_size()
    }

    fn check_size(&self) -> Result<(), Error> {
        let writes = self.puts.values().map(|(_, keys)| keys.len()).chain(self.counts.values().map(|(_, keys)| keys.len()));
        let operations = self.reads.len() + writes.sum::<usize>();
        if operations > OPERATIONS_MAX {
            return Err(Error::TransactionTooLarge { operations });
        }
        Ok(())
    }

    /// Stores a value, which expires after `ttl`.
    pub fn put(&mut self, table: &Table, key: &[u8], value: Vec<u8>, ttl: Option<Duration>) -> Result<(), Error> {
        let table = self.own(&table.handle, &table.name)?;
        check_key(key).and_then(|()| check_value(&value))?;
        let expires_at_ms = ttl.map(|ttl| self.engine.options.clock.expiry(ttl));
        self.pend(table, key, Pending { value: Some(value), expires_at_ms })
    }

    /// Stores a value if the key has none, and returns whether it did.
    pub fn put_new(&mut self, table: &Table, key: &[u8], value: Vec<u8>, ttl: Option<Duration>) -> Result<bool, Error> {
        if self.get(table, key)?.is_some() {
            return Ok(false);
        }
        self.put(table, key, value, ttl).map(|()| true)
    }

    /// Removes a key, and returns whether it existed.
    pub fn delete(&mut self, table: &Table, key: &[u8]) -> Result<bool, Error> {
        if self.get(table, key)?.is_none() {
            return Ok(false);
        }
        self.pend(&table.name, key, Pending { value: None, expires_at_ms: None }).map(|()| true)
    }

    fn pend(&mut self, table: &Arc<TableName>, key: &[u8], pending: Pending) -> Result<(), Error> {
        let (_, keys) = self.puts.entry(table.name.clone()).or_insert_with(|| (Arc::clone(table), BTreeMap::new()));
        keys.insert(key.to_vec(), pending);
        self.check_size()
    }

    /// The stored count plus this transaction's additions, without increments in memory that are not folded.
    pub fn count(&mut self, counter: &Counter, key: &[u8]) -> Result<i64, Error> {
        let counter = self.own(&counter.handle, &counter.name)?;
        check_key(key)?;
        match self.counts.get(&counter.name).and_then(|(_, keys)| keys.get(key)).copied() {
            Some(CountChange { is_reset: true, added }) => Ok(added.unwrap_or(0)),
            change => {
                let stored = self.read(counter, key)?.map_or(Ok(0), |stored| decode_count(&stored))?;
                Ok(stored.saturating_add(change.and_then(|change| change.added).unwrap_or(0)))
            }
        }
    }

    /// Adds `by`, unless the sum would exceed `max`; the new value, or `None`.
    pub fn increment(&mut self, counter: &Counter, key: &[u8], by: i64, max: Option<i64>) -> Result<Option<i64>, Error> {
        let value = self.count(counter, key)?;
        let sum = value.checked_add(by).ok_or(Error::CounterOverflow { value, by })?;
        if max.is_some_and(|max| sum > max) {
            return Ok(None);
        }
        self.add(counter, key, by).map(|()| Some(sum))
    }

    /// Adds without reading, so it never conflicts.
    pub fn add(&mut self, counter: &Counter, key: &[u8], by: i64) -> Result<(), Error> {
        let change = self.count_change(counter, key)?;
        let value = change.added.unwrap_or(0);
        change.added = Some(value.checked_add(by).ok_or(Error::CounterOverflow { value, by })?);
        self.check_size()
    }

    /// Resets a key to 0 without reading, so it never conflicts.
    pub fn delete_count(&mut self, counter: &Counter, key: &[u8]) -> Result<(), Error> {
        *self.count_change(counter, key)? = CountChange { is_reset: true, added: None };
        self.check_size()
    }

    fn count_change(&mut self, counter: &Counter, key: &[u8]) -> Result<&mut CountChange, Error> {
        let counter = self.own(&counter.handle, &counter.name)?;
        check_key(key)?;
        let (_, keys) = self.counts.entry(counter.name.clone()).or_insert_with(|| (Arc::clone(counter), BTreeMap::new()));
        Ok(keys.entry(key.to_vec()).or_default())
    }

    /// A range, including this transaction's own writes. Records the part of the snapshot on which the result depends.
    pub fn range(&mut self, table: &Table, range: &Range) -> Result<Vec<Entry>, Error> {
        let table = self.own(&table.handle, &table.name)?;
        let Some(bounds) = range.bounds()?.filter(|_| range.limit > 0) else { return Ok(Vec::new()) };
        let own = self.puts.get(&table.name).map(|(_, keys)| keys);
        let mut merge = Merge::new(own, &bounds, range);
        let mut seen = Vec::new();
        if let Some(id) = table.id(self.engine.opening, self.tree(), &self.snapshot)? {
            walk(self.tree(), &self.snapshot, id, &bounds, range.is_reverse, &mut |key, stored| {
                let Some(value) = live(table.kind, stored, self.now_ms)? else { return Ok(true) };
                if !merge.own_before(key) {
                    return Ok(false);
                }
                seen.push((key.to_vec(), value.to_vec()));
                Ok(merge.stored(key, value))
            })?;
        }
        let entries = merge.finish();
        let depends_on = match entries.last().filter(|_| entries.len() == range.limit) {
            Some((last, _)) if range.is_reverse => (Bound::Included(last.clone()), bounds.1),
            Some((last, _)) => (bounds.0, Bound::Included(last.clone())),
            None => bounds,
        };
        seen.sort_unstable();
        self.note(Read::Range { table: Arc::clone(table), bounds: depends_on, seen })?;
        Ok(entries)
    }

    /// Submits the writes to the writer. `done` gets `Conflict` if something that was read has changed. A transaction without
    /// writes has read one snapshot and needs no check.
    pub fn commit(self, done: impl FnOnce(Result<(), Error>) + Send + 'static) {
        let Transaction { engine, snapshot, reads, now_ms, puts, counts, reservation, .. } = self;
        drop(snapshot);
        let writes = writes(puts, counts);
        if writes.is_empty() {
            return done(Ok(()));
        }
        let done: Done = Box::new(move |outcome| done(outcome.map(|_| ())));
        let changes = Changes { reads, writes, read_at_ms: now_ms, is_reserved: reservation.is_some() };
        engine.submit(Job::Change(Work::Changes(changes), done));
    }
}

fn writes(puts: ByTable<Pending>, counts: ByTable<CountChange>) -> Vec<Write> {
    let mut writes = Vec::new();
    for (table, keys) in puts.into_values() {
        writes.extend(keys.into_iter().map(|(key, Pending { value, expires_at_ms })| {
            let table = Arc::clone(&table);
            match value {
                Some(value) => Write::Put { table, key, value, expires_at_ms, only_new: false },
                None => Write::Delete { table, key },
            }
        }));
    }
    for (counter, keys) in counts.into_values() {
        for (key, CountChange { is_reset, added }) in keys {
            if is_reset {
                writes.push(Write::Delete { table: Arc::clone(&counter), key: key.clone() });
            }
            if let Some(by) = added {
                writes.push(Write::Increment { counter: Arc::clone(&counter), key, by, max: None });
            }
        }
    }
    writes
}
