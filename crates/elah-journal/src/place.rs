//! The place of an open journal: the path under which the next owner looks for what this one confirms.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{self, Path, PathBuf};

/// The lock file of a journal, by its path, whatever becomes of the working directory, and as it was when the journal was opened.
pub(super) struct Place {
    path: PathBuf,
    lock: (u64, u64),
}

impl Place {
    pub(super) fn of(dir: &Path, lock: &File) -> io::Result<Self> {
        Ok(Place { path: path::absolute(dir)?.join(super::LOCK_FILE), lock: identity(&lock.metadata()?) })
    }

    /// Fails when the path no longer leads to the lock file: what is synced would be found by nobody.
    pub(super) fn check(&self) -> io::Result<()> {
        match fs::metadata(&self.path) {
            Ok(found) if identity(&found) == self.lock => Ok(()),
            Err(error) if !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Err(error),
            _ => Err(io::Error::other("its folder or its lock file was removed, moved or replaced")),
        }
    }
}

fn identity(file: &Metadata) -> (u64, u64) {
    (file.dev(), file.ino())
}
