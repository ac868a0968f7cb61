//! The state of an open journal: its segments, how far it is appended, synced and released, and the waiters for that.

use std::collections::{BTreeMap, VecDeque};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use memmap2::MmapMut;

use super::id::{Id, Ids};
use super::place::Place;
use super::record::{self, Kind};
use super::recovery::{self, Damage, Expected};
use super::segment::{Files, HEADER_BYTES, Segment};
use super::tally::{Tallied, Tally};
use super::{Batch, Done, Error, Options, Position, Progress, STREAM_BYTES_MAX};

/// A waiter with its result.
pub(super) type Settled = (Done, Result<(), Error>);

pub(super) struct Log {
    dir: PathBuf,
    /// Locked while the journal is open.
    lock: Option<File>,
    place: Arc<Place>,
    /// The folder itself, open for the same time, so that a sync never fails for lack of a descriptor.
    folder: Option<Arc<File>>,
    pub(super) options: Options,
    ids: Ids,
    tally: Tally,
    sealed: VecDeque<Filled>,
    /// Sealed segments that are not synced. Only a file that stays open reports a failed write reliably.
    unsynced: Vec<Arc<Segment>>,
    active: Option<Active>,
    /// Prepared segments that a batch will need.
    spares: VecDeque<Active>,
    next_number: u64,
    end: Position,
    synced: Position,
    /// The place up to which a sync is requested.
    wanted: Position,
    released: Position,
    /// Whether a new segment's name is not synced yet.
    has_new_name: bool,
    reader: Option<(Position, Done)>,
    sync_waiters: Vec<(Position, Done)>,
    release_waiters: BTreeMap<(Position, u64), Done>,
    damages: Vec<Damage>,
    /// The bytes of stream name and payload of the last event that was small enough, whether there was room for it or not.
    last_event: (usize, usize),
    failure: Option<Error>,
    is_closing: bool,
    /// Whether the writer must be woken by an append.
    pub(super) writer_sleeps: bool,
}

/// A full segment and the offset of its end. There can be thousands while a destination is down, so a file is open only while it
/// is read.
struct Filled {
    number: u64,
    end: u32,
}

/// The segment to which records are appended.
struct Active {
    segment: Arc<Segment>,
    map: MmapMut,
    end: u32,
}

/// The work of one sync.
pub(super) struct Unsynced {
    pub(super) up_to: Position,
    pub(super) segments: Vec<Arc<Segment>>,
    pub(super) folder: Option<Arc<File>>,
    pub(super) place: Arc<Place>,
}

/// A part of a segment that can be read without the log.
pub(super) struct Source {
    number: u64,
    from: u32,
    to: u32,
}

impl Log {
    pub(super) fn open(dir: &Path, lock: File, progress: Progress, options: Options) -> Result<Self, Error> {
        let opened = |error| Error::cannot_open(dir, error);
        let mut log = Log {
            dir: dir.to_owned(),
            place: Arc::new(Place::of(dir, &lock).map_err(opened)?),
            lock: Some(lock),
            folder: Some(Arc::new(File::open(dir).map_err(opened)?)),
            options,
            ids: Ids::new().map_err(opened)?,
            tally: Tally::default(),
            sealed: VecDeque::new(),
            unsynced: Vec::new(),
            active: None,
            spares: VecDeque::new(),
            next_number: progress.released.segment().max(progress.counted.segment()) + 1,
            end: progress.released,
            synced: progress.released,
            wanted: Position::default(),
            released: progress.released,
            has_new_name: false,
            reader: None,
            sync_waiters: Vec::new(),
            release_waiters: BTreeMap::new(),
            damages: Vec::new(),
            last_event: (0, 0),
            failure: None,
            is_closing: false,
            writer_sleeps: false,
        };
        log.recover_all(progress).map_err(opened)?;
        Ok(log)
    }

    /// Takes over what an earlier process has left. It is unknown how much of it is on the disk; when this returns, all of it is.
    fn recover_all(&mut self, progress: Progress) -> io::Result<()> {
        let files = Files::list(&self.dir)?;
        // A segment of another format is refused before anything changes.
        files.segments.iter().try_for_each(|number| Segment::open(&self.dir, *number)?.header().map(drop))?;
        files.new.iter().try_for_each(fs::remove_file)?;
        // A number that no position can hold belongs to a file that somebody has renamed.
        let last = files.segments.iter().chain(&files.damaged).filter(|number| **number < u64::from(u32::MAX)).max();
        self.next_number = last.map_or(self.next_number, |last| self.next_number.max(last + 1));
        for (at, number) in files.segments.iter().enumerate() {
            if *number < progress.released.segment() {
                self.damages.extend(recovery::delete(&self.dir, *number)?);
            } else {
                self.recover(*number, &files.segments[at + 1..], progress)?;
            }
        }
        self.synced = self.end;
        self.folder.iter().filter(|_| !self.sealed.is_empty()).try_for_each(|folder| folder.sync_all())
    }

    /// Takes over all records of a segment up to the first incomplete one. Released records need not be complete.
    fn recover(&mut self, number: u64, later: &[u64], progress: Progress) -> io::Result<()> {
        let offset = |position: Position| if number == position.segment() { position.offset() } else { HEADER_BYTES };
        let expected = Expected { from: offset(progress.released), to: offset(progress.counted) };
        let tally = &mut self.tally;
        let recovered = recovery::recover(&self.dir, number, expected, (self.options.boot, later), |end, record| {
            let end = Position::new(number, end);
            if end > progress.counted {
                tally.add(end, &record.stream, record.accepted_ms);
            }
        })?;
        self.damages.extend(recovered.damage);
        if recovered.end > HEADER_BYTES {
            self.end = self.end.max(Position::new(number, recovered.end));
            self.sealed.push_back(Filled { number, end: recovered.end });
        }
        Ok(())
    }

    pub(super) fn next_id(&mut self) -> Id {
        self.next_id_at(self.options.clock.now_ms())
    }

    /// The same for a caller that has read the clock.
    pub(super) fn next_id_at(&mut self, now_ms: u64) -> Id {
        self.ids.next(now_ms)
    }

    pub(super) fn next_ids(&mut self, count: usize) -> Vec<Id> {
        let now_ms = self.options.clock.now_ms();
        (0..count).map(|_| self.ids.next(now_ms)).collect()
    }

    pub(super) fn append(
        &mut self,
        id: Option<Id>,
        accepted_ms: Option<u64>,
        stream: &[u8],
        kind: Kind,
        payload: &[&[u8]],
    ) -> Result<Position, Error> {
        let bytes = self.check(stream.len(), record::bytes_of(payload))?;
        let accepted_ms = accepted_ms.unwrap_or_else(|| self.options.clock.now_ms());
        let id = id.unwrap_or_else(|| self.ids.next(accepted_ms));
        let segment_bytes = self.options.segment_bytes;
        let active = match &mut self.active {
            Some(active) if active.end + bytes <= segment_bytes => active,
            _ => self.roll()?,
        };
        let at = active.end as usize;
        record::write(&mut active.map[at..at + bytes as usize], accepted_ms, &id, kind, stream, payload);
        active.end += bytes;
        self.end = Position::new(active.segment.number, active.end);
        self.tally.add(self.end, stream, accepted_ms);
        Ok(self.end)
    }

    /// The size of a record that may be appended, or an error.
    fn check(&mut self, stream_bytes: usize, payload_bytes: usize) -> Result<u32, Error> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        if self.is_closing {
            return Err(Error::Closed);
        }
        if stream_bytes > STREAM_BYTES_MAX {
            return Err(Error::StreamTooLong { bytes: stream_bytes });
        }
        let bytes = record::size(stream_bytes, payload_bytes);
        let bytes_max = self.options.event_bytes_max;
        if payload_bytes > bytes_max || bytes > (self.options.segment_bytes - HEADER_BYTES) as usize {
            return Err(Error::TooLarge { bytes: payload_bytes, bytes_max });
        }
        self.last_event = (stream_bytes, payload_bytes);
        Ok(bytes as u32)
    }

    /// Makes room for an event as large as the last one.
    pub(super) fn make_room(&mut self) -> Result<(), Error> {
        self.reserve(std::iter::once(self.last_event))
    }

    /// Makes room for all these records.
    pub(super) fn reserve(&mut self, records: impl Iterator<Item = (usize, usize)>) -> Result<(), Error> {
        let segment_bytes = self.options.segment_bytes;
        let mut end = self.active.as_ref().map_or(segment_bytes, |active| active.end);
        let mut segments = 0;
        for (stream_bytes, payload_bytes) in records {
            let bytes = self.check(stream_bytes, payload_bytes)?;
            if end + bytes > segment_bytes {
                segments += 1;
                end = HEADER_BYTES;
            }
            end += bytes;
        }
        while self.spares.len() < segments {
            let spare = self.create()?;
            self.spares.push_back(spare);
        }
        Ok(())
    }

    fn roll(&mut self) -> Result<&mut Active, Error> {
        let next = match self.spares.pop_front() {
            Some(spare) => spare,
            None => self.create()?,
        };
        if let Some(Active { segment, end, .. }) = self.active.take() {
            self.sealed.push_back(Filled { number: segment.number, end });
            self.unsynced.push(segment);
        }
        Ok(self.active.insert(next))
    }

    fn create(&mut self) -> Result<Active, Error> {
        let Options { segment_bytes, segments_max, boot, .. } = self.options;
        let segments = self.segments();
        if segments >= segments_max {
            let bytes = segments_max as u64 * u64::from(segment_bytes);
            return Err(Error::Full { what: format!("all of its {bytes} bytes hold events that are not delivered") });
        }
        let created = Segment::create(&self.dir, self.next_number, boot, segment_bytes);
        let (segment, map) = created.map_err(|error| Error::Full { what: format!("no segment could be made ({error})") })?;
        self.next_number += 1;
        self.has_new_name = true;
        Ok(Active { segment: Arc::new(segment), map, end: HEADER_BYTES })
    }

    fn segments(&self) -> usize {
        self.sealed.len() + usize::from(self.active.is_some()) + self.spares.len()
    }

    pub(super) fn source(&self, position: Position) -> Result<Option<Source>, Error> {
        if self.lock.is_none() {
            return Err(Error::Closed);
        }
        let sealed = self.sealed.iter().map(|filled| (filled.number, filled.end));
        let active = self.active.iter().map(|active| (active.segment.number, active.end));
        Ok(sealed.chain(active).find_map(|(number, to)| {
            let from = if number == position.segment() { position.offset().max(HEADER_BYTES) } else { HEADER_BYTES };
            let is_ahead = number >= position.segment() && from < to;
            is_ahead.then_some(Source { number, from, to })
        }))
    }

    pub(super) fn take_tally(&mut self) -> (Position, Vec<Tallied>) {
        self.tally.take(self.end)
    }

    /// The numbers of the segments that are no longer needed, and the waiters whose events are released.
    pub(super) fn release(&mut self, position: Position) -> (Vec<u64>, Vec<Done>) {
        self.released = self.released.max(position);
        let needed = self.sealed.partition_point(|filled| filled.number < position.segment());
        let delivered = self.sealed.drain(..needed).map(|filled| filled.number).collect();
        self.unsynced.retain(|segment| segment.number >= position.segment());
        let later = self.release_waiters.split_off(&(Position(position.0 + 1), 0));
        let waiters = std::mem::replace(&mut self.release_waiters, later);
        (delivered, waiters.into_values().collect())
    }

    pub(super) fn wait_for_append(&mut self, position: Position, done: Done) -> Option<Settled> {
        if self.end > position {
            return Some((done, Ok(())));
        }
        match self.closed() {
            Some(error) => Some((done, Err(error))),
            None => self.reader.replace((position, done)).map(|(_, earlier)| (earlier, Ok(()))),
        }
    }

    /// The reader that waits for what has just been appended.
    pub(super) fn take_reader(&mut self) -> Option<Done> {
        self.reader.take().map(|(_, done)| done)
    }

    pub(super) fn wait_for_sync(&mut self, position: Position, done: Done) -> Option<Settled> {
        match self.is_synced_up_to(position) {
            Ok(true) => Some((done, Ok(()))),
            Ok(false) => {
                self.sync_waiters.push((position, done));
                None
            }
            Err(error) => Some((done, Err(error))),
        }
    }

    pub(super) fn is_synced_up_to(&self, position: Position) -> Result<bool, Error> {
        if self.synced >= position {
            return Ok(true);
        }
        self.failure.clone().or_else(|| self.closed()).map_or(Ok(false), Err)
    }

    pub(super) fn wait_for_release(&mut self, position: Position, ticket: u64, done: Done) -> Option<Settled> {
        if self.released >= position {
            return Some((done, Ok(())));
        }
        match self.closed() {
            Some(error) => Some((done, Err(error))),
            None => {
                self.release_waiters.insert((position, ticket), done);
                None
            }
        }
    }

    pub(super) fn forget(&mut self, position: Position, ticket: u64) {
        self.release_waiters.remove(&(position, ticket));
    }

    fn closed(&self) -> Option<Error> {
        self.is_closing.then_some(Error::Closed)
    }

    pub(super) fn end(&self) -> Position {
        self.end
    }

    pub(super) fn released(&self) -> Position {
        self.released
    }

    pub(super) fn bytes(&self) -> u64 {
        self.segments() as u64 * u64::from(self.options.segment_bytes)
    }

    /// The damage that the opening found.
    pub(super) fn damages(&self) -> &[Damage] {
        &self.damages
    }

    pub(super) fn is_synced(&self) -> bool {
        self.synced >= self.end
    }

    /// Requests a sync of everything before `position`.
    pub(super) fn want_sync(&mut self, position: Position) {
        self.wanted = self.wanted.max(position);
    }

    pub(super) fn is_sync_wanted(&self) -> bool {
        self.wanted > self.synced
    }

    pub(super) fn is_closing(&self) -> bool {
        self.is_closing
    }

    /// Whether no sync can settle anything any more.
    pub(super) fn has_failed(&self) -> bool {
        self.failure.is_some() && !self.is_displaced()
    }

    /// Whether the last sync was of files that nobody would find. Each further one looks again.
    pub(super) fn is_displaced(&self) -> bool {
        matches!(self.failure, Some(Error::Displaced { .. }))
    }

    /// Whether the segment has events that are not released.
    pub(super) fn needs(&self, number: u64) -> bool {
        number >= self.released.segment()
    }

    pub(super) fn unsynced(&mut self) -> Unsynced {
        let active = self.active.iter().map(|active| &active.segment);
        let segments = self.unsynced.iter().chain(active).map(Arc::clone).collect();
        let folder = self.folder.clone().filter(|_| std::mem::take(&mut self.has_new_name));
        Unsynced { up_to: self.end, segments, folder, place: Arc::clone(&self.place) }
    }

    /// The waiters that a sync has settled. After a failed sync nothing is appended any more, or as long as the files are displaced.
    pub(super) fn settle_sync(&mut self, up_to: Position, result: Result<(), Error>) -> Vec<Settled> {
        match result {
            Ok(()) => {
                self.failure.take_if(|failure| matches!(failure, Error::Displaced { .. }));
                self.synced = self.synced.max(up_to);
                self.unsynced.retain(|segment| segment.number >= up_to.segment());
                let (settled, waiting): (Vec<_>, _) =
                    std::mem::take(&mut self.sync_waiters).into_iter().partition(|(position, _)| *position <= up_to);
                self.sync_waiters = waiting;
                settled.into_iter().map(|(_, done)| (done, Ok(()))).collect()
            }
            Err(error) => {
                if !self.has_failed() {
                    self.failure = Some(error.clone());
                }
                self.wanted = self.synced; // nobody waits any more
                std::mem::take(&mut self.sync_waiters).into_iter().map(|(_, done)| (done, Err(error.clone()))).collect()
            }
        }
    }

    pub(super) fn begin_closing(&mut self) {
        self.is_closing = true;
    }

    /// Drops everything and returns the remaining waiters.
    pub(super) fn close(&mut self) -> Vec<Done> {
        if self.released >= self.end && self.lock.is_some() {
            let sealed = self.sealed.iter().map(|filled| filled.number);
            for number in sealed.chain(self.active.iter().chain(&self.spares).map(|active| active.segment.number)) {
                // The next opening finds and deletes a file that remains.
                let _ = Segment::delete(&self.dir, number);
            }
        }
        self.lock = None;
        self.folder = None;
        self.active = None;
        self.spares.clear();
        self.sealed.clear();
        self.unsynced.clear();
        let mut waiters: Vec<Done> = std::mem::take(&mut self.sync_waiters).into_iter().map(|(_, done)| done).collect();
        waiters.extend(std::mem::take(&mut self.release_waiters).into_values());
        waiters.extend(self.take_reader());
        waiters
    }
}

impl Source {
    pub(super) fn read(&self, dir: &Path, records_max: usize, bytes_max: usize) -> Result<Batch, Error> {
        let number = self.number;
        let mut records = Vec::new();
        let mut bytes = 0;
        let segment = Segment::open(dir, number);
        let walked = segment.and_then(|segment| {
            segment.walk(self.from, Some(self.to), |end, record| {
                bytes += record.payload.len();
                records.push((Position::new(number, end), record.into_owned()));
                records.len() < records_max && bytes < bytes_max
            })
        });
        let walked = walked.map_err(|error| Error::unread(&error))?;
        match records.last() {
            Some((next, _)) => Ok(Batch { next: *next, records }),
            None => Err(Error::Damaged { path: Segment::path(dir, number), offset: walked.end }),
        }
    }
}
