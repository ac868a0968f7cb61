//! The journal of a sink: an append-only log of events in segment files, with one writing process.
//!
//! An append is a copy into the mapped last segment, which the kernel keeps if the process is killed. A writer thread syncs: at
//! once when a caller waits, otherwise within `sync_pause`. There is no timer before a sync: everything appended during one sync
//! shares the next. A loop calls [`SinkLog::when_synced`] when its iteration ends, for all waiting fibers. A sync takes as much
//! CPU time as several requests, so one per event would dominate the cost. Segments with delivered events are deleted.
//!
//! A journal is a folder `journal-N` with a lock file. The process that holds the lock owns it; the journal of a dead process has
//! no owner.

mod copy;
mod error;
mod id;
mod log;
mod place;
mod record;
mod recovery;
mod salvage;
mod scan;
mod segment;
mod tally;
#[cfg(test)]
mod tests;
mod writer;

use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

pub use copy::whole_bytes;
pub use error::Error;
pub use id::{Id, id_text};
pub use record::{Kind, Record, STREAM_BYTES_MAX};
pub use recovery::{Damage, boot_id};
pub use salvage::{Salvaged, salvage};
pub use scan::{Queued, Scanned, scan};
pub use tally::Tallied;

use elah_clock::Clock;
use log::Log;
use segment::Segment;

/// The options of an open journal.
#[derive(Clone, Debug)]
pub struct Options {
    /// The size of a segment's file, which is allocated on the disk before it is used.
    pub segment_bytes: u32,
    /// The most segments at once.
    pub segments_max: usize,
    /// The most bytes of one event.
    pub event_bytes_max: usize,
    /// The time within which an event is synced if nobody waits for it.
    pub sync_pause: Duration,
    /// The clock for the times of events.
    pub clock: Clock,
    /// The ID of the machine's boot. Bytes that a segment of an earlier boot lacks may never have reached the disk.
    pub boot: u64,
}

/// Its owner keeps it locked.
const LOCK_FILE: &str = "lock";

/// A place between two records: the number of a segment and an offset in it. Later places compare greater.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position(pub u64);

impl Position {
    fn new(segment: u64, offset: u32) -> Self {
        Position(segment << 32 | u64::from(offset))
    }

    fn segment(self) -> u64 {
        self.0 >> 32
    }

    fn offset(self) -> u32 {
        self.0 as u32
    }
}

/// Called once with the result when something has happened, or will never happen.
pub type Done = Box<dyn FnOnce(Result<(), Error>) + Send>;

/// The events that [`SinkLog::read`] found.
#[derive(Debug)]
pub struct Batch {
    /// The records, each with the place after it.
    pub records: Vec<(Position, Record<'static>)>,
    /// The place where the next read continues.
    pub next: Position,
}

/// The place up to which the previous owner has processed the journal.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// Everything before it is delivered, or is a dead letter.
    pub released: Position,
    /// Everything before it is included in the counters of accepted events.
    pub counted: Position,
}

/// An open journal, locked until it is closed or dropped.
pub struct SinkLog {
    dir: PathBuf,
    shared: Arc<Shared>,
    writer: Mutex<Option<JoinHandle<()>>>,
    /// The process that opened it.
    process_id: u32,
}

struct Shared {
    log: Mutex<Log>,
    changed: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SinkLog {
    /// Opens or creates the journal in the folder `dir`, and checks every record after `progress`.
    ///
    /// Returns `None` if another process, or another opening in this one, owns it.
    pub fn open(dir: &Path, progress: Progress, options: Options) -> Result<Option<Self>, Error> {
        fs::create_dir_all(dir).map_err(|error| Error::cannot_open(dir, error))?;
        let Some(lock) = lock(dir)? else { return Ok(None) };
        let log = Log::open(dir, lock, progress, options)?;
        let shared = Arc::new(Shared { log: Mutex::new(log), changed: Condvar::new() });
        let writer = std::thread::Builder::new()
            .name("elah-sink".to_owned())
            .spawn({
                let shared = Arc::clone(&shared);
                move || writer::run(&shared)
            })
            .map_err(|error| Error::cannot_open(dir, error))?;
        Ok(Some(SinkLog { dir: dir.to_owned(), shared, writer: Mutex::new(Some(writer)), process_id: std::process::id() }))
    }

    /// A new ID: in time order within this process, unique among all.
    pub fn next_id(&self) -> Id {
        self.shared.lock().next_id()
    }

    /// Several new IDs, in order.
    pub fn next_ids(&self, count: usize) -> Vec<Id> {
        self.shared.lock().next_ids(count)
    }

    /// The time of the journal's clock, in milliseconds since 1970.
    pub fn now_ms(&self) -> u64 {
        self.shared.lock().options.clock.now_ms()
    }

    /// Appends one event and returns the place after it. From here on the event survives this process.
    ///
    /// Assigns `id` and `accepted_ms` unless they are passed; a repeated event has its own.
    pub fn append(
        &self,
        id: Option<Id>,
        accepted_ms: Option<u64>,
        stream: &[u8],
        kind: Kind,
        payload: &[u8],
    ) -> Result<Position, Error> {
        let mut log = self.shared.lock();
        let end = log.append(id, accepted_ms, stream, kind, &[payload])?;
        self.after_append(log);
        Ok(end)
    }

    /// Appends all of these events, or none if there is no room for all. Each is a stream, an ID and a payload.
    pub fn append_all<'a>(
        &self,
        events: impl Iterator<Item = (&'a [u8], Id, Kind, &'a [u8])> + Clone,
    ) -> Result<Position, Error> {
        let mut log = self.shared.lock();
        log.reserve(events.clone().map(|(stream, _, _, payload)| (stream.len(), payload.len())))?;
        let mut end = log.end();
        let now_ms = log.options.clock.now_ms();
        for (stream, id, kind, payload) in events {
            end = log.append(Some(id), Some(now_ms), stream, kind, &[payload])?;
        }
        self.after_append(log);
        Ok(end)
    }

    /// Appends a JSON event for each item, or none if there is no room for all. Its payload is `head`, the item, and `tail`.
    /// Returns the place after the last event, and the IDs, 16 bytes for each.
    pub fn append_framed<'a>(
        &self,
        stream: &[u8],
        head: &[u8],
        tail: &[u8],
        items: impl ExactSizeIterator<Item = &'a [u8]> + Clone,
    ) -> Result<(Position, Vec<u8>), Error> {
        let mut log = self.shared.lock();
        log.reserve(items.clone().map(|item| (stream.len(), head.len() + item.len() + tail.len())))?;
        let mut end = log.end();
        let mut ids = Vec::with_capacity(items.len() * size_of::<Id>());
        let now_ms = log.options.clock.now_ms();
        for item in items {
            let id = log.next_id_at(now_ms);
            end = log.append(Some(id), Some(now_ms), stream, Kind::Json, &[head, item, tail])?;
            ids.extend_from_slice(&id);
        }
        self.after_append(log);
        Ok((end, ids))
    }

    fn after_append(&self, mut log: MutexGuard<'_, Log>) {
        let (reader, writer_sleeps) = (log.take_reader(), std::mem::take(&mut log.writer_sleeps));
        drop(log);
        if writer_sleeps {
            self.shared.changed.notify_one();
        }
        if let Some(reader) = reader {
            reader(Ok(()));
        }
    }

    /// Calls `done` when everything before `position` is on the disk.
    pub fn when_synced(&self, position: Position, done: impl FnOnce(Result<(), Error>) + Send + 'static) {
        self.when_next_synced(position, done);
        self.sync_up_to(position);
    }

    /// The same, without requesting a sync.
    fn when_next_synced(&self, position: Position, done: impl FnOnce(Result<(), Error>) + Send + 'static) {
        let settled = self.shared.lock().wait_for_sync(position, Box::new(done));
        if let Some((done, result)) = settled {
            done(result);
        }
    }

    /// Whether everything before `position` is on the disk; an error if it never will be.
    pub fn is_synced(&self, position: Position) -> Result<bool, Error> {
        self.shared.lock().is_synced_up_to(position)
    }

    fn sync_up_to(&self, position: Position) {
        let is_wanted = {
            let mut log = self.shared.lock();
            log.want_sync(position);
            log.is_sync_wanted()
        };
        if is_wanted {
            self.shared.changed.notify_one();
        }
    }

    /// Calls `done` when there is an event to read after `position`. One reader waits at a time; a later one replaces it.
    pub fn when_appended(&self, position: Position, done: impl FnOnce(Result<(), Error>) + Send + 'static) {
        let settled = self.shared.lock().wait_for_append(position, Box::new(done));
        if let Some((done, result)) = settled {
            done(result);
        }
    }

    /// Calls `done` when everything before `position` is released. `ticket` is for [`SinkLog::forget`].
    pub fn when_released(&self, position: Position, ticket: u64, done: impl FnOnce(Result<(), Error>) + Send + 'static) {
        let settled = self.shared.lock().wait_for_release(position, ticket, Box::new(done));
        if let Some((done, result)) = settled {
            done(result);
        }
    }

    /// Removes the waiter for a release with this position and ticket.
    pub fn forget(&self, position: Position, ticket: u64) {
        self.shared.lock().forget(position, ticket);
    }

    /// Up to `records_max` records after `position`, of one segment, with up to about `bytes_max` bytes; at least one, if there
    /// is one.
    pub fn read(&self, position: Position, records_max: usize, bytes_max: usize) -> Result<Batch, Error> {
        let source = self.shared.lock().source(position)?;
        let Some(source) = source else { return Ok(Batch { records: Vec::new(), next: position }) };
        source.read(&self.dir, records_max, bytes_max)
    }

    /// Counts of accepted events by stream and minute, and the place up to which they count. Each call returns the part after that
    /// of the last call, of bounded size. Once all events are counted, the place is that after the last record.
    pub fn take_tally(&self) -> (Position, Vec<Tallied>) {
        self.shared.lock().take_tally()
    }

    /// Releases everything before `position`: deletes the segments before its own.
    pub fn release(&self, position: Position) {
        let (delivered, waiters) = self.shared.lock().release(position);
        for number in delivered {
            // The next opening finds and deletes a file that remains.
            let _ = Segment::delete(&self.dir, number);
        }
        for waiter in waiters {
            waiter(Ok(()));
        }
    }

    /// The place after the last record.
    pub fn end(&self) -> Position {
        self.shared.lock().end()
    }

    /// The place up to which everything is released.
    pub fn released(&self) -> Position {
        self.shared.lock().released()
    }

    /// Total size of the files.
    pub fn bytes(&self) -> u64 {
        self.shared.lock().bytes()
    }

    /// The damage found when the journal was opened.
    pub fn damages(&self) -> Vec<Damage> {
        self.shared.lock().damages().to_vec()
    }

    /// Checks that an event as large as the last one can be appended.
    ///
    /// # Errors
    /// The error that an append would return.
    pub fn check(&self) -> Result<(), Error> {
        self.shared.lock().make_room()
    }

    /// True after `close`.
    pub fn is_closed(&self) -> bool {
        self.shared.lock().is_closing()
    }

    /// Syncs, ends the writer and releases the lock. Waiters get `Closed`. If all events are released, no segment remains. In a
    /// fork this does nothing, because thread, lock and files belong to the parent.
    pub fn close(&self) {
        if std::process::id() != self.process_id {
            return;
        }
        self.shared.lock().begin_closing();
        self.shared.changed.notify_one();
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(writer) = writer {
            // A writer that panicked has marked the log as failed.
            let _ = writer.join();
        }
        let waiters = self.shared.lock().close();
        for waiter in waiters {
            waiter(Err(Error::Closed));
        }
    }
}

impl Drop for SinkLog {
    fn drop(&mut self) {
        self.close();
    }
}

fn lock(dir: &Path) -> Result<Option<File>, Error> {
    let path = dir.join(LOCK_FILE);
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(path);
    let file = file.map_err(|error| Error::cannot_open(dir, error))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(Error::cannot_open(dir, error)),
    }
}
