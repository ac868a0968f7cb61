//! The embedded store: ordered tables, counters and transactions over LMDB, for several processes on one directory.
//!
//! Reads use mapped memory and block nobody. Writes go to a writer thread, which commits all waiting writes in one LMDB
//! transaction and reports success after the sync. Counters can also be incremented in memory; see
//! [`Counter::increment_in_memory`].
//!
//! A process opens a directory once; further calls of [`Store::open`] share that opening. A fork must not use its parent's
//! opening. [`release_all`] closes the openings of this process before a fork, and each store reopens its directory at its next
//! use.

mod batch;
mod batch_store;
mod bounds;
mod check;
mod claim;
mod engine;
mod env;
mod error;
mod export;
mod fork;
mod format;
mod group_commits;
mod in_use;
pub mod iteration;
mod journal;
mod layout;
mod merge;
mod queue;
mod range;
mod reservation;
mod room;
mod session;
mod shared;
mod snapshot;
mod stats;
mod table;
mod transaction;
mod write;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

pub use batch::{Batch, Gathered, Packed};
pub use batch_store::{BatchStore, Own, Told};
pub use bounds::{KEY_BYTES_MAX, NAME_BYTES_MAX, OPERATIONS_MAX, TABLES_MAX, VALUE_BYTES_MAX};
pub use check::Checked;
pub use claim::{Claim, SHARDS_MAX, Takeover};
pub use elah_clock::Clock;
pub use error::Error;
pub use export::{Export, Exported, Row};
pub use group_commits::GroupCommits;
pub use iteration::end as end_iteration;
pub use queue::{WAITING_BYTES_MAX, WAITING_MAX};
pub use range::{Bounds, Entry, Range};
pub use reservation::Reservation;
pub use shared::{check_all, release_all, troubles};
pub use snapshot::Snapshot;
pub use stats::{Sizes, Stats};
pub use table::TableName;
pub use transaction::Transaction;
pub use write::Outcome;

use layout::Kind;
use queue::{Done, Job};
use shared::Handle;
use write::{Changes, Work, Write};

/// The options of an open store.
#[derive(Clone, Debug)]
pub struct Options {
    /// The maximum size of the file. It is mapped, so it takes address space, not memory.
    pub bytes_max: u64,
    /// How long increments may stay in memory before they are folded into the counters.
    pub fold_pause: Duration,
    /// The time between two sweeps of expired entries, while there are some.
    pub sweep_pause: Duration,
    /// The clock for expiry.
    pub clock: Clock,
}

/// An open store. It is cheap to clone; dropping the last clone closes it.
#[derive(Clone)]
pub struct Store {
    handle: Arc<Handle>,
}

impl Store {
    /// Opens or creates the store in `dir`, and recovers what dead processes had counted in memory.
    pub fn open(dir: impl AsRef<Path>, options: &Options) -> Result<Self, Error> {
        Ok(Store { handle: Arc::new(Handle::open(dir.as_ref(), options)?) })
    }

    /// Checks every page of the store in `dir`, which this process must not have open, and returns the number of pages and
    /// entries.
    pub fn check(dir: impl AsRef<Path>) -> Result<Checked, Error> {
        env::check(dir.as_ref())
    }

    /// Copies the store in `dir` to a smaller file, without free pages, which takes the place of its own. Returns the bytes of the file before and
    /// after. `InUse` if any process has it open.
    pub fn compact(dir: impl AsRef<Path>) -> Result<(u64, u64), Error> {
        env::compact(dir.as_ref())
    }

    /// The table `name`, which exists from its first entry on.
    pub fn table(&self, name: &str) -> Result<Table, Error> {
        let name = Arc::new(TableName::new(Kind::Table, name)?);
        Ok(Table { handle: Arc::clone(&self.handle), name })
    }

    /// The counters `name`. They share no names with tables.
    pub fn counter(&self, name: &str) -> Result<Counter, Error> {
        let name = Arc::new(TableName::new(Kind::Counter, name)?);
        Ok(Counter { handle: Arc::clone(&self.handle), name })
    }

    /// The values of several keys, read at one moment. Appends them to `into`, and calls `found` with the position of each;
    /// `None` if there is none or it has expired.
    pub fn values_at<'k>(
        &self,
        keys: impl IntoIterator<Item = (&'k Table, &'k [u8])>,
        into: &mut Vec<u8>,
        mut found: impl FnMut(Option<std::ops::Range<usize>>),
    ) -> Result<(), Error> {
        self.handle.with(|engine| {
            engine.read(|snapshot| {
                for (table, key) in keys {
                    if !self.handle.shares_opening_with(&table.handle) {
                        return Err(Error::ForeignTable { name: table.name().to_owned() });
                    }
                    let start = into.len();
                    let is_there = engine.get_in(snapshot, &table.name, key, into)?;
                    found(is_there.then_some(start..into.len()));
                }
                Ok(())
            })
        })
    }

    /// Begins a transaction on the current state of the store.
    pub fn begin(&self) -> Result<Transaction, Error> {
        self.handle.with(|engine| Transaction::begin(engine, &self.handle, None))
    }

    /// Keeps the store's lock for a transaction that has lost often. `done` gets a reservation with which to begin it.
    pub fn reserve(&self, done: impl FnOnce(Result<Reservation, Error>) + Send + 'static) {
        match self.handle.with(|engine| Ok(Arc::clone(engine))) {
            Ok(engine) => Reservation::request(&engine, Arc::clone(&self.handle), done),
            Err(error) => done(Err(error)),
        }
    }

    /// `OtherShards` if the entities of the store are divided into another number of shards.
    pub fn check_shards(&self, asked: u32) -> Result<(), Error> {
        self.handle.with(|engine| engine.check_shards(asked))
    }

    /// Removes expired entries; `done` gets their number. The writer does so by itself, too.
    pub fn sweep(&self, done: impl FnOnce(Result<usize, Error>) + Send + 'static) {
        self.handle.submit(Job::Sweep(Box::new(done)));
    }

    /// Folds the increments that this process has in memory; `done` is called when they are on disk.
    pub fn flush(&self, done: impl FnOnce(Result<(), Error>) + Send + 'static) {
        self.handle.submit(Job::Flush(Box::new(done)));
    }

    /// The time by which entries expire, in milliseconds since 1970.
    pub fn now_ms(&self) -> u64 {
        self.handle.clock().now_ms()
    }

    /// Finishes waiting work and closes. The file is closed with the last store of this process that uses it.
    pub fn close(&self) {
        self.handle.close();
    }

    /// The directory, without symbolic links.
    pub fn dir(&self) -> &Path {
        self.handle.dir()
    }

    /// True after `close`.
    pub fn is_closed(&self) -> bool {
        self.handle.is_closed()
    }
}

/// An ordered table of keys and values. Keys have 1 to `KEY_BYTES_MAX` bytes.
#[derive(Clone)]
pub struct Table {
    handle: Arc<Handle>,
    name: Arc<TableName>,
}

impl Table {
    /// The table's name.
    pub fn name(&self) -> &str {
        &self.name.name
    }

    /// Appends the value of `key` to `into`; `false` if there is none or it has expired.
    pub fn get(&self, key: &[u8], into: &mut Vec<u8>) -> Result<bool, Error> {
        self.handle.with(|engine| engine.get(&self.name, key, into))
    }

    /// The entries of a range, without expired ones.
    pub fn range(&self, range: &Range) -> Result<Vec<Entry>, Error> {
        self.handle.with(|engine| engine.range(&self.name, range))
    }

    /// Passes the entries of a range to `visit` until it returns `false`. All are read at one moment.
    pub fn each(&self, range: &Range, mut visit: impl FnMut(&[u8], &[u8]) -> bool) -> Result<(), Error> {
        self.handle.with(|engine| engine.each(&self.name, range, &mut visit))
    }

    /// The number of entries, including expired ones that were not swept yet.
    pub fn size(&self) -> Result<u64, Error> {
        self.handle.with(|engine| engine.size(&self.name))
    }

    /// The number of entries, and whether one has the key `position` as 8 bytes, big endian. Appends its value to `into`. Both
    /// are read at one moment. For tables whose keys are the positions from 0 to the number of entries less one.
    pub fn at(&self, position: u64, into: &mut Vec<u8>) -> Result<(u64, bool), Error> {
        self.handle.with(|engine| engine.size_and_get(&self.name, &position.to_be_bytes(), into))
    }

    /// Stores a value, which expires after `ttl`; with `only_new` only if the key has none. After the sync, `done` gets whether
    /// it was stored.
    pub fn put(
        &self,
        key: Vec<u8>,
        value: Vec<u8>,
        ttl: Option<Duration>,
        only_new: bool,
        done: impl FnOnce(Result<bool, Error>) + Send + 'static,
    ) {
        let expires_at_ms = ttl.map(|ttl| self.handle.clock().expiry(ttl));
        let write = Write::Put { table: Arc::clone(&self.name), key, value, expires_at_ms, only_new };
        self.handle.write(write, move |outcome| done(outcome.map(|outcome| outcome == Outcome::Put(true))));
    }

    /// Removes a key. After the sync, `done` gets whether it existed.
    pub fn delete(&self, key: Vec<u8>, done: impl FnOnce(Result<bool, Error>) + Send + 'static) {
        let write = Write::Delete { table: Arc::clone(&self.name), key };
        self.handle.write(write, move |outcome| done(outcome.map(|outcome| outcome == Outcome::Deleted(true))));
    }
}

/// Signed 64-bit integers under keys; a new key has the value 0.
#[derive(Clone)]
pub struct Counter {
    handle: Arc<Handle>,
    name: Arc<TableName>,
}

impl Counter {
    /// The counter's name.
    pub fn name(&self) -> &str {
        &self.name.name
    }

    /// The value: the stored count plus this process's increments in memory.
    pub fn get(&self, key: &[u8]) -> Result<i64, Error> {
        self.handle.with(|engine| engine.count(&self.name, key))
    }

    /// Adds `by`, unless the sum would exceed `max`. After the sync, `done` gets the new value, or `None`.
    pub fn increment(
        &self,
        key: Vec<u8>,
        by: i64,
        max: Option<i64>,
        done: impl FnOnce(Result<Option<i64>, Error>) + Send + 'static,
    ) {
        let write = Write::Increment { counter: Arc::clone(&self.name), key, by, max };
        self.handle.write(write, move |outcome| {
            done(outcome.map(|outcome| match outcome {
                Outcome::Counted(value) => value,
                _ => None,
            }));
        });
    }

    /// Creates the counter, so that not even the first `increment_in_memory` waits for the disk. Does not wait; an error shows at
    /// the next use.
    pub fn introduce(&self) {
        if self.handle.with(|engine| engine.knows(&self.name)) == Ok(false) {
            self.handle.write(Write::Introduce { counter: Arc::clone(&self.name) }, drop);
        }
    }

    /// Adds `by` in memory that survives the process but not the machine. Returns the new value as this process knows it;
    /// increments of other processes appear after they are folded. `None` if only `increment` can do it: at a counter's first use
    /// ever, or while too many keys wait to be folded.
    pub fn increment_in_memory(&self, key: &[u8], by: i64) -> Result<Option<i64>, Error> {
        self.handle.with(|engine| engine.count_in_memory(&self.name, key, by))
    }

    /// Resets a key to 0, including this process's increments in memory. After the sync, `done` gets whether it existed.
    pub fn delete(&self, key: Vec<u8>, done: impl FnOnce(Result<bool, Error>) + Send + 'static) {
        let write = Write::Delete { table: Arc::clone(&self.name), key };
        self.handle.write(write, move |outcome| done(outcome.map(|outcome| outcome == Outcome::Deleted(true))));
    }
}

impl Handle {
    fn write(&self, write: Write, done: impl FnOnce(Result<Outcome, Error>) + Send + 'static) {
        let done: Done = Box::new(move |outcomes| {
            done(outcomes.and_then(|outcomes| outcomes.first().copied().ok_or(Error::Closed)));
        });
        self.submit(Job::Change(Work::Changes(Changes::one(write)), done));
    }
}
