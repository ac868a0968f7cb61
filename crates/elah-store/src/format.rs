//! The format of a store's file, and the migrations from earlier formats.
//!
//! The formats are numbered from 1, and a file names its own. A migration and the number of the new format are one LMDB transaction: whatever ends
//! the process, the file has the earlier format or the later one. Beside the number stands the version of Elah that has written it, so that a
//! version that cannot read the file can name one that can.

#[cfg(test)]
mod tests;

use std::hash::{BuildHasher, RandomState};

use elah_clock::Clock;
use heed::types::Bytes;
use heed::{RwTxn, WithoutTls};

use super::error::Error;
use super::layout::{FORMAT_KEY, IDENTITY_KEY, VERSION_KEY};

type Env = heed::Env<WithoutTls>;
type Tree = heed::Database<'static, Bytes, Bytes>;

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

    /// Gives a new file the current format, and its identity.
    pub(super) fn begin(self, env: &Env, tree: Tree) -> Result<(), Error> {
        let mut txn = env.write_txn()?;
        self.put(tree, &mut txn)?;
        let identity = RandomState::new().hash_one((std::process::id(), Clock::System.now_ms()));
        tree.get_or_put(&mut txn, IDENTITY_KEY, &identity.to_le_bytes())?;
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
