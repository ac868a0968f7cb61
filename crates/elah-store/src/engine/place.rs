//! The place of an open store: the paths under which others find the files that this process has opened.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{self, Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::env::{DATA_FILE, LOCK_FILE};
use crate::error::Error;

/// The paths of the files, whatever becomes of the working directory, and what identified each when it was opened. Who finds another lock
/// file writes to the same data file at the same time.
pub(super) struct Place {
    files: [(PathBuf, Identity); 2],
    /// Whether another file, or none, was there at the last look.
    is_left: AtomicBool,
    /// Whether only the lock file was another one, or none. Who opens the store then does not see the readers of this process, and writes
    /// over the pages that they read.
    is_unlocked: AtomicBool,
}

impl Place {
    /// The place of the store in `dir`, which was opened a moment ago.
    pub(super) fn of(dir: &Path) -> io::Result<Self> {
        let dir = path::absolute(dir)?;
        let opened = |name| {
            let path = dir.join(name);
            let file = identity(&fs::metadata(&path)?);
            Ok::<_, io::Error>((path, file))
        };
        Ok(Place {
            files: [opened(DATA_FILE)?, opened(LOCK_FILE)?],
            is_left: AtomicBool::new(false),
            is_unlocked: AtomicBool::new(false),
        })
    }

    /// Looks whether the paths lead to the files.
    pub(super) fn check(&self) -> Result<(), Error> {
        let [has_data_left, has_lock_left] = self.files.each_ref().map(|(path, file)| match fs::metadata(path) {
            Ok(found) => identity(&found) != *file,
            Err(error) => matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory),
        });
        let is_left = has_data_left || has_lock_left;
        self.is_left.store(is_left, Ordering::Relaxed);
        self.is_unlocked.store(has_lock_left && !has_data_left, Ordering::Relaxed);
        if is_left { Err(Error::Replaced) } else { Ok(()) }
    }

    /// Whether reads can be trusted, as of the last look.
    pub(super) fn check_reads(&self) -> Result<(), Error> {
        if self.is_unlocked.load(Ordering::Relaxed) { self.check() } else { Ok(()) }
    }

    /// As `check`, when the last look found that it does not: for what is too frequent for a look each time.
    pub(super) fn check_if_left(&self) -> Result<(), Error> {
        if self.is_left.load(Ordering::Relaxed) { self.check() } else { Ok(()) }
    }
}

/// The device and the number of a file.
type Identity = (u64, u64);

fn identity(file: &Metadata) -> Identity {
    (file.dev(), file.ino())
}
