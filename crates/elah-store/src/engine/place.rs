//! The place of an open store: the paths under which others find the files that this process has opened.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{self, Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::env::{DATA_FILE, LOCK_FILE};
use crate::error::Error;

/// Reads look again after this time. Who opens the store without its lock file and fills it may write over what they read until then.
const LOOK_PAUSE: Duration = Duration::from_millis(100);

/// The paths of the files, whatever becomes of the working directory, and what identified each when it was opened. Who finds another lock
/// file writes to the same data file at the same time.
pub(super) struct Place {
    files: [(PathBuf, Identity); 2],
    /// Whether another file, or none, was there at the last look.
    is_left: AtomicBool,
    /// Whether only the lock file was another one, or none. Who opens the store then does not see the readers of this process, and writes
    /// over the pages that they read.
    is_unlocked: AtomicBool,
    /// When the last look was, in milliseconds.
    looked_at: AtomicU64,
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
            looked_at: AtomicU64::new(0),
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
        let (now, last) = (coarse_ms(), self.looked_at.load(Ordering::Relaxed));
        if self.is_unlocked.load(Ordering::Relaxed) || u128::from(now.wrapping_sub(last)) >= LOOK_PAUSE.as_millis() {
            self.looked_at.store(now, Ordering::Relaxed);
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

/// Milliseconds of a clock that costs little and may be some late.
#[allow(unsafe_code)]
fn coarse_ms() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes into the struct that it is given.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_COARSE, &raw mut time) };
    time.tv_sec.unsigned_abs() * 1000 + time.tv_nsec.unsigned_abs() / 1_000_000
}
