//! A store without its free pages: the same entries in a smaller file.

use std::fs;
use std::time::Duration;

use elah_store::{Error, Range, Stats, Store};

use super::support::{Opened, delete, increment, put, wait};

/// A store of which nine tenths are free, with counts in a journal.
fn sparse() -> Opened {
    let opened = Opened::new();
    let table = opened.store.table("heap").expect("a name");
    let ttl = Some(Duration::from_secs(60));
    for n in 0..1000_u32 {
        put(&table, &n.to_be_bytes(), &[n as u8; 4000], ttl.filter(|_| n % 2 == 0)).expect("a put");
    }
    for n in (0..1000_u32).filter(|n| n % 10 != 0) {
        delete(&table, &n.to_be_bytes()).expect("a delete");
    }
    let counter = opened.store.counter("visits").expect("a name");
    increment(&counter, b"a", 40, None).expect("an increment");
    counter.increment_in_memory(b"a", 2).expect("an increment");
    opened
}

#[test]
fn a_compacted_store_has_the_same_entries_in_a_smaller_file() {
    let mut opened = sparse();
    let before = opened.store.table("heap").and_then(|table| table.range(&Range::default())).expect("a range");
    opened.store.close();
    let dir = opened.dir.path().to_owned();
    let (bytes, less) = Store::compact(&dir).expect("a compaction");
    assert_eq!(fs::metadata(dir.join("data.mdb")).expect("a file").len(), less);
    assert!(less * 5 < bytes, "{less} of {bytes}");
    let stats = Stats::of(&dir).expect("figures");
    assert_eq!((stats.bytes, stats.checked.free_pages), (less, 0));
    opened.reopen();
    let table = opened.store.table("heap").expect("a name");
    assert_eq!(table.range(&Range::default()), Ok(before));
    assert_eq!(opened.store.counter("visits").and_then(|visits| visits.get(b"a")), Ok(42));
    // Expiries, too, and the next writes.
    put(&table, b"later", b"value", None).expect("a put");
    opened.advance(Duration::from_secs(61));
    assert_eq!(wait(|done| opened.store.sweep(done)), Ok(100));
    opened.store.close();
    Store::check(&dir).expect("a sound store");
}

#[test]
fn a_compaction_that_was_killed_leaves_the_store_and_is_repeated() {
    let opened = sparse();
    opened.store.close();
    let dir = opened.dir.path();
    fs::write(dir.join("data.mdb.compact"), [7; 100_000]).expect("what a killed process has left");
    Store::check(dir).expect("a sound store");
    Store::compact(dir).expect("a compaction");
    assert!(!dir.join("data.mdb.compact").exists());
    Store::check(dir).expect("a sound store");
}

#[test]
fn figures_name_tables_and_counters() {
    let opened = sparse();
    wait(|done| opened.store.flush(done)).expect("a flush");
    opened.store.close();
    let stats = Stats::of(opened.dir.path()).expect("figures");
    let sizes: Vec<_> =
        stats.tables.iter().map(|table| (&table.name[..], table.is_counter, table.entries, table.bytes)).collect();
    // A value is a tag of a byte and what was put; all have an expiry of 8 bytes, since only even keys are left.
    assert_eq!(sizes, [("heap", false, 100, 100 * (2 + 4 + 1 + 8 + 4000)), ("visits", true, 1, 2 + 1 + 8)]);
    assert_eq!((stats.format, &stats.version[..], stats.journals), (1, env!("CARGO_PKG_VERSION"), 0));
    assert!(stats.checked.free_pages > 0);
}

#[test]
fn a_damaged_store_is_not_compacted() {
    let opened = sparse();
    opened.store.close();
    let path = opened.dir.path().join("data.mdb");
    let mut bytes = fs::read(&path).expect("a file");
    bytes.truncate(bytes.len() / 2);
    fs::write(&path, &bytes).expect("a shorter file");
    assert!(matches!(Store::compact(opened.dir.path()), Err(Error::Damaged { .. })));
    assert_eq!(fs::read(&path).expect("a file"), bytes);
}
