//! A lock that a process holds while it lives, so that others of its machine notice at once when it is killed.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The lock of this process; its file goes with it.
pub(crate) struct Life {
    path: PathBuf,
    _file: File,
}

impl Life {
    /// `None` where the folder is not writable: the end of the process is noticed by its lease then.
    pub(crate) fn begin(socket: &str) -> Option<Life> {
        let path = path(socket);
        DirBuilder::new().recursive(true).mode(0o700).create(path.parent()?).ok()?;
        let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&path).ok()?;
        file.try_lock().ok()?;
        Some(Life { path, _file: file })
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Whether the process has ended that took calls on this socket of this machine. `false` if that is not known.
pub(crate) fn has_ended(socket: &str) -> bool {
    let Ok(file) = File::open(path(socket)) else { return false };
    match file.try_lock_shared() {
        Ok(()) => true,
        Err(TryLockError::WouldBlock | TryLockError::Error(_)) => false,
    }
}

fn path(socket: &str) -> PathBuf {
    Path::new(socket).with_extension("lock")
}
