//! The lock on the directory of a store: shared by all its openings, and exclusive for work that replaces what they rely on.
//!
//! It is a lock of the directory itself (`flock`), so that the kernel removes it with its process, and no file of its own is left.

use std::fs::{File, TryLockError};
use std::path::Path;
use std::time::{Duration, Instant};

use super::error::Error;

/// So long an opening waits for an exclusive user to finish.
const WAIT_MAX: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(10);

/// Held while a store is open, or while one process has it for itself.
#[derive(Debug)]
pub(super) struct InUse {
    _dir: File,
}

impl InUse {
    /// Waits while another process has the directory for itself.
    pub(super) fn share(dir: &Path) -> Result<Self, Error> {
        InUse::lock(dir, File::try_lock_shared, WAIT_MAX)?
            .ok_or_else(|| Error::cannot_open(dir, "another process compacts or migrates it; try again when it has finished"))
    }

    /// `None` if another opening exists for longer than `patience`.
    pub(super) fn alone(dir: &Path, patience: Duration) -> Result<Option<Self>, Error> {
        InUse::lock(dir, File::try_lock, patience)
    }

    fn lock(dir: &Path, lock: impl Fn(&File) -> Result<(), TryLockError>, patience: Duration) -> Result<Option<Self>, Error> {
        let file = File::open(dir).map_err(|error| Error::cannot_open(dir, error))?;
        let until = Instant::now() + patience;
        loop {
            match lock(&file) {
                Ok(()) => return Ok(Some(InUse { _dir: file })),
                Err(TryLockError::WouldBlock) if Instant::now() >= until => return Ok(None),
                Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
                Err(TryLockError::Error(error)) => return Err(Error::cannot_open(dir, format!("it cannot be locked: {error}"))),
            }
        }
    }
}
