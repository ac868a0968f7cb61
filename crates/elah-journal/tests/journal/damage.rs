//! Damage among accepted events is kept, reported and salvaged. The traces of a killed process or a power loss do not count as
//! damage.

use std::fs;

use elah_journal::{Damage, Error, Position, Progress, scan};

use super::support::{Folder, HEADER_BYTES, SEGMENT_BYTES, append, everything, payloads, sync};

/// A closed journal with the events 0 to 9, and where each ends.
fn ten() -> (Folder, Vec<usize>) {
    let folder = Folder::new();
    let log = folder.open(Progress::default());
    let ends = (0..10).map(|number| append(&log, format!("event {number}").as_bytes()).0 as u32 as usize).collect();
    sync(&log);
    drop(log);
    (folder, ends)
}

fn events(numbers: std::ops::Range<u32>) -> Vec<String> {
    numbers.map(|number| format!("event {number}")).collect()
}

/// The events that an opening delivers, its damage, and the events that can be salvaged.
fn opened(folder: &Folder) -> (Vec<String>, Vec<Damage>, Vec<String>) {
    let log = folder.open(Progress::default());
    let found = everything(&log, Position::default());
    (found, log.damages(), folder.salvaged().iter().flat_map(|salvaged| payloads(&salvaged.records)).collect())
}

/// For any change of the segment at its event 4: earlier events are delivered, later ones are kept, and the report counts the
/// file.
fn assert_kept(folder: &Folder, from: u32, salvaged: std::ops::Range<u32>) {
    let (found, damages, behind) = opened(folder);
    assert_eq!(found, events(0..from));
    assert_eq!(behind, events(salvaged.clone()));
    assert_eq!(folder.files("damaged"), damages.iter().map(|damage| damage.path.clone()).collect::<Vec<_>>());
    assert!(matches!(&damages[..], [Damage { is_torn: false, .. }]), "{damages:?}");
    assert_eq!(scan(folder.path(), Progress::default(), false).expect("reads").expect("is there").damaged, 1);
    let (again, damages, behind) = opened(folder);
    assert_eq!((again, damages, behind), (found, Vec::new(), events(salvaged)), "the second opening finds nothing new");
}

#[test]
fn a_flipped_bit_keeps_the_events_behind_it() {
    let (folder, ends) = ten();
    folder.change(0, |bytes| bytes[ends[3] + 20] ^= 4);
    assert_kept(&folder, 4, 5..10);
}

/// The ledger has counted all events, also after those behind the damage are set aside.
#[test]
fn damage_among_counted_events_is_found_once() {
    let (folder, ends) = ten();
    let progress = Progress { released: Position::default(), counted: Position(1 << 32 | ends[9] as u64) };
    folder.change(0, |bytes| bytes[ends[3] + 20] ^= 4);
    assert_eq!(folder.open(progress).damages().len(), 1);
    fs::rename(&folder.files("damaged")[0], folder.path().join("1.salvaged")).expect("renames");
    for _ in 0..2 {
        let log = folder.open(progress);
        assert_eq!((everything(&log, Position::default()), log.damages()), (events(0..4), Vec::new()));
        assert!(folder.files("damaged").is_empty());
    }
}

#[test]
fn a_zeroed_word_is_not_the_end() {
    let (folder, ends) = ten();
    folder.change(0, |bytes| bytes[ends[3]..ends[3] + 8].fill(0));
    assert_kept(&folder, 4, 5..10);
}

#[test]
fn a_damaged_header_keeps_everything() {
    let changes: [fn(&mut Vec<u8>); 4] = [
        |bytes| bytes[..HEADER_BYTES].fill(0),
        |bytes| bytes[..8].copy_from_slice(b"GZIPGZIP"),
        |bytes| bytes[7] = b'3',
        |bytes| bytes[20] ^= 1,
    ];
    for change in changes {
        let (folder, _) = ten();
        folder.change(0, change);
        assert_kept(&folder, 0, 0..10);
    }
}

#[test]
fn an_emptied_file_is_counted() {
    for bytes in [0, 1, HEADER_BYTES - 1] {
        let (folder, _) = ten();
        folder.change(0, |file| file.truncate(bytes));
        assert_kept(&folder, 0, 0..0);
    }
}

/// A file that ended between a record and its padding once ended the process at every start.
#[test]
fn a_file_may_be_cut_anywhere() {
    let (folder, ends) = ten();
    let whole = fs::read(&folder.files("segment")[0]).expect("reads");
    for length in HEADER_BYTES..ends[9] + 40 {
        let (folder, _) = ten();
        folder.change(0, |bytes| *bytes = whole[..length].to_vec());
        let (found, damages, behind) = opened(&folder);
        let kept = ends.iter().filter(|end| **end <= length).count();
        assert_eq!(found, events(0..kept as u32), "{length}");
        assert!(matches!(&damages[..], [Damage { is_torn: false, .. }]) && behind.is_empty(), "{length}");
        assert_eq!(folder.salvaged()[0].lost.last().map(|lost| lost.end), Some(SEGMENT_BYTES as u64), "{length}");
    }
}

#[test]
fn a_segment_of_a_newer_format_is_refused_and_left_alone() {
    let (folder, _) = ten();
    folder.change(0, |bytes| {
        bytes[7] = b'3';
        let check = crc32fast::hash(&bytes[..28]);
        bytes[28..32].copy_from_slice(&check.to_le_bytes());
    });
    let before = fs::read(&folder.files("segment")[0]).expect("reads");
    for refused in [folder.try_open(Progress::default()).map(drop), scan(folder.path(), Progress::default(), false).map(drop)] {
        let Err(Error::CannotOpen { why, .. }) = refused else { panic!("{refused:?}") };
        assert!(why.contains("0000000000000001.segment has the format 3, and this version of Elah reads the format 2"), "{why}");
    }
    assert_eq!(fs::read(&folder.files("segment")[0]).expect("reads"), before);
}

/// The trace of a process killed in the middle of an append: the mark of an unfinished record, and any part of its bytes.
#[test]
fn an_unfinished_record_is_no_damage() {
    let (folder, ends) = ten();
    folder.change(0, |bytes| {
        bytes[ends[9]..ends[9] + 8].copy_from_slice(&[0xff, 0xff, 0xff, 0xff, b'o', b'p', b'e', b'n']);
        bytes[ends[9] + 8..ends[9] + 60].fill(7);
    });
    for _ in 0..2 {
        assert_eq!(opened(&folder), (events(0..10), Vec::new(), Vec::new()));
    }
}

/// A power loss may leave any part of what was not synced.
#[test]
fn a_tail_that_was_torn_when_the_machine_stopped_is_no_damage() {
    let (mut folder, ends) = ten();
    folder.boot += 1;
    folder.change(0, |bytes| bytes[ends[8] + 5..].fill(0));
    let (found, damages, _) = opened(&folder);
    assert_eq!(found, events(0..9));
    let path = folder.files("segment").remove(0);
    assert_eq!(damages, [Damage { path, offset: ends[8] as u32, is_torn: true }]);
    assert!(folder.files("damaged").is_empty());
    append(&folder.open(Progress::default()), b"event 9");
    assert_eq!(opened(&folder), (events(0..10), Vec::new(), Vec::new()), "also when more was appended");
}

/// Events that reached the disk after a gap are kept, and sealed segments were synced.
#[test]
fn a_gap_before_readable_events_is_damage_in_every_boot() {
    let (mut folder, ends) = ten();
    folder.boot += 1;
    folder.change(0, |bytes| bytes[ends[3]..ends[4]].fill(0));
    assert_kept(&folder, 4, 5..10);

    let (mut folder, ends) = ten();
    append(&folder.open(Progress::default()), b"event 10");
    folder.boot += 1;
    folder.change(0, |bytes| bytes[ends[8] + 10] ^= 1);
    let (found, damages, _) = opened(&folder);
    assert_eq!(found, [events(0..9), events(10..11)].concat());
    assert!(matches!(&damages[..], [Damage { is_torn: false, .. }]), "{damages:?}");
}

/// Delivered records need not be complete.
#[test]
fn damage_before_the_released_position_costs_nothing() {
    let (folder, ends) = ten();
    let released = Position(1 << 32 | ends[5] as u64);
    folder.change(0, |bytes| bytes[ends[2]..ends[3]].fill(0));
    let log = folder.open(Progress { released, counted: released });
    assert_eq!((everything(&log, released), log.damages()), (events(6..10), Vec::new()));
    drop(log);

    folder.change(0, |bytes| bytes[..8].fill(0));
    let log = folder.open(Progress { released, counted: released });
    assert_eq!((everything(&log, released), log.damages().len()), (Vec::new(), 1));
    assert_eq!(payloads(&folder.salvaged()[0].records), events(6..10), "those before it are not read again");
}

/// After a restored copy or a mistaken `mv`, the released position of this name says nothing about the file.
#[test]
fn another_segment_under_the_name_of_a_released_one_is_kept_whole() {
    for released in [Position(3 << 32 | 200), Position(4 << 32 | 200)] {
        let (folder, _) = ten();
        let path = &folder.files("segment")[0];
        fs::rename(path, path.with_file_name("0000000000000003.segment")).expect("renames");
        let progress = Progress { released, counted: released };
        let log = folder.open(progress);
        assert!(matches!(&log.damages()[..], [Damage { is_torn: false, .. }]), "{:?}", log.damages());
        assert!(everything(&log, released).is_empty());
        drop(log);
        assert_eq!(payloads(&folder.salvaged()[0].records), events(0..10));
        assert!(folder.open(progress).damages().is_empty(), "the second opening finds nothing new");
    }
}

/// A position has 32 bits for the number of a segment. With a larger number, the same events were once delivered repeatedly.
#[test]
fn a_file_with_a_number_too_large_is_kept_and_not_followed() {
    for name in ["00000001ffffffff.segment", "ffffffffffffffff.segment"] {
        let (folder, _) = ten();
        let path = &folder.files("segment")[0];
        fs::rename(path, path.with_file_name(name)).expect("renames");
        let log = folder.open(Progress::default());
        assert_eq!(append(&log, b"event 10").0 >> 32, 1, "{name}");
        assert_eq!(everything(&log, Position::default()), events(10..11));
        drop(log);
        assert_eq!(payloads(&folder.salvaged()[0].records), events(0..10));
        assert_eq!(append(&folder.open(Progress::default()), b"event 11").0 >> 32, 2, "{name}");
    }
}

/// An event of bytes can look like a record. The length of the damaged one shows where the next record begins.
#[test]
fn an_event_inside_a_damaged_one_is_not_read() {
    let (folder, ends) = ten();
    let inner = fs::read(&folder.files("segment")[0]).expect("reads")[ends[0]..ends[1]].to_vec();
    let other = Folder::new();
    let log = other.open(Progress::default());
    let first = append(&log, b"event 0").0 as u32 as usize;
    // The stream's name has one byte, so the payload begins 5 bytes before the next multiple of 8.
    append(&log, &[&[0; 5][..], &inner].concat());
    append(&log, b"event 2");
    drop(log);
    other.change(0, |bytes| bytes[first + 10] ^= 1);
    let (found, _, behind) = opened(&other);
    assert_eq!((found, behind), (events(0..1), events(2..3)));
}

/// A number is not reused while a segment with that number is set aside.
#[test]
fn a_second_damage_does_not_overwrite_the_first() {
    let folder = Folder::new();
    for _ in 0..3 {
        append(&folder.open(Progress::default()), b"event 0");
        folder.change(0, |bytes| bytes[..8].fill(0));
    }
    assert_eq!(opened(&folder).2, vec!["event 0"; 3]);
}
