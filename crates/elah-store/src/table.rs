//! The names of tables and counters, and their IDs in the file.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use heed::{AnyTls, RoTxn, RwTxn};

use super::bounds::{NAME_BYTES_MAX, TABLES_MAX};
use super::env::Tree;
use super::error::Error;
use super::layout::{Kind, TABLES, TableId, encode_table_row, table_key, table_row};

/// A table or counter by name. It gets its ID with its first entry; the ID is cached for one opening of the file.
#[derive(Debug)]
pub struct TableName {
    pub(super) kind: Kind,
    pub(super) name: String,
    /// The opening's number times 65536 plus the id; 0 while unknown.
    known: AtomicU64,
    counted: Mutex<Counted>,
}

/// The number of a table's entries in the snapshot `snapshot` of the opening `opening`.
#[derive(Debug, Default)]
struct Counted {
    opening: u64,
    snapshot: usize,
    entries: u64,
}

impl TableName {
    /// The table `name`, of 1 to `NAME_BYTES_MAX` bytes.
    pub fn table(name: &str) -> Result<Self, Error> {
        Self::new(Kind::Table, name)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn new(kind: Kind, name: &str) -> Result<Self, Error> {
        if name.is_empty() || name.len() > NAME_BYTES_MAX {
            return Err(Error::InvalidName { bytes: name.len() });
        }
        Ok(TableName { kind, name: name.to_owned(), known: AtomicU64::new(0), counted: Mutex::default() })
    }

    /// The ID, if it was looked up in the opening `opening` of the file.
    pub(super) fn known_id(&self, opening: u64) -> Option<TableId> {
        let known = self.known.load(Ordering::Relaxed);
        (known >> 16 == opening).then_some(TableId(known as u16))
    }

    /// The ID in the opening `opening` of the file, looked up in `snapshot` the first time. `None` while the table has no entry.
    pub(super) fn id(&self, opening: u64, tree: Tree, snapshot: &RoTxn<'_, AnyTls>) -> Result<Option<TableId>, Error> {
        if let Some(id) = self.known_id(opening) {
            return Ok(Some(id));
        }
        let row = tree.get(snapshot, &table_key(self.kind, &self.name))?;
        let id = row.map(|row| table_row(row).ok_or_else(damaged_row)).transpose()?.map(|(id, _)| id);
        if let Some(id) = id {
            self.known.store(opening << 16 | u64::from(id.0), Ordering::Relaxed);
        }
        Ok(id)
    }

    /// The number of entries, including expired ones that are not swept yet. It is looked up once for each commit.
    pub(super) fn size(&self, opening: u64, tree: Tree, snapshot: &RoTxn<'_, AnyTls>) -> Result<u64, Error> {
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        if (counted.opening, counted.snapshot) != (opening, snapshot.id()) {
            let row = tree.get(snapshot, &table_key(self.kind, &self.name))?;
            let entries = row.and_then(table_row).map_or(0, |(_, entries)| entries);
            *counted = Counted { opening, snapshot: snapshot.id(), entries };
        }
        Ok(counted.entries)
    }
}

fn damaged_row() -> Error {
    Error::Failed { why: "the row of a table is damaged".to_owned() }
}

/// The tables of a store as seen and changed by one write transaction.
#[derive(Debug, Default)]
pub(super) struct Registry {
    rows: BTreeMap<Vec<u8>, Row>,
}

#[derive(Debug)]
struct Row {
    id: TableId,
    entries: u64,
    is_changed: bool,
}

impl Registry {
    pub(super) fn load(tree: Tree, txn: &RoTxn<'_, AnyTls>) -> Result<Self, Error> {
        let mut rows = BTreeMap::new();
        for row in tree.prefix_iter(txn, &TABLES)? {
            let (key, row) = row?;
            let (id, entries) = table_row(row).ok_or_else(damaged_row)?;
            rows.insert(key.to_vec(), Row { id, entries, is_changed: false });
        }
        Ok(Registry { rows })
    }

    pub(super) fn id(&self, table: &TableName) -> Option<TableId> {
        self.rows.get(&table_key(table.kind, &table.name)).map(|row| row.id)
    }

    pub(super) fn id_or_create(&mut self, table: &TableName) -> Result<TableId, Error> {
        if let Some(id) = self.id(table) {
            return Ok(id);
        }
        if self.rows.len() >= TABLES_MAX {
            return Err(Error::TooManyTables);
        }
        let id = self.rows.values().map(|row| row.id).max().map_or_else(TableId::first, TableId::next);
        self.rows.insert(table_key(table.kind, &table.name), Row { id, entries: 0, is_changed: true });
        Ok(id)
    }

    pub(super) fn has_counter(&self, id: TableId) -> bool {
        self.rows.iter().any(|(key, row)| row.id == id && key.get(TABLES.len()) == Some(&Kind::Counter.tag()))
    }

    /// Counts one entry more, or one less.
    pub(super) fn count(&mut self, table: TableId, is_added: bool) {
        if let Some(row) = self.rows.values_mut().find(|row| row.id == table) {
            row.entries = if is_added { row.entries + 1 } else { row.entries.saturating_sub(1) };
            row.is_changed = true;
        }
    }

    /// Counts this many entries more.
    pub(super) fn count_added(&mut self, table: TableId, added: u64) {
        if let Some(row) = self.rows.values_mut().find(|row| row.id == table).filter(|_| added > 0) {
            row.entries += added;
            row.is_changed = true;
        }
    }

    pub(super) fn save(&mut self, tree: Tree, txn: &mut RwTxn<'_>) -> Result<(), Error> {
        for (key, row) in &mut self.rows {
            if row.is_changed {
                tree.put(txn, key, &encode_table_row(row.id, row.entries))?;
                row.is_changed = false;
            }
        }
        Ok(())
    }
}
