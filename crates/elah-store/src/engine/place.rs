//! The place of an open store: the path under which others find the file that this process has opened.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{self, Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::env::DATA_FILE;
use crate::error::Error;

/// The path of the file, whatever becomes of the working directory, and what identified the file when it was opened.
pub(super) struct Place {
    path: PathBuf,
    file: (u64, u64),
    /// Whether another file, or none, was there at the last look.
    is_left: AtomicBool,
}

impl Place {
    /// The place of the store in `dir`, which was opened a moment ago.
    pub(super) fn of(dir: &Path) -> io::Result<Self> {
        let path = path::absolute(dir)?.join(DATA_FILE);
        let file = identity(&fs::metadata(&path)?);
        Ok(Place { path, file, is_left: AtomicBool::new(false) })
    }

    /// Looks whether the path leads to the file.
    pub(super) fn check(&self) -> Result<(), Error> {
        let is_left = match fs::metadata(&self.path) {
            Ok(found) => identity(&found) != self.file,
            Err(error) => matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory),
        };
        self.is_left.store(is_left, Ordering::Relaxed);
        if is_left { Err(Error::Replaced) } else { Ok(()) }
    }

    /// As `check`, when the last look found that it does not: for what is too frequent for a look each time.
    pub(super) fn check_if_left(&self) -> Result<(), Error> {
        if self.is_left.load(Ordering::Relaxed) { self.check() } else { Ok(()) }
    }
}

fn identity(file: &Metadata) -> (u64, u64) {
    (file.dev(), file.ino())
}
