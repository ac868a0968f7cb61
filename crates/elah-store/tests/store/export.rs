//! The contents of a store for a copy elsewhere.

use std::fs;
use std::time::Duration;

use elah_store::{Clock, Error, Export, Options, Store};
use tempfile::TempDir;

use super::support::{Opened, increment, put, wait};

#[test]
fn everything_that_the_app_has_stored_is_read_in_pages() {
    let opened = Opened::new();
    let table = opened.store.table("links").expect("a table");
    for number in 0_u32..100 {
        put(&table, &number.to_be_bytes(), &[7; 100], None).expect("stored");
    }
    put(&table, b"soon", b"gone", Some(Duration::from_secs(5))).expect("stored");
    let expires_at = opened.now_ms() + 5_000;
    let counter = opened.store.counter("visits").expect("a counter");
    for key in [b"a", b"b", b"c"] {
        increment(&counter, key.to_vec().as_slice(), 3, None).expect("counted");
    }
    opened.store.close();

    let export = Export::open(opened.dir.path()).expect("nobody has it open");
    let [links, visits] = export.tables() else { panic!("{:?}", export.tables()) };
    assert_eq!((links.name.as_str(), links.is_counter, links.entries), ("links", false, 101));
    assert_eq!((visits.name.as_str(), visits.is_counter, visits.entries), ("visits", true, 3));
    let (mut rows, mut after) = (Vec::new(), None);
    loop {
        let page = export.rows(links, after.as_deref(), 1_000).expect("a page");
        let Some(last) = page.last() else { break };
        assert!(page.len() <= 10);
        after = Some(last.0.clone());
        rows.extend(page);
    }
    assert_eq!(rows.len(), 101);
    assert_eq!(rows[99], (99_u32.to_be_bytes().to_vec(), vec![7; 100], None));
    assert_eq!(rows[100], (b"soon".to_vec(), b"gone".to_vec(), Some(expires_at)));
    assert_eq!(export.rows(links, None, 0).expect("a page").len(), 1);
    let first = export.counts(visits, None, 2).expect("a page");
    assert_eq!(first, [(b"a".to_vec(), 3), (b"b".to_vec(), 3)]);
    assert_eq!(export.counts(visits, Some(b"b"), 2).expect("a page"), [(b"c".to_vec(), 3)]);
    assert_eq!(export.shards(), None);
}

/// Two processes have counted in memory and were killed: their journals count, once, and stay as they are.
#[test]
fn counts_in_the_journals_of_killed_processes_are_added() {
    let dir = TempDir::new().expect("a directory");
    let hour = Duration::from_secs(3600);
    let options = Options { bytes_max: 1 << 26, fold_pause: hour, sweep_pause: hour, clock: Clock::System };
    let store = Store::open(dir.path(), &options).expect("a store");
    let counter = store.counter("visits").expect("a counter");
    increment(&counter, b"b", 10, None).expect("counted");
    counter.increment_in_memory(b"a", 1).expect("counted");
    wait::<Result<(), Error>>(|done| store.flush(done)).expect("folded");
    counter.increment_in_memory(b"a", 2).expect("counted");
    counter.increment_in_memory(b"c", 4).expect("counted");
    let killed = TempDir::new().expect("a directory");
    for file in fs::read_dir(dir.path()).expect("a folder").map(|file| file.expect("a file").path()) {
        let name = file.file_name().expect("a name").to_str().expect("text");
        if name.ends_with(".journal") {
            fs::copy(&file, killed.path().join(name)).expect("a copy");
            // The second process has folded nothing, so all of it counts.
            fs::copy(&file, killed.path().join(format!("counters-2-{name}"))).expect("a copy");
        } else if name == "data.mdb" {
            fs::copy(&file, killed.path().join(name)).expect("a copy");
        }
    }
    for _ in 0..2 {
        let export = Export::open(killed.path()).expect("nobody has it open");
        let visits = &export.tables()[0];
        assert_eq!(visits.entries, 3);
        let counts = [(b"a".to_vec(), 1 + 2 + 1 + 2), (b"b".to_vec(), 10), (b"c".to_vec(), 4 + 4)];
        assert_eq!(export.counts(visits, None, 100).expect("a page"), counts);
        assert_eq!(export.counts(visits, None, 1).expect("a page"), counts[..1]);
        assert_eq!(export.counts(visits, Some(b"b"), 1).expect("a page"), counts[2..]);
    }
    let store = Store::open(killed.path(), &options).expect("a store");
    let counter = store.counter("visits").expect("a counter");
    assert_eq!((counter.get(b"a"), counter.get(b"c")), (Ok(6), Ok(8)));
}

#[test]
fn a_store_that_is_open_is_refused_and_nobody_opens_one_meanwhile() {
    let opened = Opened::new();
    let refused = Export::open(opened.dir.path()).err();
    assert!(matches!(refused, Some(Error::InUse { .. })), "{refused:?}");
    opened.store.close();
    let export = Export::open(opened.dir.path()).expect("nobody has it open");
    let compacted = Store::compact(opened.dir.path());
    assert!(matches!(compacted, Err(Error::InUse { .. })), "{compacted:?}");
    drop(export);
    Store::compact(opened.dir.path()).expect("nobody has it open");
}
