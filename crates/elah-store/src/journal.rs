//! The journal of a process: memory-mapped increments of counters that LMDB does not have yet.
//!
//! Each process has a journal, locked while it lives. An increment is a store into mapped memory, which the kernel keeps if the
//! process is killed. The writer regularly adds the sums to the counters ("folds" them) and records their generation in the same
//! LMDB transaction. So each increment counts exactly once, whenever the process dies. The journal of a dead process has no lock;
//! the next process that finds it folds the rest. A journal names counters by their IDs, which mean something in its own data file only:
//! one of another file is set aside.

mod recovery;
mod segment;
#[cfg(test)]
mod tests;

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use hashbrown::DefaultHashBuilder;
use memmap2::{MmapMut, MmapOptions};

use super::env::write_zeros;
use super::error::{Error, means_no_room};
use super::layout::TableId;
pub(super) use recovery::{forget_finished, names, orphans, reaches_beyond, recover, sums_beyond};
pub(super) use segment::Sum;
use segment::{SEGMENT_BYTES, Segment};

const SUFFIX: &str = ".journal";
/// The suffix of an unfinished journal. Without a lock it was abandoned, or is about to be locked.
const DRAFT_SUFFIX: &str = ".journal-draft";
/// The suffix of a journal whose data file was removed or replaced: for people, who may put that file back.
const ASIDE_SUFFIX: &str = ".journal-set-aside";

/// The journal of this process.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    name: String,
    /// Locked while the owner lives.
    _file: File,
    hasher: DefaultHashBuilder,
    active: Segment,
    sealed: Option<Arc<Segment>>,
    spare: Option<Segment>,
}

/// The result of an increment.
pub(super) enum Added {
    /// The counter's new value.
    To(i64),
    /// The active segment has no room; nothing was added.
    NoRoom,
}

/// A sealed segment, to be folded by the writer.
pub(super) struct Sealed(Arc<Segment>);

impl Sealed {
    pub(super) fn generation(&self) -> u64 {
        self.0.generation
    }

    /// In the order of their keys in LMDB, so that neighbours are written together.
    pub(super) fn sums(&self) -> Vec<Sum<'_>> {
        let mut sums = Vec::with_capacity(self.0.len());
        sums.extend(self.0.sums());
        sums.sort_unstable_by(|a, b| (a.table, a.key).cmp(&(b.table, b.key)));
        sums
    }
}

impl Journal {
    /// Creates a journal in `dir`, for counters of the data file with this identity.
    pub(super) fn create(dir: &Path, data_file: u64) -> Result<Self, Error> {
        loop {
            match Self::try_create(dir, data_file) {
                // Another process took the draft for that of a dead one, just before it was locked.
                Err(error) if error.kind() == io::ErrorKind::NotFound && dir.exists() => {}
                Err(error) if means_no_room(&error) => {
                    return Err(Error::Full { what: format!("there is no room for a journal ({error})") });
                }
                Err(error) => return Err(Error::Failed { why: format!("no journal can be made in {}: {error}", dir.display()) }),
                Ok(journal) => return Ok(journal),
            }
        }
    }

    /// The journal gets its final name when it is locked and complete.
    fn try_create(dir: &Path, data_file: u64) -> io::Result<Self> {
        let nanos = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |time| time.as_nanos());
        let name = format!("counters-{}-{nanos}{SUFFIX}", std::process::id());
        let path = dir.join(&name);
        let draft = path.with_extension(&DRAFT_SUFFIX[1..]);
        let made = Self::draft(&draft, data_file).and_then(|made| fs::rename(&draft, &path).map(|()| made));
        let (file, active, spare) = made.inspect_err(|_| drop(fs::remove_file(&draft)))?;
        Ok(Journal { path, name, _file: file, hasher: DefaultHashBuilder::default(), active, sealed: None, spare: Some(spare) })
    }

    fn draft(path: &Path, data_file: u64) -> io::Result<(File, Segment, Segment)> {
        let mut file = OpenOptions::new().read(true).write(true).create_new(true).open(path)?;
        file.lock()?;
        write_zeros(&mut file, 2 * SEGMENT_BYTES)?;
        let active = Segment::new(map(&file, 0)?, 1, data_file);
        let spare = Segment::new(map(&file, SEGMENT_BYTES)?, 0, data_file);
        Ok((file, active, spare))
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn is_empty(&self) -> bool {
        self.active.is_empty() && self.sealed.is_none()
    }

    /// Whether a segment that could not be folded earlier is waiting.
    pub(super) fn has_sealed(&self) -> bool {
        self.sealed.is_some()
    }

    /// True until the first increment of a generation. The writer must be notified of that one.
    pub(super) fn is_active_empty(&self) -> bool {
        self.active.is_empty()
    }

    /// Adds `by` to a counter. `base` looks up its value, once for each key and generation.
    pub(super) fn add(
        &mut self,
        table: TableId,
        key: &[u8],
        by: i64,
        base: impl FnOnce(&Self) -> Result<i64, Error>,
    ) -> Result<Added, Error> {
        match self.active.add(&self.hasher, table, key, by) {
            Ok(value) => Ok(Added::To(value)),
            Err(Some(value)) => Err(Error::CounterOverflow { value, by }),
            Err(None) => {
                let base = base(self)?;
                let value = base.checked_add(by).ok_or(Error::CounterOverflow { value: base, by })?;
                let is_defined = self.active.define(&self.hasher, Sum { table, key, total: by }, base);
                Ok(if is_defined { Added::To(value) } else { Added::NoRoom })
            }
        }
    }

    /// The active segment's sum of a key.
    pub(super) fn active_total(&self, table: TableId, key: &[u8]) -> i64 {
        self.active.total(&self.hasher, table, key)
    }

    /// The sealed segment's sum of a key, with its generation. It counts for snapshots that do not include it yet.
    pub(super) fn sealed_total(&self, table: TableId, key: &[u8]) -> Option<(u64, i64)> {
        self.sealed.as_ref().map(|sealed| (sealed.generation, sealed.total(&self.hasher, table, key)))
    }

    /// Passes the gathered sums to the writer; further increments go to the other segment. A segment that could not be folded is
    /// returned again.
    pub(super) fn seal(&mut self) -> Option<Sealed> {
        if self.sealed.is_none()
            && !self.active.is_empty()
            && let Some(mut next) = self.spare.take()
        {
            next.reset(self.active.generation + 1);
            self.sealed = Some(Arc::new(std::mem::replace(&mut self.active, next)));
        }
        self.sealed.clone().map(Sealed)
    }

    /// Takes back a segment that has been folded.
    pub(super) fn release(&mut self, folded: Sealed) {
        self.sealed = None;
        self.spare = Arc::into_inner(folded.0);
    }

    /// Removes the file of a completely folded journal.
    pub(super) fn remove(self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }
}

#[allow(unsafe_code)]
fn map(file: &File, at: usize) -> io::Result<MmapMut> {
    // SAFETY: the file is this process's own, locked, allocated on the disk, and never truncated.
    unsafe { MmapOptions::new().offset(at as u64).len(SEGMENT_BYTES).map_mut(file) }
}
