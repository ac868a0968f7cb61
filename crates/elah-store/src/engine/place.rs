//! The place of an open store: the paths under which others find the files that this process has opened.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{self, Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use crate::env::{DATA_FILE, LOCK_FILE};
use crate::error::Error;

/// Reads look again after this time. Who opens the store without its lock file and fills it may write over what they read until then.
const LOOK_PAUSE_MS: u64 = 100;

/// The paths of the files, whatever becomes of the working directory, and what identified each when it was opened. Who finds another lock
/// file writes to the same data file at the same time.
pub(super) struct Place {
    files: [(PathBuf, Identity); 2],
    /// Whether another file, or none, was there at the last look.
    is_left: AtomicBool,
    /// Whether only the lock file was another one, or none. Who opens the store then does not see the readers of this process, and writes
    /// over the pages that they read.
    is_unlocked: AtomicBool,
    opened: Instant,
    /// When reads last looked, in milliseconds since then.
    looked_at_ms: AtomicU64,
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
            opened: Instant::now(),
            looked_at_ms: AtomicU64::new(0),
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

    /// Whether reads can be trusted, as of a look that was not long ago.
    pub(super) fn check_reads(&self) -> Result<(), Error> {
        let now_ms = u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(u64::MAX);
        let is_due = now_ms.saturating_sub(self.looked_at_ms.load(Ordering::Relaxed)) >= LOOK_PAUSE_MS;
        if is_due || self.is_unlocked.load(Ordering::Relaxed) {
            self.looked_at_ms.store(now_ms, Ordering::Relaxed);
            let _ = self.check(); // reads of files that are gone as a whole are sound
        }
        if self.is_unlocked.load(Ordering::Relaxed) { Err(Error::Replaced) } else { Ok(()) }
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
