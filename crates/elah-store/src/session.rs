//! One LMDB write transaction: applies changes, keeps the expiry index and the number of entries true, and commits.

mod fence;

use std::collections::HashMap;

use heed::RwTxn;

use super::env::{self, Env, Tree};
use super::error::{Error, means_no_room};
use super::layout::{
    EXPIRIES, FORMAT_KEY, FullKey, IDENTITY_KEY, Kind, TableId, Value, decode_count, expiry_entry, expiry_key, journal_key,
};
use super::range::walk;
use super::room::Room;
use super::table::Registry;
use super::write::{Changes, Outcome, Read, Work, Write};

pub(super) struct Session<'e> {
    env: &'e Env,
    tree: Tree,
    txn: RwTxn<'e>,
    registry: Registry,
    room: Room,
    now_ms: u64,
    /// Epochs looked up so far, by shard.
    epochs: HashMap<u16, u64>,
}

impl<'e> Session<'e> {
    /// Waits for the write lock of the store, which one process holds at a time.
    pub(super) fn begin(env: &'e Env, tree: Tree, now_ms: u64) -> Result<Self, Error> {
        let txn = env.write_txn()?;
        let registry = Registry::load(tree, &txn)?;
        let room = Room::before(tree, &txn)?;
        Ok(Session { env, tree, txn, registry, room, now_ms, epochs: HashMap::new() })
    }

    /// Applies `work` as a whole. After an error that `leaves_the_rest_alone` nothing of it was applied and the session can
    /// continue; after any other it must be dropped.
    pub(super) fn apply(&mut self, work: &Work) -> Result<Vec<Outcome>, Error> {
        match work {
            Work::Changes(changes) => self.change(changes),
            Work::Batch(batch) => self.store(&[batch], &|| false)?.pop().map_or(Ok(()), |stored| stored).map(|()| Vec::new()),
            Work::Claim(takeover) => self.claim(takeover),
        }
    }

    fn change(&mut self, changes: &Changes) -> Result<Vec<Outcome>, Error> {
        for read in &changes.reads {
            if !self.still_holds(read, changes.read_at_ms)? {
                return Err(Error::Conflict);
            }
        }
        for write in &changes.writes {
            match write {
                Write::Put { table, .. } => {
                    self.registry.id_or_create(table)?;
                }
                Write::Increment { counter, key, by, .. } => {
                    let id = self.registry.id_or_create(counter)?;
                    // A count that the same changes delete begins again at 0.
                    let deletes = |write: &Write| matches!(write, Write::Delete { table, key: of } if of == key && self.registry.id(table) == Some(id));
                    self.check_sum(id, key, *by)
                        .or_else(|error| changes.writes.iter().any(deletes).then_some(()).ok_or(error))?;
                }
                Write::Introduce { counter } => {
                    self.registry.id_or_create(counter)?;
                }
                Write::Delete { .. } => {}
            }
        }
        changes.writes.iter().map(|write| self.write(write)).collect()
    }

    fn still_holds(&self, read: &Read, read_at_ms: u64) -> Result<bool, Error> {
        match read {
            Read::Value { table, key, seen } => {
                let Some(id) = self.registry.id(table) else { return Ok(seen.is_none()) };
                let stored = self.tree.get(&self.txn, FullKey::new(id, key)?.as_bytes())?;
                let stored = stored.map(|stored| live(table.kind, stored, read_at_ms)).transpose()?.flatten();
                Ok(stored == seen.as_deref())
            }
            Read::Range { table, bounds, seen } => {
                let Some(id) = self.registry.id(table) else { return Ok(seen.is_empty()) };
                let mut expected = seen.iter();
                let mut is_same = true;
                walk(self.tree, &self.txn, id, bounds, false, &mut |key, stored| {
                    if let Some(value) = live(table.kind, stored, read_at_ms)? {
                        is_same = expected.next().is_some_and(|(k, v)| k == key && v == value);
                    }
                    Ok(is_same)
                })?;
                Ok(is_same && expected.next().is_none())
            }
        }
    }

    fn check_sum(&self, id: TableId, key: &[u8], by: i64) -> Result<(), Error> {
        let value = self.count(&FullKey::new(id, key)?)?.unwrap_or(0);
        value.checked_add(by).map(|_| ()).ok_or(Error::CounterOverflow { value, by })
    }

    fn write(&mut self, write: &Write) -> Result<Outcome, Error> {
        match write {
            Write::Put { table, key, value, expires_at_ms, only_new } => {
                let id = self.registry.id_or_create(table)?;
                let value = Value { bytes: value, expires_at_ms: *expires_at_ms };
                self.put(id, key, value, *only_new).map(Outcome::Put)
            }
            Write::Delete { table, key } => {
                let Some(id) = self.registry.id(table) else { return Ok(Outcome::Deleted(false)) };
                self.delete(table.kind, id, key).map(Outcome::Deleted)
            }
            Write::Increment { counter, key, by, max } => {
                let id = self.registry.id_or_create(counter)?;
                self.increment(id, key, *by, *max).map(Outcome::Counted)
            }
            Write::Introduce { .. } => Ok(Outcome::Introduced),
        }
    }

    /// A new key, the usual case for entities, takes one search of the tree.
    pub(super) fn put(&mut self, id: TableId, key: &[u8], value: Value<'_>, only_new: bool) -> Result<bool, Error> {
        let full_key = FullKey::new(id, key)?;
        let stored = value.encode();
        let old = self.tree.get_or_put(&mut self.txn, full_key.as_bytes(), &stored)?.map(Value::decode).transpose()?;
        if only_new && old.is_some_and(|old| !old.is_expired(self.now_ms)) {
            return Ok(false);
        }
        let (is_added, old_expiry) = (old.is_none(), old.and_then(|old| old.expires_at_ms));
        if old_expiry != value.expires_at_ms {
            if let Some(time) = old_expiry {
                self.tree.delete(&mut self.txn, &expiry_key(time, id, key))?;
            }
            if let Some(time) = value.expires_at_ms {
                self.tree.put(&mut self.txn, &expiry_key(time, id, key), &[])?;
            }
        }
        if is_added {
            self.registry.count(id, true);
        } else {
            self.tree.put(&mut self.txn, full_key.as_bytes(), &stored)?;
        }
        Ok(true)
    }

    /// Removes an entry; `false` if readers could not see it.
    pub(super) fn delete(&mut self, kind: Kind, id: TableId, key: &[u8]) -> Result<bool, Error> {
        let full_key = FullKey::new(id, key)?;
        let Some(stored) = self.tree.get(&self.txn, full_key.as_bytes())? else { return Ok(false) };
        let mut was_live = true;
        if kind == Kind::Table {
            let old = Value::decode(stored)?;
            was_live = !old.is_expired(self.now_ms);
            if let Some(time) = old.expires_at_ms {
                self.tree.delete(&mut self.txn, &expiry_key(time, id, key))?;
            }
        }
        self.tree.delete(&mut self.txn, full_key.as_bytes())?;
        self.registry.count(id, false);
        Ok(was_live)
    }

    fn count(&self, full_key: &FullKey) -> Result<Option<i64>, Error> {
        self.tree.get(&self.txn, full_key.as_bytes())?.map(decode_count).transpose()
    }

    fn increment(&mut self, id: TableId, key: &[u8], by: i64, max: Option<i64>) -> Result<Option<i64>, Error> {
        let full_key = FullKey::new(id, key)?;
        let old = self.count(&full_key)?;
        let value = old.unwrap_or(0);
        let sum = value.checked_add(by).ok_or(Error::CounterOverflow { value, by })?;
        if max.is_some_and(|max| sum > max) {
            return Ok(None);
        }
        self.tree.put(&mut self.txn, full_key.as_bytes(), &sum.to_le_bytes())?;
        if old.is_none() {
            self.registry.count(id, true);
        }
        Ok(Some(sum))
    }

    /// Adds the sum of a journal. Unlike `increment` it cannot refuse: a sum out of range becomes the end of the range.
    pub(super) fn add(&mut self, id: TableId, key: &[u8], total: i64) -> Result<(), Error> {
        let full_key = FullKey::new(id, key)?;
        let old = self.count(&full_key)?;
        let sum = old.unwrap_or(0).saturating_add(total);
        self.tree.put(&mut self.txn, full_key.as_bytes(), &sum.to_le_bytes())?;
        if old.is_none() {
            self.registry.count(id, true);
        }
        Ok(())
    }

    /// Whether the file has a counter with this ID.
    pub(super) fn has_counter(&self, id: TableId) -> bool {
        self.registry.has_counter(id)
    }

    /// The last generation of the journal that has been folded.
    pub(super) fn folded_generation(&self, journal: &str) -> Result<u64, Error> {
        folded_generation(self.tree, &self.txn, journal)
    }

    pub(super) fn set_folded_generation(&mut self, journal: &str, generation: u64) -> Result<(), Error> {
        Ok(self.tree.put(&mut self.txn, &journal_key(journal), &generation.to_le_bytes())?)
    }

    pub(super) fn forget_journal(&mut self, journal: &str) -> Result<(), Error> {
        self.tree.delete(&mut self.txn, &journal_key(journal))?;
        Ok(())
    }

    /// Removes up to `limit` expired entries, and returns how many there were.
    pub(super) fn sweep(&mut self, limit: usize) -> Result<usize, Error> {
        let mut due = Vec::new();
        for entry in self.tree.prefix_iter(&self.txn, &EXPIRIES)?.take(limit) {
            let (index_key, _) = entry?;
            match expiry_entry(index_key) {
                Some((time, id, key)) if time <= self.now_ms => due.push((id, key.to_vec())),
                _ => break,
            }
        }
        for (id, key) in &due {
            self.delete(Kind::Table, *id, key)?;
        }
        Ok(due.len())
    }

    /// Commits a new generation of the file with the same content.
    pub(super) fn commit_nothing(mut self) -> Result<(), Error> {
        if let Some(format) = self.tree.get(&self.txn, FORMAT_KEY)?.map(<[u8]>::to_vec) {
            self.tree.put(&mut self.txn, FORMAT_KEY, &format)?;
        }
        self.commit()
    }

    /// Makes everything durable and visible. After an error nothing was stored.
    pub(super) fn commit(mut self) -> Result<(), Error> {
        self.registry.save(self.tree, &mut self.txn)?;
        self.room.check(self.env, self.tree, &self.txn)?;
        match self.txn.commit() {
            Ok(()) => Ok(()),
            // If the commit record could not be written, LMDB refuses everything from now on.
            Err(error) if self.env.read_txn().is_err() => {
                Err(Error::Failed { why: format!("the commit record could not be written ({error})") })
            }
            Err(heed::Error::Io(error)) if !means_no_room(&error) && !env::has_room(self.env.path()) => {
                Err(Error::Full { what: format!("the disk has no room ({error})") })
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// Whether `error` concerns only the changes that caused it, and no others of the same session.
pub(super) fn leaves_the_rest_alone(error: &Error) -> bool {
    matches!(error, Error::Conflict | Error::CounterOverflow { .. } | Error::TooManyTables | Error::OtherShards { .. })
}

/// The visible value: a count unchanged, a table's value unless it has expired.
pub(super) fn live(kind: Kind, stored: &[u8], now_ms: u64) -> Result<Option<&[u8]>, Error> {
    match kind {
        Kind::Counter => Ok(Some(stored)),
        Kind::Table => {
            let value = Value::decode(stored)?;
            Ok((!value.is_expired(now_ms)).then_some(value.bytes))
        }
    }
}

pub(super) fn folded_generation(tree: Tree, txn: &heed::RoTxn<'_, heed::AnyTls>, journal: &str) -> Result<u64, Error> {
    number(tree, txn, &journal_key(journal))
}

/// Tells the file from others that were or will be in its place; its copies have the same.
pub(super) fn file_identity(tree: Tree, txn: &heed::RoTxn<'_, heed::AnyTls>) -> Result<u64, Error> {
    number(tree, txn, IDENTITY_KEY)
}

fn number(tree: Tree, txn: &heed::RoTxn<'_, heed::AnyTls>, key: &[u8]) -> Result<u64, Error> {
    Ok(tree.get(txn, key)?.and_then(|bytes| Some(u64::from_le_bytes(bytes.try_into().ok()?))).unwrap_or(0))
}
