//! A journal in its own folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use elah_clock::Clock;
use elah_journal::{Error, Kind, Options, Position, Progress, Salvaged, SinkLog, boot_id, salvage};

pub const HEADER_BYTES: usize = 32;
pub const SEGMENT_BYTES: usize = 4096;

pub struct Folder {
    dir: tempfile::TempDir,
    /// The ID of the machine's boot for the next opening.
    pub boot: u64,
}

impl Folder {
    pub fn new() -> Self {
        Folder { dir: tempfile::tempdir().expect("a temporary folder"), boot: boot_id() }
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn try_open(&self, progress: Progress) -> Result<SinkLog, Error> {
        let options = Options {
            segment_bytes: SEGMENT_BYTES as u32,
            segments_max: 1000,
            event_bytes_max: 3000,
            sync_pause: Duration::from_secs(3600),
            clock: Clock::System,
            boot: self.boot,
        };
        SinkLog::open(self.path(), progress, options).map(|log| log.expect("is free"))
    }

    pub fn open(&self, progress: Progress) -> SinkLog {
        self.try_open(progress).expect("opens")
    }

    /// The files with a suffix, in order.
    pub fn files(&self, suffix: &str) -> Vec<PathBuf> {
        let mut paths: Vec<_> = fs::read_dir(self.path()).expect("lists").map(|entry| entry.expect("reads").path()).collect();
        paths.retain(|path| path.extension().is_some_and(|it| it == suffix));
        paths.sort();
        paths
    }

    /// Changes the bytes of a file in the segments' order.
    pub fn change(&self, segment: usize, change: impl FnOnce(&mut Vec<u8>)) {
        let path = &self.files("segment")[segment];
        let mut bytes = fs::read(path).expect("reads");
        change(&mut bytes);
        fs::write(path, bytes).expect("writes");
    }

    /// The events that can be salvaged from every segment set aside.
    pub fn salvaged(&self) -> Vec<Salvaged> {
        self.files("damaged").iter().map(|path| salvage(path).expect("reads")).collect()
    }
}

pub fn append(log: &SinkLog, payload: &[u8]) -> Position {
    log.append(None, None, b"s", Kind::Bytes, payload).expect("has room")
}

pub fn sync(log: &SinkLog) {
    let (sender, receiver) = mpsc::channel();
    log.when_synced(log.end(), move |result| sender.send(result).expect("somebody waits"));
    receiver.recv().expect("is told").expect("syncs");
}

pub fn payloads<'r>(records: impl IntoIterator<Item = &'r elah_journal::Record<'r>>) -> Vec<String> {
    records.into_iter().map(|record| String::from_utf8_lossy(&record.payload).into_owned()).collect()
}

/// Everything that a reader finds after `from`.
pub fn everything(log: &SinkLog, mut from: Position) -> Vec<String> {
    let mut found = Vec::new();
    loop {
        let batch = log.read(from, 100, 1 << 20).expect("reads");
        if batch.records.is_empty() {
            return found;
        }
        found.extend(payloads(batch.records.iter().map(|(_, record)| record)));
        from = batch.next;
    }
}
