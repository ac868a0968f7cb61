//! A store whose folder is removed or replaced while it is open.

use std::fs;
use std::time::{Duration, Instant};

use elah_store::{Error, troubles};

use super::support::{Opened, get, increment, put};

#[test]
fn a_store_accepts_no_writes_while_its_path_leads_to_no_file_or_to_another() {
    let opened = Opened::new();
    let table = opened.store.table("heap").expect("a name");
    let counter = opened.store.counter("visits").expect("a name");
    put(&table, b"k", b"before", None).expect("a put");
    increment(&counter, b"a", 40, None).expect("an increment");
    let mut counted = 40;

    let dir = opened.dir.path().canonicalize().expect("a path");
    let away = dir.with_extension("away");
    let is_in_trouble = || troubles().iter().any(|(path, error)| *path == dir && *error == Error::Replaced);
    assert!(!is_in_trouble());
    fs::rename(&dir, &away).expect("a move");
    assert_eq!(put(&table, b"k", b"lost", None), Err(Error::Replaced));
    assert!(is_in_trouble());

    fs::create_dir(&dir).expect("a folder");
    fs::copy(away.join("data.mdb"), dir.join("data.mdb")).expect("a copy");
    assert_eq!(put(&table, b"k", b"lost", None), Err(Error::Replaced));
    assert_eq!(get(&table, b"k"), Some(b"before".to_vec()));
    assert_eq!(counter.increment_in_memory(b"a", 1), Err(Error::Replaced));
    assert_eq!(fs::read_dir(&dir).expect("a folder").count(), 1, "nothing is written to the other store");

    fs::remove_dir_all(&dir).expect("a removal");
    fs::rename(&away, &dir).expect("a move");
    put(&table, b"k", b"after", None).expect("a put");
    assert!(!is_in_trouble());
    counter.increment_in_memory(b"a", 2).expect("an increment");
    counted += 2;

    // What is counted already in memory is refused as soon as it could not be stored.
    fs::rename(&dir, &away).expect("a move");
    while counter.increment_in_memory(b"a", 1) != Err(Error::Replaced) {
        counted += 1;
    }
    fs::rename(&away, &dir).expect("a move");
    assert_eq!(increment(&counter, b"a", 1, None), Ok(Some(counted + 1)));
}

/// The next process made another lock file, and the two wrote over each other's pages until the data file was destroyed.
#[test]
fn a_store_accepts_no_writes_while_its_lock_file_is_gone() {
    let opened = Opened::new();
    let table = opened.store.table("heap").expect("a name");
    put(&table, b"k", b"before", None).expect("a put");
    let lock = opened.dir.path().join("lock.mdb");
    let aside = opened.dir.path().join("aside");
    fs::rename(&lock, &aside).expect("a move");
    assert_eq!(put(&table, b"k", b"lost", None), Err(Error::Replaced));
    fs::copy(&aside, &lock).expect("a copy");
    assert_eq!(put(&table, b"k", b"lost", None), Err(Error::Replaced));
    let mut found = Vec::new();
    assert_eq!(table.get(b"k", &mut found), Err(Error::Replaced), "the next process would not know of the reader");
    fs::rename(&aside, &lock).expect("a move");
    put(&table, b"k", b"after", None).expect("a put");
    assert_eq!(get(&table, b"k"), Some(b"after".to_vec()));
}

/// A process that only read did not look, and read what the next process wrote over its pages.
#[test]
fn a_store_that_is_only_read_notices_that_its_lock_file_is_gone() {
    let opened = Opened::new();
    let table = opened.store.table("heap").expect("a name");
    put(&table, b"k", b"before", None).expect("a put");
    fs::remove_file(opened.dir.path().join("lock.mdb")).expect("a removal");
    let mut value = Vec::new();
    let started = Instant::now();
    while table.get(b"k", &mut value) != Err(Error::Replaced) {
        assert!(started.elapsed() < Duration::from_secs(60), "reads go on");
    }
}
