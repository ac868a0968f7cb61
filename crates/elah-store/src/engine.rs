//! One opening of a store in one process: reads, increments in memory, and the way to the writer.

mod health;
mod place;
mod reads;
pub(super) mod writer;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use super::Options;
use super::claim::{Claim, claim_key, shards_key, stored_epoch, stored_shards, stored_takeovers, takeovers_key};
use super::env::{self, Env, Snapshot, Tree};
use super::error::Error;
use super::fork::ForkMark;
use super::in_use::InUse;
use super::iteration::{self, InIteration};
use super::journal::{self, Added, Journal};
use super::layout::{FullKey, TableId, Value, decode_count};
use super::merge::{Keys, Merge, Pending};
use super::queue::{Job, Queue};
use super::range::{Entry, Range, walk};
use super::session::{file_identity, folded_generation, live};
use super::table::TableName;
use health::Health;
use place::Place;

static OPENINGS: AtomicU64 = AtomicU64::new(0);

pub(super) struct Engine {
    pub(super) dir: PathBuf,
    pub(super) options: Options,
    pub(super) env: Env,
    pub(super) tree: Tree,
    /// Numbers the openings of this process from 1, so that a remembered table id is never used with another file.
    pub(super) opening: u64,
    pub(super) journal: Mutex<Option<Journal>>,
    pub(super) queue: Queue,
    health: Health,
    place: Place,
    /// What the reads of this iteration of the loop share.
    pub(super) kept: Mutex<Option<Snapshot>>,
    /// The number of takeovers, and the commit at which it was looked up. Both only grow; the number is written first.
    takeovers: AtomicU64,
    takeovers_seen_at: AtomicU64,
    writer: Mutex<Option<JoinHandle<()>>>,
    mark: ForkMark,
    _in_use: InUse,
}

impl Engine {
    pub(super) fn open(dir: &Path, options: &Options) -> Result<Self, Error> {
        let (env, tree, in_use) = env::open(dir, options.bytes_max)?;
        let orphans = journal::orphans(dir).map_err(|error| Error::cannot_open(dir, error))?;
        let recovered = journal::recover(&env, tree, orphans, options.clock.now_ms());
        match recovered.and_then(|()| journal::forget_finished(&env, tree, dir)) {
            // A full store opens all the same: it can be read, and made room in. The writer recovers the journals then.
            Ok(()) | Err(Error::Full { .. }) => {}
            Err(error) => return Err(error),
        }
        Ok(Engine {
            dir: dir.to_owned(),
            options: options.clone(),
            env,
            tree,
            opening: OPENINGS.fetch_add(1, Ordering::Relaxed) + 1,
            journal: Mutex::new(None),
            queue: Queue::new(),
            health: Health::default(),
            place: Place::of(dir).map_err(|error| Error::cannot_open(dir, error))?,
            kept: Mutex::new(None),
            takeovers: AtomicU64::new(0),
            takeovers_seen_at: AtomicU64::new(u64::MAX),
            writer: Mutex::new(None),
            mark: ForkMark::new().map_err(|error| Error::cannot_open(dir, error))?,
            _in_use: in_use,
        })
    }

    pub(super) fn is_of_this_process(&self) -> bool {
        self.mark.is_same_process()
    }

    /// The store as it is now. Slots of readers that were killed are taken back when none is left.
    pub(super) fn snapshot(&self) -> Result<Snapshot, Error> {
        self.place.check_reads()?;
        match self.env.clone().static_read_txn().map_err(Error::from) {
            Err(Error::TooManyReaders { .. }) if self.env.clear_stale_readers()? > 0 => Ok(self.env.clone().static_read_txn()?),
            snapshot => snapshot,
        }
    }

    /// `OtherShards` if the entities of the store are divided into another number of shards.
    pub(super) fn check_shards(&self, asked: u32) -> Result<(), Error> {
        let snapshot = self.snapshot()?;
        match self.tree.get(&snapshot, shards_key())?.map(stored_shards).transpose()? {
            Some(stored) if stored != asked => Err(Error::OtherShards { stored, asked }),
            _ => Ok(()),
        }
    }

    /// Appends the value to `into`; `false` when there is none.
    pub(super) fn get(self: &Arc<Self>, table: &TableName, key: &[u8], into: &mut Vec<u8>) -> Result<bool, Error> {
        self.read(|snapshot| self.get_in(snapshot, table, key, into))
    }

    /// As `get`, in a snapshot that others share.
    pub(super) fn get_in(&self, snapshot: &Snapshot, table: &TableName, key: &[u8], into: &mut Vec<u8>) -> Result<bool, Error> {
        let Some(id) = table.id(self.opening, self.tree, snapshot)? else {
            return super::layout::check_key(key).map(|()| false);
        };
        let Some(stored) = self.tree.get(snapshot, FullKey::new(id, key)?.as_bytes())? else { return Ok(false) };
        let value = Value::decode(stored)?;
        let is_live = value.expires_at_ms.is_none() || !value.is_expired(self.options.clock.now_ms());
        if is_live {
            into.extend_from_slice(value.bytes);
        }
        Ok(is_live)
    }

    /// A range with writes in it that are not stored yet.
    pub(super) fn range_with(&self, table: &TableName, range: &Range, own: &Keys<Pending>) -> Result<Vec<Entry>, Error> {
        let Some(bounds) = range.bounds()?.filter(|_| range.limit > 0) else { return Ok(Vec::new()) };
        let snapshot = self.snapshot()?;
        let now_ms = self.options.clock.now_ms();
        let mut merge = Merge::new(Some(own), &bounds, range);
        if let Some(id) = table.id(self.opening, self.tree, &snapshot)? {
            walk(self.tree, &snapshot, id, &bounds, range.is_reverse, &mut |key, stored| {
                let Some(value) = live(table.kind, stored, now_ms)? else { return Ok(true) };
                Ok(merge.own_before(key) && merge.stored(key, value))
            })?;
        }
        Ok(merge.finish())
    }

    pub(super) fn range(&self, table: &TableName, range: &Range) -> Result<Vec<Entry>, Error> {
        let mut entries = Vec::new();
        self.each(table, range, &mut |key, value| {
            entries.push((key.to_vec(), value.to_vec()));
            true
        })?;
        Ok(entries)
    }

    /// Lends the entries of a range to `visit`, until it returns `false` or has seen as many as the range may have.
    pub(super) fn each(
        &self,
        table: &TableName,
        range: &Range,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<(), Error> {
        let Some(bounds) = range.bounds()?.filter(|_| range.limit > 0) else { return Ok(()) };
        let snapshot = self.snapshot()?;
        let Some(id) = table.id(self.opening, self.tree, &snapshot)? else { return Ok(()) };
        let now_ms = self.options.clock.now_ms();
        let mut seen = 0;
        walk(self.tree, &snapshot, id, &bounds, range.is_reverse, &mut |key, stored| {
            let Some(value) = live(table.kind, stored, now_ms)? else { return Ok(true) };
            seen += 1;
            Ok(visit(key, value) && seen < range.limit)
        })
    }

    /// The number of entries, with those that have expired and are not swept yet.
    pub(super) fn size(self: &Arc<Self>, table: &TableName) -> Result<u64, Error> {
        self.read(|snapshot| table.size(self.opening, self.tree, snapshot))
    }

    /// The number of entries, and whether one has the key, whose value is appended to `into`; both seen at one moment.
    pub(super) fn size_and_get(
        self: &Arc<Self>,
        table: &TableName,
        key: &[u8],
        into: &mut Vec<u8>,
    ) -> Result<(u64, bool), Error> {
        self.read(|snapshot| Ok((table.size(self.opening, self.tree, snapshot)?, self.get_in(snapshot, table, key, into)?)))
    }

    /// A counter's value: what is stored and what this process still holds in memory.
    pub(super) fn count(&self, counter: &TableName, key: &[u8]) -> Result<i64, Error> {
        let journal = self.journal();
        let snapshot = self.snapshot()?;
        let Some(id) = counter.id(self.opening, self.tree, &snapshot)? else { return super::layout::check_key(key).map(|()| 0) };
        let stored = self.stored_count(journal.as_ref(), &snapshot, id, key)?;
        Ok(stored.saturating_add(journal.as_ref().map_or(0, |journal| journal.active_total(id, key))))
    }

    /// What is stored of a counter, with the sealed sums that the snapshot lacks. The journal is locked around the snapshot, so
    /// that a segment cannot be folded and taken back between the two.
    fn stored_count(&self, journal: Option<&Journal>, snapshot: &Snapshot, id: TableId, key: &[u8]) -> Result<i64, Error> {
        let stored = self.tree.get(snapshot, FullKey::new(id, key)?.as_bytes())?;
        let stored = stored.map(decode_count).transpose()?.unwrap_or(0);
        let Some(journal) = journal else { return Ok(stored) };
        match journal.sealed_total(id, key) {
            Some((generation, total)) if total != 0 && folded_generation(self.tree, snapshot, journal.name())? < generation => {
                Ok(stored.saturating_add(total))
            }
            _ => Ok(stored),
        }
    }

    /// Whether nobody else has claimed the shard since. Costs a look at the number of the last commit, unless that has changed.
    pub(super) fn still_owns(self: &Arc<Self>, claim: &Claim) -> Result<bool, Error> {
        let takeovers = if self.env.info().last_txn_id as u64 == self.takeovers_seen_at.load(Ordering::Acquire) {
            self.takeovers.load(Ordering::Relaxed)
        } else {
            self.read(|snapshot| {
                let takeovers = stored_takeovers(self.tree.get(snapshot, takeovers_key())?);
                self.takeovers.fetch_max(takeovers, Ordering::Relaxed);
                self.takeovers_seen_at.store(snapshot.id() as u64, Ordering::Release);
                Ok(takeovers)
            })?
        };
        claim.check(takeovers, || {
            self.read(|snapshot| self.tree.get(snapshot, &claim_key(claim.shard()))?.map_or(Ok(0), stored_epoch))
        })
    }

    /// Whether a table or counter has its id.
    pub(super) fn knows(&self, name: &TableName) -> Result<bool, Error> {
        Ok(name.id(self.opening, self.tree, &*self.snapshot()?)?.is_some())
    }

    /// Adds to a counter in memory mapped from this process's journal. `None` when the writer must do it: the counter has no id
    /// yet, or the journal has no room.
    pub(super) fn count_in_memory(self: &Arc<Self>, counter: &TableName, key: &[u8], by: i64) -> Result<Option<i64>, Error> {
        super::layout::check_key(key)?;
        self.queue.check()?;
        self.place.check_if_left()?;
        let mut journal = self.journal();
        let id = match counter.known_id(self.opening) {
            Some(id) => id,
            None => match counter.id(self.opening, self.tree, &*self.snapshot()?)? {
                Some(id) => id,
                None => return Ok(None),
            },
        };
        if journal.is_none() {
            self.place.check()?;
            *journal = Some(Journal::create(&self.dir, file_identity(self.tree, &*self.snapshot()?)?)?);
            self.start_writer()?;
        }
        let Some(journal) = journal.as_mut() else { return Ok(None) };
        let is_first = journal.is_active_empty();
        let added = journal.add(id, key, by, |journal| self.stored_count(Some(journal), &self.snapshot()?, id, key))?;
        match added {
            Added::To(value) => {
                if is_first {
                    self.queue.note_gathered();
                }
                Ok(Some(value))
            }
            Added::NoRoom => Ok(None),
        }
    }

    pub(super) fn journal(&self) -> MutexGuard<'_, Option<Journal>> {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Submits a job to the writer, which reports from its own thread; a refused job is reported here.
    pub(super) fn submit(self: &Arc<Self>, job: Job) {
        let checked = if let Job::Change(work, _) = &job { work.check() } else { Ok(()) };
        let owned = if self.is_of_this_process() { Ok(()) } else { Err(Error::Closed) };
        match checked.and(owned).and_then(|()| self.start_writer()) {
            Ok(()) => {
                let delay = job.delay().unwrap_or_else(|| iteration::write_delay(self));
                self.queue.push(job, delay);
            }
            Err(error) => job.refuse(error),
        }
    }

    /// Has the writer begin with what waits for it. In a fork there is none, and the queue's lock may be held for ever.
    pub(super) fn hurry(&self) {
        if self.is_of_this_process() {
            self.queue.hurry();
        }
    }

    fn start_writer(self: &Arc<Self>) -> Result<(), Error> {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        if writer.is_none() {
            let engine = Arc::clone(self);
            let thread = std::thread::Builder::new().name("elah-store".to_owned()).stack_size(512 * 1024);
            let started = thread.spawn(move || writer::run(&engine));
            *writer =
                Some(started.map_err(|error| Error::Failed { why: format!("the writer's thread does not start: {error}") })?);
        }
        Ok(())
    }

    /// Does what waits, folds the journal and removes it, and ends the writer.
    pub(super) fn shut_down(&self) {
        self.release_reads();
        self.queue.close();
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(writer) = writer {
            // A writer that panicked has failed its waiters already.
            let _ = writer.join();
        }
    }
}
