//! Migrations from the format of this version to a later one, which the tests alone know.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{env, process};

use tempfile::TempDir;

use super::*;
use crate::env::{compact, open, open_as};
use crate::in_use::InUse;

const BYTES_MAX: u64 = 256 * 1024 * 1024;
const ROWS: u32 = 50_000;

/// A later format, in which the rows of this test have one byte more.
const LATER: Formats = Formats(&[lengthen]);
const KILLED: Formats = Formats(&[lengthen_and_die]);

fn key(number: u32) -> Vec<u8> {
    [&[0x10, 0][..], &number.to_be_bytes()].concat()
}

fn lengthen(tree: Tree, txn: &mut RwTxn<'_>) -> Result<(), Error> {
    for number in 0..ROWS {
        let value = tree.get(txn, &key(number))?.unwrap_or_default().to_vec();
        tree.put(txn, &key(number), &[&value[..], b"+"].concat())?;
    }
    Ok(())
}

fn lengthen_and_die(tree: Tree, txn: &mut RwTxn<'_>) -> Result<(), Error> {
    lengthen(tree, txn)?;
    Command::new("kill").args(["-9", &process::id().to_string()]).status().expect("kill");
    loop {
        std::thread::yield_now();
    }
}

/// A store of the first format with rows of 100 bytes.
fn earlier() -> TempDir {
    let dir = TempDir::new().expect("a directory");
    let (env, tree, _in_use) = open(dir.path(), BYTES_MAX).expect("a new store");
    let mut txn = env.write_txn().expect("a transaction");
    for number in 0..ROWS {
        tree.put(&mut txn, &key(number), &[b'x'; 100]).expect("a put");
    }
    txn.commit().expect("a commit");
    env.prepare_for_closing().wait();
    dir
}

/// The lengths of the rows, when a version opens the store that reads `formats`.
fn lengths(dir: &Path, formats: Formats) -> Result<Vec<usize>, String> {
    let (env, tree, _in_use) = open_as(dir, BYTES_MAX, formats).map_err(|error| error.to_string())?;
    let txn = env.read_txn().expect("a transaction");
    let mut lengths: Vec<_> = (0..ROWS).map(|n| tree.get(&txn, &key(n)).expect("a read").map_or(0, <[u8]>::len)).collect();
    lengths.dedup();
    drop(txn);
    env.prepare_for_closing().wait();
    Ok(lengths)
}

fn in_another_process(dir: &Path, role: &str) -> Child {
    Command::new(env::current_exe().expect("this program"))
        .args(["--exact", "format::tests::another_process", "--ignored"])
        .arg(dir.join(role)) // a filter that no test has
        .stdout(Stdio::null())
        .spawn()
        .expect("a process")
}

#[test]
#[ignore = "a part of the tests below"]
fn another_process() {
    let role = env::args_os().next_back().map(PathBuf::from).unwrap_or_default();
    if !role.is_absolute() {
        return;
    }
    let formats = if role.ends_with("killed") { KILLED } else { LATER };
    assert_eq!(lengths(role.parent().expect("a directory"), formats), Ok(vec![101]));
}

#[test]
fn an_earlier_format_is_migrated_once() {
    let dir = earlier();
    assert_eq!(lengths(dir.path(), LATER), Ok(vec![101]));
    assert_eq!(lengths(dir.path(), LATER), Ok(vec![101]));
}

#[test]
fn a_later_format_is_refused_with_the_version_that_reads_it() {
    let dir = earlier();
    assert_eq!(lengths(dir.path(), LATER), Ok(vec![101]));
    let why = lengths(dir.path(), FORMATS).expect_err("a refusal");
    assert!(why.ends_with(&format!(
        "its format is 2, and Elah {VERSION} reads formats up to 1; start Elah {VERSION} or a later version."
    )));
    assert_eq!(lengths(dir.path(), LATER), Ok(vec![101]));
}

#[test]
fn a_migration_that_is_killed_leaves_the_earlier_format() {
    let dir = earlier();
    let killed = in_another_process(dir.path(), "killed").wait().expect("its end");
    assert!(!killed.success());
    assert_eq!(lengths(dir.path(), FORMATS), Ok(vec![100]));
    assert_eq!(lengths(dir.path(), LATER), Ok(vec![101]));
}

#[test]
fn processes_that_start_at_the_same_time_migrate_once() {
    let dir = earlier();
    let mut started: Vec<_> = (0..4).map(|_| in_another_process(dir.path(), "together")).collect();
    assert!(started.iter_mut().all(|child| child.wait().expect("its end").success()));
}

#[test]
fn a_store_that_a_process_has_open_is_neither_migrated_nor_compacted() {
    let dir = earlier();
    let in_use = InUse::share(dir.path()).expect("a share");
    let why = lengths(dir.path(), LATER).expect_err("a refusal");
    assert!(why.ends_with("open: stop every process that uses it to migrate it from format 1 to 2."), "{why}");
    let why = compact(dir.path()).expect_err("a refusal").to_string();
    assert!(why.ends_with("open: stop every process that uses it to compact it."), "{why}");
    drop(in_use);
    assert_eq!(lengths(dir.path(), LATER), Ok(vec![101]));
}

#[test]
fn an_opening_waits_for_who_has_the_store_alone() {
    let dir = earlier();
    let is_released = AtomicBool::new(false);
    let alone = InUse::alone(dir.path(), Duration::ZERO).expect("a lock").expect("nobody else");
    std::thread::scope(|scope| {
        let opening = scope.spawn(|| {
            let lengths = lengths(dir.path(), FORMATS);
            (is_released.load(Ordering::Acquire), lengths)
        });
        // The other thread asks for the lock meanwhile, or later.
        std::thread::yield_now();
        is_released.store(true, Ordering::Release);
        drop(alone);
        assert_eq!(opening.join().expect("its end"), (true, Ok(vec![100])));
    });
}
