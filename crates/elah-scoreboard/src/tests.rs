//! A scoreboard from the side of its readers and writers.

use super::*;
use std::sync::Arc;

const SIZES: Sizes = Sizes { slots_max: 4, rows: 8, shards: 16 };

fn scoreboard() -> (tempfile::TempDir, Scoreboard) {
    let folder = tempfile::tempdir().unwrap();
    let scoreboard = Scoreboard::create(&folder.path().join("scoreboard"), SIZES).unwrap();
    (folder, scoreboard)
}

#[test]
fn what_one_mapping_writes_another_reads() {
    let (folder, scoreboard) = scoreboard();
    let other = Scoreboard::open(&folder.path().join("scoreboard")).unwrap();
    assert_eq!(SIZES, other.sizes());
    scoreboard.cell(Area::Row(7), "pid").unwrap().store(42, Ordering::Relaxed);
    scoreboard.cell(Area::WorkerSlot(3), "generation").unwrap().store(43, Ordering::Relaxed);
    scoreboard.cell(Area::Server, "slots").unwrap().store(44, Ordering::Relaxed);
    assert!(scoreboard.assign(15, 3));
    let read = |area, name| other.cell(area, name).unwrap().load(Ordering::Relaxed);
    assert_eq!((42, 43, 44), (read(Area::Row(7), "pid"), read(Area::WorkerSlot(3), "generation"), read(Area::Server, "slots")));
    assert_eq!((Some(3), Some(0), None), (other.owner_of(15), other.owner_of(14), other.owner_of(16)));
    assert_eq!((Some(1), Some(0), None), (other.term_of(15), other.term_of(14), other.term_of(16)));
}

#[test]
fn cells_do_not_overlap() {
    let (_folder, scoreboard) = scoreboard();
    let mut areas = vec![Area::Server];
    areas.extend((0..4).map(Area::WorkerSlot));
    areas.extend((0..8).map(Area::Row));
    areas.extend((0..8).flat_map(|row| (0..4).map(move |slot| Area::Peer(row, slot))));
    let mut places: Vec<_> = areas
        .iter()
        .flat_map(|area| area.names().iter().map(|name| std::ptr::from_ref(scoreboard.cell(*area, name).unwrap())))
        .collect();
    places.extend((0..16).map(|shard| std::ptr::from_ref(scoreboard.shard(shard).unwrap())));
    let all = places.len();
    places.sort_unstable();
    places.dedup();
    assert_eq!(all, places.len());
}

#[test]
fn what_is_not_there_has_no_cell() {
    let (_folder, scoreboard) = scoreboard();
    assert!(scoreboard.cell(Area::WorkerSlot(4), "generation").is_none());
    assert!(scoreboard.cell(Area::Row(8), "pid").is_none());
    assert!(scoreboard.cell(Area::Row(0), "colour").is_none());
    assert!(scoreboard.cell(Area::Peer(8, 0), "state").is_none());
    assert!(scoreboard.cell(Area::Peer(0, 4), "state").is_none());
    assert!(!scoreboard.assign(16, 0));
}

#[test]
fn what_a_row_says_of_peers_goes_with_it() {
    let (_folder, scoreboard) = scoreboard();
    let late = |row, slot| scoreboard.cell(Area::Peer(row, slot), "late_calls").unwrap();
    [(6, 3), (7, 0), (7, 3)].iter().for_each(|(row, slot)| late(*row, *slot).store(5, Ordering::Relaxed));
    assert!(scoreboard.assign(15, 2));
    scoreboard.clear_row(7);
    let left: Vec<_> = [(6, 3), (7, 0), (7, 3)].iter().map(|(row, slot)| late(*row, *slot).load(Ordering::Relaxed)).collect();
    assert_eq!((vec![5, 0, 0], Some(2)), (left, scoreboard.owner_of(15)));
}

#[test]
fn an_application_shows_numbers_of_its_own() {
    let (_folder, scoreboard) = scoreboard();
    assert!(scoreboard.publish(1, "entities", 5));
    assert!(!scoreboard.publish(1, &"n".repeat(EXTRA_NAME_BYTES + 1), 1));
    assert!(scoreboard.publish(1, "links", 1));
    assert!(scoreboard.publish(1, "entities", 6));
    assert_eq!(vec![("entities".to_owned(), 6), ("links".to_owned(), 1)], scoreboard.extras(1));
    assert!(scoreboard.extras(0).is_empty());
    scoreboard.clear_row(1);
    assert!(scoreboard.extras(1).is_empty());
}

#[test]
fn the_applications_numbers_are_bounded() {
    let (_folder, scoreboard) = scoreboard();
    assert!((0..EXTRAS_MAX).all(|number| scoreboard.publish(0, &format!("n{number}"), 1)));
    assert!(!scoreboard.publish(0, "one_more", 1));
    assert!(scoreboard.publish(0, "n3", 2));
    // An application with this many once hid Elah's own.
    assert!(scoreboard.publish_own(0, "timers_fired", 7));
    assert_eq!(scoreboard.extras(0).last(), Some(&("timers_fired".to_owned(), 7)));
    assert_eq!(scoreboard.extras(0).len(), EXTRAS_MAX + 1);
    assert!(!scoreboard.publish(0, "", 1) && !scoreboard.publish(0, "x\0y", 1) && !scoreboard.publish(8, "x", 1));
}

#[test]
fn a_file_that_is_no_board_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("scoreboard");
    for content in [vec![], vec![0; 100], vec![7; 100_000]] {
        std::fs::write(&path, content).unwrap();
        assert!(Scoreboard::open(&path).is_err());
    }
    let scoreboard = Scoreboard::create(&folder.path().join("other"), SIZES).unwrap();
    scoreboard.map.cell(ROWS_CELL).store(u64::MAX, Ordering::Relaxed);
    assert!(Scoreboard::open(&folder.path().join("other")).is_err());
}

#[test]
fn a_board_is_not_made_over_another() {
    let (folder, _board) = scoreboard();
    assert_eq!(io::ErrorKind::AlreadyExists, Scoreboard::create(&folder.path().join("scoreboard"), SIZES).unwrap_err().kind());
}

#[test]
fn connections_are_left_to_a_worker_with_far_fewer() {
    let (_folder, scoreboard) = scoreboard();
    let scoreboard = Arc::new(scoreboard);
    let row = Row::new(Arc::clone(&scoreboard), 0).unwrap();
    assert!(!row.should_leave_connections(100), "nobody else is there");
    scoreboard.cell(Area::Server, "rows_used").unwrap().store(2, Ordering::Relaxed);
    let set = |name, value| scoreboard.cell(Area::Row(1), name).unwrap().store(value, Ordering::Relaxed);
    set("state", 2);
    set("heartbeat_ms", now_ms());
    set("connections", 10);
    assert!(!row.should_leave_connections(11));
    assert!(row.should_leave_connections(12));
    set("connections", 80);
    assert!(!row.should_leave_connections(89));
    assert!(row.should_leave_connections(90));
    set("state", 4);
    assert!(!row.should_leave_connections(1000), "the other one drains");
    set("state", 2);
    set("heartbeat_ms", now_ms() - 10_000);
    assert!(!row.should_leave_connections(1000), "the other one does not iterate");
}
