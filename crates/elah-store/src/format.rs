//! The format of a store's file, and the migrations from earlier formats.
//!
//! The formats are numbered from 1, and a file names its own. A migration and the number of the new format are one LMDB transaction: whatever ends
//! the process, the file has the earlier format or the later one. Beside the number stands the version of Elah that has written it, so that a
//! version that cannot read the file can name one that can.

use heed::RwTxn;

use super::env::{Env, Tree};
use super::error::Error;
use super::layout::{FORMAT_KEY, VERSION_KEY};

const PREFIX: &str = "elah store ";
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Changes a file from one format to the next.
pub(super) type Migration = fn(Tree, &mut RwTxn<'_>) -> Result<(), Error>;

/// The formats that a version reads: the first migration leads from 1 to 2, and so on.
#[derive(Clone, Copy)]
pub(super) struct Formats(pub(super) &'static [Migration]);

/// Those of this version.
pub(super) const FORMATS: Formats = Formats(&[]);

/// What a file is to a version.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    New,
    Current,
    Earlier(usize),
    /// With a sentence.
    Unreadable(String),
}

impl Formats {
    pub(super) fn current(self) -> usize {
        self.0.len() + 1
    }

    pub(super) fn find(self, env: &Env, tree: Tree) -> Result<Found, Error> {
        let snapshot = env.read_txn()?;
        let text = |key| Ok::<_, Error>(tree.get(&snapshot, key)?.map(|bytes| String::from_utf8_lossy(bytes).into_owned()));
        let Some(name) = text(FORMAT_KEY)? else {
            let is_new = tree.is_empty(&snapshot)?;
            return Ok(if is_new { Found::New } else { Found::Unreadable("data.mdb was not made by Elah".to_owned()) });
        };
        Ok(match number(&name) {
            None => Found::Unreadable(format!("its format {name:?} is unknown to Elah {VERSION}")),
            Some(number) if number > self.current() => {
                let writer = text(VERSION_KEY)?
                    .map_or_else(|| "the version that wrote it".to_owned(), |version| format!("Elah {version}"));
                Found::Unreadable(format!(
                    "its format is {number}, and Elah {VERSION} reads formats up to {}; start {writer} or a later version",
                    self.current()
                ))
            }
            Some(number) if number < self.current() => Found::Earlier(number),
            Some(_) => Found::Current,
        })
    }

    /// Gives a new file the current format.
    pub(super) fn begin(self, env: &Env, tree: Tree) -> Result<(), Error> {
        let mut txn = env.write_txn()?;
        self.put(tree, &mut txn)?;
        Ok(txn.commit()?)
    }

    /// Runs the migrations that a file of an earlier format lacks. Nobody else may have it open.
    pub(super) fn migrate(self, env: &Env, tree: Tree) -> Result<(), Error> {
        let mut txn = env.write_txn()?;
        let name = tree.get(&txn, FORMAT_KEY)?.map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        let from = name.as_deref().and_then(number).unwrap_or(self.current());
        for migration in self.0.iter().skip(from - 1) {
            migration(tree, &mut txn)?;
        }
        self.put(tree, &mut txn)?;
        Ok(txn.commit()?)
    }

    fn put(self, tree: Tree, txn: &mut RwTxn<'_>) -> Result<(), Error> {
        tree.put(txn, FORMAT_KEY, format!("{PREFIX}{}", self.current()).as_bytes())?;
        Ok(tree.put(txn, VERSION_KEY, VERSION.as_bytes())?)
    }
}

/// The number of a format, from 1.
pub(super) fn number(name: &str) -> Option<usize> {
    name.strip_prefix(PREFIX)?.parse().ok().filter(|number| *number > 0)
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};
    use std::process::{Child, Command, Stdio};
    use std::{env, process};

    use tempfile::TempDir;

    use super::*;
    use crate::env::{compact, open, open_as};
    use crate::in_use::InUse;

    const BYTES_MAX: u64 = 256 * 1024 * 1024;
    const ROWS: u32 = 50_000;
    const ROLE: &str = "ELAH_STORE_TEST_MIGRATION";

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
            .env(ROLE, dir.join(role))
            .stdout(Stdio::null())
            .spawn()
            .expect("a process")
    }

    #[test]
    #[ignore = "a part of the tests below"]
    fn another_process() {
        let Some(role) = env::var_os(ROLE).map(PathBuf::from) else { return };
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
}
