//! A snapshot of a store's files, to copy while other processes go on.
//!
//! It holds a read transaction, so that its pages stay as they are, and reads them from the file. LMDB's own copy of a whole file would block all
//! writers while it writes the first pages, which into a pipe can take for ever.
//!
//! The journals are read before the transaction begins. Then every increment that was confirmed before is in the transaction, or in a generation
//! of a journal's copy that the transaction has not folded, and recovery adds exactly those. In the other order a generation could be folded and
//! its room used again before its journal is read.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::check;
use super::env::{self, Env, Tree};
use super::error::Error;
use super::in_use::InUse;
use super::journal;
use super::session::{file_identity, folded_generation};

/// Processes that open and close the store meanwhile make a snapshot begin anew; more often than this they do not.
const ATTEMPTS_MAX: usize = 100;
const PAGES_CHECKED: u64 = 1024;

/// One moment of a store. Restored into an empty directory, its files are a whole store.
pub struct Snapshot {
    head: Vec<u8>,
    bytes: u64,
    file: File,
    journals: Journals,
    // Ends before the environment is closed.
    pin: Option<env::Snapshot>,
    env: Option<Env>,
    _in_use: InUse,
}

impl Snapshot {
    /// The file that LMDB has; the others are journals.
    pub const DATA_FILE: &'static str = env::DATA_FILE;

    /// Takes the snapshot of the store in `dir`, which this process must not have open. The file may grow until the snapshot is dropped, because
    /// its pages are not reused.
    pub fn take(dir: impl AsRef<Path>) -> Result<Self, Error> {
        let dir = dir.as_ref();
        let (env, tree, in_use, _) = env::open_existing(dir, PAGES_CHECKED)?;
        match pinned(dir, &env, tree) {
            Ok((file, pin, extent, journals)) => Ok(Snapshot {
                head: extent.head,
                bytes: extent.bytes,
                file,
                journals,
                pin: Some(pin),
                env: Some(env),
                _in_use: in_use,
            }),
            Err(error) => {
                env.prepare_for_closing().wait();
                Err(error)
            }
        }
    }

    /// The length of the data file.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The names and contents of journals with increments that the data file lacks.
    pub fn journals(&self) -> &[(String, Vec<u8>)] {
        &self.journals
    }

    /// Reads the data file from `offset` on, and returns the number of bytes: less than there is room for only at its end.
    pub fn read(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let wanted = (into.len() as u64).min(self.bytes.saturating_sub(offset)) as usize;
        let into = &mut into[..wanted];
        let from_head = self.head.get(offset as usize..).map_or(0, |head| head.len().min(wanted));
        into[..from_head].copy_from_slice(&self.head.get(offset as usize..).unwrap_or_default()[..from_head]);
        let mut read = from_head;
        while read < wanted {
            match self.file.read_at(&mut into[read..], offset + read as u64) {
                // LMDB does not write pages at the end that it has freed in the same transaction.
                Ok(0) => {
                    into[read..].fill(0);
                    read = wanted;
                }
                Ok(more) => read += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(wanted)
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        self.pin = None;
        if let Some(env) = self.env.take() {
            env.prepare_for_closing().wait();
        }
    }
}

/// Names and contents.
type Journals = Vec<(String, Vec<u8>)>;
type Pinned = (File, env::Snapshot, check::Extent, Journals);

fn pinned(dir: &Path, env: &Env, tree: Tree) -> Result<Pinned, Error> {
    let file = File::open(dir.join(env::DATA_FILE)).map_err(|error| env::refusal(dir, heed::Error::Io(error)))?;
    for _ in 0..ATTEMPTS_MAX {
        let read = contents(dir).map_err(|error| env::refusal(dir, heed::Error::Io(error)))?;
        let pin = env.clone().static_read_txn()?;
        let Some(journals) = unfolded(dir, tree, &pin, read)? else { continue };
        if let Some(extent) = check::extent(&file, pin.id() as u64).map_err(|fault| env::faulty(dir, fault))? {
            return Ok((file, pin, extent, journals));
        }
    }
    Err(Error::Failed {
        why: format!("the files in {} changed faster than they could be read, {ATTEMPTS_MAX} times", dir.display()),
    })
}

/// The journals as they are. A slot's generation precedes its sum, and is written after it, so that a read while the owner writes finds no sum
/// that was never true.
fn contents(dir: &Path) -> io::Result<Journals> {
    let mut read = Vec::new();
    for name in journal::names(dir)? {
        match fs::read(dir.join(&name)) {
            Ok(content) => read.push((name, content)),
            // It has been folded to its end.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(read)
}

/// Those with increments that the store lacks. `None` if that cannot be told of one: its file is gone, and so may be the record of its folding.
fn unfolded(dir: &Path, tree: Tree, pin: &env::Snapshot, read: Journals) -> Result<Option<Journals>, Error> {
    let data_file = file_identity(tree, pin)?;
    let mut unfolded = Vec::new();
    for (name, content) in read {
        let folded = folded_generation(tree, pin, &name)?;
        if folded == 0 && !dir.join(&name).exists() {
            return Ok(None);
        }
        if journal::reaches_beyond(&content, data_file, folded) {
            unfolded.push((name, content));
        }
    }
    Ok(Some(unfolded))
}
