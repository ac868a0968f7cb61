//! The contents of a store that nobody uses, to copy them elsewhere: its tables and counters, without what the layout keeps for itself.
//!
//! Nothing of the store changes. What killed processes have counted in memory is added to the counts that are read.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Bound;
use std::path::Path;

use super::claim::{shards_key, stored_shards};
use super::env::{self, Env, Tree};
use super::error::Error;
use super::in_use::InUse;
use super::journal;
use super::layout::{Kind, TABLES, TableId, Value, decode_count, table_row};
use super::range::walk;
use super::session::{file_identity, folded_generation};

/// An entry of a table: its key, its value, and when it expires, in milliseconds since 1970.
pub type Row = (Vec<u8>, Vec<u8>, Option<u64>);

/// A store that no process can open until this is dropped.
pub struct Export {
    tables: Vec<Exported>,
    shards: Option<u32>,
    /// Counts that the file lacks.
    sums: BTreeMap<(TableId, Vec<u8>), i64>,
    tree: Tree,
    // Ends before the environment is closed.
    pin: Option<env::Snapshot>,
    env: Option<Env>,
    _alone: InUse,
}

/// A table, or counters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exported {
    /// The name that the app has given it.
    pub name: String,
    /// Whether it holds counts.
    pub is_counter: bool,
    /// How many entries are read of it, expired ones included.
    pub entries: u64,
    id: TableId,
}

impl Export {
    /// Checks every page of the store in `dir`, and keeps it for itself. `InUse` if any process has it open.
    pub fn open(dir: impl AsRef<Path>) -> Result<Self, Error> {
        let dir = dir.as_ref();
        let (env, tree, alone) = env::open_alone(dir, "import it")?;
        let opened = read_head(dir, &env, tree);
        match opened {
            Ok((pin, tables, shards, sums)) => {
                Ok(Export { tables, shards, sums, tree, pin: Some(pin), env: Some(env), _alone: alone })
            }
            Err(error) => {
                env.prepare_for_closing().wait();
                Err(error)
            }
        }
    }

    /// The tables and counters, in the order in which they were created.
    pub fn tables(&self) -> &[Exported] {
        &self.tables
    }

    /// The number of shards of the entities; `None` before the first one was called.
    pub fn shards(&self) -> Option<u32> {
        self.shards
    }

    /// The entries of a table that follow `after`: `bytes_max` bytes of them, and at least one.
    pub fn rows(&self, table: &Exported, after: Option<&[u8]>, bytes_max: usize) -> Result<Vec<Row>, Error> {
        let (mut rows, mut bytes) = (Vec::new(), 0);
        self.walk(table.id, after, |key, stored| {
            let value = Value::decode(stored)?;
            bytes += key.len() + value.bytes.len();
            if bytes > bytes_max && !rows.is_empty() {
                return Ok(false);
            }
            rows.push((key.to_vec(), value.bytes.to_vec(), value.expires_at_ms));
            Ok(true)
        })?;
        Ok(rows)
    }

    /// The counts of counters that follow `after`: about `count_max` of them.
    pub fn counts(&self, counter: &Exported, after: Option<&[u8]>, count_max: usize) -> Result<Vec<(Vec<u8>, i64)>, Error> {
        let mut counts = BTreeMap::new();
        self.walk(counter.id, after, |key, stored| {
            counts.insert(key.to_vec(), decode_count(stored)?);
            Ok(counts.len() < count_max)
        })?;
        let last = counts.last_key_value().map(|(key, _)| key.clone()).filter(|_| counts.len() >= count_max);
        let lower = after.map_or(Bound::Included(Vec::new()), |after| Bound::Excluded(after.to_vec()));
        let upper = last.map_or(Bound::Excluded((counter.id.next(), Vec::new())), |last| Bound::Included((counter.id, last)));
        for ((_, key), total) in self.sums.range((lower.map(|key| (counter.id, key)), upper)) {
            let count = counts.entry(key.clone()).or_insert(0);
            *count = count.saturating_add(*total);
        }
        Ok(counts.into_iter().collect())
    }

    fn walk(
        &self,
        table: TableId,
        after: Option<&[u8]>,
        mut visit: impl FnMut(&[u8], &[u8]) -> Result<bool, Error>,
    ) -> Result<(), Error> {
        let lower = after.map_or(Bound::Unbounded, |after| Bound::Excluded(after.to_vec()));
        let pin = self.pin.as_ref().ok_or(Error::Closed)?;
        walk(self.tree, pin, table, &(lower, Bound::Unbounded), false, &mut visit)
    }
}

impl Drop for Export {
    fn drop(&mut self) {
        self.pin = None;
        if let Some(env) = self.env.take() {
            env.prepare_for_closing().wait();
        }
    }
}

type Sums = BTreeMap<(TableId, Vec<u8>), i64>;
type Head = (env::Snapshot, Vec<Exported>, Option<u32>, Sums);

fn read_head(dir: &Path, env: &Env, tree: Tree) -> Result<Head, Error> {
    let pin = env.clone().static_read_txn()?;
    let shards = tree.get(&pin, shards_key())?.map(stored_shards).transpose()?;
    let sums = unfolded(dir, tree, &pin)?;
    let mut tables = Vec::new();
    for row in tree.prefix_iter(&pin, &TABLES)? {
        let (key, row) = row?;
        let Some(((tag, name), (id, entries))) = key[TABLES.len()..].split_first().zip(table_row(row)) else { continue };
        let name = String::from_utf8_lossy(name).into_owned();
        tables.push(Exported { name, is_counter: *tag == Kind::Counter.tag(), entries, id });
    }
    tables.sort_by_key(|table| table.id);
    for (id, key) in sums.keys() {
        let Some(counter) = tables.iter_mut().find(|table| table.is_counter && table.id == *id) else { continue };
        let stored = [&id.0.to_be_bytes(), key.as_slice()].concat();
        counter.entries += u64::from(tree.get(&pin, &stored)?.is_none());
    }
    Ok((pin, tables, shards, sums))
}

/// What the journals of killed processes add to the counts.
fn unfolded(dir: &Path, tree: Tree, pin: &env::Snapshot) -> Result<Sums, Error> {
    let cannot = |error| env::refusal(dir, heed::Error::Io(error));
    let data_file = file_identity(tree, pin)?;
    let mut sums = Sums::new();
    for name in journal::names(dir).map_err(cannot)? {
        let content = fs::read(dir.join(&name)).map_err(cannot)?;
        for sum in journal::sums_beyond(&content, data_file, folded_generation(tree, pin, &name)?) {
            let total = sums.entry((sum.table, sum.key.to_vec())).or_insert(0);
            *total = total.saturating_add(sum.total);
        }
    }
    Ok(sums)
}
