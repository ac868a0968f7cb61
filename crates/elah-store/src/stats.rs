//! Figures of a store's file: its size, its free pages, and what its tables and counters hold.

use std::collections::BTreeMap;
use std::path::Path;

use super::check::Checked;
use super::env;
use super::error::Error;
use super::journal;
use super::layout::{FORMAT_KEY, TABLES, TableId, VERSION_KEY, table_row};

/// The size of a table or of counters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// The name that the app has given it.
    pub name: String,
    /// Whether it holds counts.
    pub is_counter: bool,
    /// Entries, including expired ones that were not swept yet.
    pub entries: u64,
    /// Bytes of their keys and values.
    pub bytes: u64,
}

/// What is known of a store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// The length of the file.
    pub bytes: u64,
    /// Pages in use and free pages.
    pub checked: Checked,
    /// The number of the file's format.
    pub format: usize,
    /// The version of Elah that has given the file its format.
    pub version: String,
    /// Slots of reads and open transactions that were in use at once.
    pub readers: u32,
    /// Journals of processes that count in memory.
    pub journals: usize,
    /// Tables and counters, by name.
    pub tables: Vec<Sizes>,
}

impl Stats {
    /// Reads every page and entry of the store in `dir`, which this process must not have open.
    pub fn of(dir: impl AsRef<Path>) -> Result<Self, Error> {
        let dir = dir.as_ref();
        let (env, tree, _in_use, checked) = env::open_existing(dir, u64::MAX)?;
        let read = env.read_txn().map_err(Error::from).and_then(|txn| {
            let text = |key| Ok::<_, Error>(tree.get(&txn, key)?.map(|bytes| String::from_utf8_lossy(bytes).into_owned()));
            let mut tables = BTreeMap::new();
            for row in tree.prefix_iter(&txn, &TABLES)? {
                let (key, row) = row?;
                let Some((id, entries)) = table_row(row) else { continue };
                let name = String::from_utf8_lossy(&key[TABLES.len() + 1..]).into_owned();
                let is_counter = key[TABLES.len()] == b'c';
                tables.insert(id, Sizes { name, is_counter, entries, bytes: 0 });
            }
            for entry in tree.iter(&txn)? {
                let (key, value) = entry?;
                let id = key.first_chunk().map(|id| TableId(u16::from_be_bytes(*id)));
                if let Some(sizes) = id.and_then(|id| tables.get_mut(&id)) {
                    sizes.bytes += (key.len() + value.len()) as u64;
                }
            }
            let mut tables: Vec<_> = tables.into_values().collect();
            tables.sort_by(|a, b| (a.is_counter, &a.name).cmp(&(b.is_counter, &b.name)));
            let format = text(FORMAT_KEY)?.as_deref().and_then(super::format::number).unwrap_or_default();
            Ok(Stats {
                bytes: env.real_disk_size()?,
                checked,
                format,
                version: text(VERSION_KEY)?.unwrap_or_default(),
                readers: env.info().number_of_readers,
                journals: 0,
                tables,
            })
        });
        env.prepare_for_closing().wait();
        let journals = journal::names(dir).map_err(|error| env::refusal(dir, heed::Error::Io(error)))?.len();
        Ok(Stats { journals, ..read? })
    }
}
