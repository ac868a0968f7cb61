//! The journal's public interface, and recovery from the files of a crash.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc;
use std::time::Duration;

use super::tally::ROWS_MAX;
use super::*;

struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let dir = tempfile::Builder::new().prefix("elah-sink").tempdir().expect("a temporary folder");
        Folder(dir.keep())
    }

    fn open(&self) -> SinkLog {
        self.open_after(Progress::default())
    }

    fn open_after(&self, progress: Progress) -> SinkLog {
        SinkLog::open(&self.0, progress, options()).expect("opens").expect("is free")
    }

    /// The number of segments that this process has open.
    fn open_segments(&self) -> usize {
        let descriptors = fs::read_dir("/proc/self/fd").expect("lists");
        let paths = descriptors.filter_map(|entry| fs::read_link(entry.expect("reads").path()).ok());
        paths.filter(|path| path.starts_with(&self.0) && path.extension().is_some_and(|it| it == "segment")).count()
    }

    fn segments(&self) -> Vec<PathBuf> {
        let mut paths: Vec<_> = fs::read_dir(&self.0).expect("lists").map(|entry| entry.expect("reads").path()).collect();
        paths.retain(|path| path.extension().is_some_and(|it| it == "segment"));
        paths.sort();
        paths
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn options() -> Options {
    Options {
        segment_bytes: 4096,
        segments_max: 4,
        event_bytes_max: 1000,
        sync_pause: Duration::from_secs(3600),
        clock: Clock::Manual(Arc::new(AtomicU64::new(120_000))),
        boot: boot_id(),
    }
}

fn append(log: &SinkLog, payload: &str) -> Result<Position, Error> {
    log.append(None, None, b"s", Kind::Json, payload.as_bytes())
}

fn everything(log: &SinkLog, mut from: Position) -> Vec<String> {
    let mut found = Vec::new();
    loop {
        let batch = log.read(from, 3, 1 << 20).expect("reads");
        if batch.records.is_empty() {
            return found;
        }
        found.extend(batch.records.iter().map(|(_, record)| String::from_utf8_lossy(&record.payload).into_owned()));
        from = batch.next;
    }
}

fn synced(log: &SinkLog, position: Position) -> Result<(), Error> {
    let (sender, receiver) = mpsc::channel();
    log.when_synced(position, move |result| sender.send(result).expect("somebody waits"));
    receiver.recv().expect("is told")
}

#[test]
fn what_was_appended_is_read_in_order_across_segments() {
    let folder = Folder::new();
    let log = folder.open();
    let payloads: Vec<String> = (0..30).map(|n| format!("{n}-{}", "x".repeat(300))).collect();
    for payload in &payloads {
        append(&log, payload).expect("has room");
    }
    assert_eq!(everything(&log, Position::default()), payloads);
    assert!(folder.segments().len() > 1);
}

#[test]
fn an_opening_finds_what_the_last_one_left() {
    let folder = Folder::new();
    let log = folder.open();
    let first = append(&log, "1").expect("has room");
    append(&log, "2").expect("has room");
    assert!(SinkLog::open(&folder.0, Progress::default(), options()).expect("opens").is_none(), "it has an owner");
    drop(log);
    let log = folder.open_after(Progress { released: first, counted: first });
    assert_eq!(everything(&log, first), ["2"]);
    let tally = log.take_tally().1;
    assert_eq!(tally, [Tallied { stream: b"s".to_vec(), minute: 2, events: 1 }]);
    append(&log, "3").expect("has room");
    assert_eq!(everything(&log, first), ["2", "3"]);
}

/// The ledger stores each part in one transaction. All counts together were too many for one after an outage with many streams.
#[test]
fn counts_come_in_parts_that_continue_after_the_last_one() {
    let folder = Folder::new();
    let roomy = Options { segment_bytes: 1 << 20, ..options() };
    let open = |progress| SinkLog::open(&folder.0, progress, roomy.clone()).expect("opens").expect("is free");
    let log = open(Progress::default());
    let mut ends = Vec::new();
    for n in 0..=ROWS_MAX {
        ends.push(log.append(None, None, format!("s{n}").as_bytes(), Kind::Json, b"1").expect("has room"));
    }
    let (counted, rows) = log.take_tally();
    assert_eq!((counted, rows.len()), (ends[ROWS_MAX - 1], ROWS_MAX));
    drop(log);
    let log = open(Progress { released: Position::default(), counted });
    let last = Tallied { stream: format!("s{ROWS_MAX}").into_bytes(), minute: 2, events: 1 };
    assert_eq!(log.take_tally(), (ends[ROWS_MAX], vec![last]));
    assert_eq!(log.take_tally(), (ends[ROWS_MAX], vec![]));
}

#[test]
fn a_full_journal_refuses_and_goes_on_when_events_are_released() {
    let folder = Folder::new();
    let log = folder.open();
    let mut appended = Vec::new();
    let error = loop {
        match append(&log, &"x".repeat(900)) {
            Ok(position) => appended.push(position),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, Error::Full { .. }), "{error}");
    assert_eq!(folder.segments().len(), 4);
    assert_eq!(everything(&log, Position::default()).len(), appended.len());
    log.release(appended[5]);
    assert_eq!(folder.segments().len(), 3, "the segment of the place stays");
    append(&log, "more").expect("has room again");
}

#[test]
fn a_batch_is_taken_whole_or_not_at_all() {
    let folder = Folder::new();
    let log = folder.open();
    let payload = vec![b'x'; 900];
    let batch = |count: usize| std::iter::repeat_n((&b"s"[..], [1; 16], Kind::Bytes, &payload[..]), count);
    assert!(matches!(log.append_all(batch(20)), Err(Error::Full { .. })));
    assert!(everything(&log, Position::default()).is_empty());
    let large = [0; 1001];
    let with_large = batch(1).chain(std::iter::once((&b"s"[..], [1; 16], Kind::Bytes, &large[..])));
    assert!(matches!(log.append_all(with_large), Err(Error::TooLarge { bytes: 1001, .. })));
    log.append_all(batch(10)).expect("has room");
    assert_eq!(everything(&log, Position::default()).len(), 10);
}

#[test]
fn items_in_a_frame_are_taken_whole_or_not_at_all() {
    let folder = Folder::new();
    let log = folder.open();
    let append = |items: &[&'static str]| log.append_framed(b"s", b"<", b">", items.iter().map(|item| item.as_bytes()));
    let (end, ids) = append(&["1", "", "3"]).expect("has room");
    assert_eq!(end, log.end());
    let batch = log.read(Position::default(), 10, 1 << 20).expect("reads");
    let found: Vec<_> = batch.records.iter().map(|(_, record)| String::from_utf8_lossy(&record.payload).into_owned()).collect();
    assert_eq!(found, ["<1>", "<>", "<3>"]);
    assert_eq!(ids, batch.records.iter().flat_map(|(_, record)| record.id).collect::<Vec<_>>());
    let large: &'static str = "x".repeat(999).leak();
    assert!(matches!(append(&["1", large]), Err(Error::TooLarge { bytes: 1001, .. })), "the frame counts");
    let half: &'static str = "x".repeat(900).leak();
    assert!(matches!(append(&[half; 20]), Err(Error::Full { .. })));
    assert_eq!(log.end(), end);
    assert_eq!(append(&[half; 10]).expect("has room").1.len(), 160);
}

/// Truncates and overwrites the segment at every byte of its second record: the first record is always found, never a wrong one.
#[test]
fn a_torn_or_damaged_tail_costs_nothing_before_it() {
    for at in 0..60 {
        for is_cut in [true, false] {
            let folder = Folder::new();
            let log = folder.open();
            let first = append(&log, "whole").expect("has room");
            append(&log, "torn in the middle").expect("has room");
            drop(log);
            let path = &folder.segments()[0];
            let mut bytes = fs::read(path).expect("reads");
            let at = first.offset() as usize + at;
            match is_cut {
                true => bytes[at..].fill(0),
                false => bytes[at] ^= 0xff,
            }
            fs::write(path, bytes).expect("writes");
            let log = folder.open();
            let found = everything(&log, Position::default());
            assert_eq!(found[0], "whole");
            assert!(found.len() == 1 || found[1] == "torn in the middle", "{found:?}");
            append(&log, "after").expect("has room");
            assert_eq!(everything(&log, Position::default()).last().map(String::as_str), Some("after"));
        }
    }
}

#[test]
fn a_waiter_is_told_after_the_sync_and_others_share_it() {
    let folder = Folder::new();
    let log = folder.open();
    let position = append(&log, "1").expect("has room");
    assert_eq!(synced(&log, position), Ok(()));
    assert_eq!(synced(&log, Position::default()), Ok(()));
}

#[test]
fn waiters_for_a_release_are_told_in_time_or_forgotten() {
    let folder = Folder::new();
    let log = folder.open();
    let (sender, receiver) = mpsc::channel();
    let positions: Vec<_> = (0..3).map(|n| append(&log, &n.to_string()).expect("has room")).collect();
    for (ticket, position) in positions.iter().enumerate() {
        let sender = sender.clone();
        log.when_released(*position, ticket as u64, move |result| sender.send((ticket, result)).expect("somebody waits"));
    }
    log.forget(positions[1], 1);
    log.release(positions[1]);
    assert_eq!(receiver.try_recv(), Ok((0, Ok(()))));
    log.close();
    assert_eq!(receiver.try_recv(), Ok((2, Err(Error::Closed))));
}

#[test]
fn a_reader_is_woken_by_an_append() {
    let folder = Folder::new();
    let log = folder.open();
    let (sender, receiver) = mpsc::channel();
    log.when_appended(log.end(), move |result| sender.send(result).expect("somebody waits"));
    assert!(receiver.try_recv().is_err());
    append(&log, "1").expect("has room");
    assert_eq!(receiver.try_recv(), Ok(Ok(())));
}

#[test]
fn a_scan_counts_what_is_queued_while_the_owner_goes_on() {
    let folder = Folder::new();
    let log = folder.open();
    let positions: Vec<_> = (0..40).map(|n| append(&log, &format!("{n}{}", "x".repeat(200))).expect("has room")).collect();
    let progress = Progress { released: positions[9], counted: positions[29] };
    let counted = scan(&folder.0, progress, true).expect("reads").expect("nothing went away");
    let queued = Tallied { stream: b"s".to_vec(), minute: 2, events: 30 };
    assert_eq!(counted, Scanned { events: vec![Queued { queued, uncounted: 10 }], damaged: 0 });
    log.release(positions[39]);
    assert_eq!(scan(&folder.0, progress, true), Ok(None), "its first segment is gone");
    log.close();
    assert!(folder.segments().is_empty(), "nothing in it was left to do");
    assert_eq!(
        scan(&folder.0, Progress { released: positions[39], counted: positions[39] }, false),
        Ok(Some(Scanned::default()))
    );
}

#[test]
fn ids_are_ordered_unique_and_of_version_7() {
    let time = Arc::new(AtomicU64::new(1_000_000));
    let folder = Folder::new();
    let options = Options { clock: Clock::Manual(Arc::clone(&time)), ..options() };
    let log = SinkLog::open(&folder.0, Progress::default(), options).expect("opens").expect("is free");
    let mut ids: Vec<Id> = (0..10_000).map(|_| log.next_id()).collect();
    time.store(10, std::sync::atomic::Ordering::Release);
    ids.extend((0..10).map(|_| log.next_id()));
    assert!(ids.is_sorted() && ids.windows(2).all(|pair| pair[0] != pair[1]), "also when the clock jumps back");
    assert!(ids.iter().all(|id| id[6] >> 4 == 7 && id[8] >> 6 == 2));
}

#[test]
fn one_request_for_a_sync_is_for_all_that_was_appended_before() {
    let folder = Folder::new();
    let log = folder.open();
    let (sender, receiver) = mpsc::channel();
    let tell = |n: u8| {
        let sender = sender.clone();
        move |result| sender.send((n, result)).expect("somebody waits")
    };
    for n in 0..2 {
        let position = append(&log, "x").expect("has room");
        assert_eq!(log.is_synced(position), Ok(false));
        log.when_next_synced(position, tell(n));
    }
    assert!(receiver.try_recv().is_err(), "nobody has asked");
    log.when_synced(log.end(), tell(2));
    let told: Vec<_> = receiver.iter().take(3).collect();
    assert_eq!(told, [(0, Ok(())), (1, Ok(())), (2, Ok(()))]);
    assert_eq!(log.is_synced(log.end()), Ok(true));
    log.when_next_synced(log.end(), tell(3));
    assert_eq!(receiver.try_recv(), Ok((3, Ok(()))), "what is on the disk needs no sync");
}

/// A worker whose destination was down for long once had a descriptor for each segment, and none was left for connections.
#[test]
fn a_long_backlog_takes_no_descriptors() {
    let folder = Folder::new();
    let many = || Options { segments_max: 100, ..options() };
    let open = |progress| SinkLog::open(&folder.0, progress, many()).expect("opens").expect("is free");
    let log = open(Progress::default());
    let payloads: Vec<String> = (0..200).map(|n| format!("{n}-{}", "x".repeat(900))).collect();
    let mut end = Position::default();
    for payload in &payloads {
        end = append(&log, payload).expect("has room");
    }
    assert_eq!(synced(&log, end), Ok(()));
    assert!(folder.segments().len() >= 50);
    assert_eq!(folder.open_segments(), 1, "beside the one that is appended to");
    assert_eq!(everything(&log, Position::default()), payloads);
    assert_eq!(folder.open_segments(), 1, "after they were read");
    drop(log);

    let log = open(Progress::default());
    assert_eq!(folder.open_segments(), 0, "after they were found");
    assert_eq!(everything(&log, Position::default()), payloads);
    log.release(log.end());
    assert_eq!(folder.segments().len(), 1);
}

#[test]
fn what_nobody_waits_for_is_synced_again_and_again() {
    let folder = Folder::new();
    let options = Options { sync_pause: Duration::from_millis(5), ..options() };
    let log = SinkLog::open(&folder.0, Progress::default(), options).expect("opens").expect("is free");
    for _ in 0..5 {
        let position = append(&log, "x").expect("has room");
        let (sender, receiver) = mpsc::channel();
        log.when_next_synced(position, move |result| sender.send(result).expect("somebody waits"));
        assert_eq!(receiver.recv_timeout(Duration::from_secs(60)), Ok(Ok(())), "without being asked");
    }
}

#[test]
fn an_id_is_shown_as_a_uuid() {
    let id = [0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0x7c, 0xde, 0x8f, 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd];
    assert_eq!(id_text(&id), "01234567-89ab-7cde-8f01-23456789abcd");
}

#[test]
fn a_copy_of_a_segment_leaves_out_a_record_in_the_making() {
    let folder = Folder::new();
    let log = folder.open();
    append(&log, "kept").expect("is appended");
    let path = folder.segments().remove(0);
    let end = whole_bytes(&path).expect("reads");
    append(&log, "later").expect("is appended");
    // The payload of a record whose beginning was read before it was written.
    let mut copy = fs::read(&path).expect("reads");
    let beginning = end as usize..end as usize + 8;
    copy[beginning].fill(0);
    assert!(copy[end as usize..].iter().any(|byte| *byte != 0));
    copy[end as usize..].fill(0);
    drop(log);
    fs::write(&path, copy).expect("writes");
    let log = folder.open();
    assert_eq!(log.damages(), []);
    assert_eq!(everything(&log, Position::default()), ["kept"]);
}

#[test]
fn a_copy_of_a_damaged_segment_has_all_bytes() {
    let folder = Folder::new();
    let log = folder.open();
    append(&log, "damaged").expect("is appended");
    append(&log, "readable").expect("is appended");
    drop(log);
    let path = folder.segments().remove(0);
    let mut bytes = fs::read(&path).expect("reads");
    let end = whole_bytes(&path).expect("reads");
    bytes[60] ^= 1;
    fs::write(&path, &bytes).expect("writes");
    assert!(end < 4096);
    assert_eq!(whole_bytes(&path), Ok(4096));
}

/// Syncs of files that nobody finds any more were confirmed. Then, a moment of that made an end of the journal.
#[test]
fn a_journal_that_is_moved_away_confirms_nothing_until_it_is_back() {
    for part in ["", LOCK_FILE, "0000000000000001.segment"] {
        let folder = Folder::new();
        let options = Options { sync_pause: Duration::from_millis(1), ..options() };
        let log = SinkLog::open(&folder.0, Progress::default(), options).expect("opens").expect("is free");
        let end = append(&log, "before").expect("has room");
        synced(&log, end).expect("a sync");
        let (from, moved) = (folder.0.join(part), folder.0.with_extension("moved"));
        fs::rename(&from, &moved).expect("a move");
        let end = append(&log, "meanwhile").expect("has room");
        let refused = synced(&log, end).expect_err("nobody would find it").to_string();
        assert!(refused.contains("was removed, moved or replaced"), "{refused}");
        assert!(matches!(append(&log, "refused"), Err(Error::Displaced { .. })));
        fs::rename(&moved, &from).expect("a move");
        let end = loop {
            match append(&log, "after") {
                Ok(end) => break end,
                Err(error) => assert!(matches!(error, Error::Displaced { .. }), "{error}"),
            }
        };
        synced(&log, end).expect("a sync");
        assert_eq!(everything(&log, Position::default()), ["before", "meanwhile", "after"]);
    }
}

#[test]
fn a_displaced_journal_closes() {
    let folder = Folder::new();
    let log = folder.open();
    append(&log, "lost").expect("has room");
    fs::remove_file(folder.0.join(LOCK_FILE)).expect("is removed");
    log.close();
    assert!(log.is_closed());
}
