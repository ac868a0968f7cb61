//! The place of an open journal: the paths under which the next owner looks for what this one confirms.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{self, Path, PathBuf};
use std::sync::Arc;

use super::segment::Segment;

/// The folder of a journal, by its path, whatever becomes of the working directory, and its lock file as it was when it was opened.
pub(super) struct Place {
    dir: PathBuf,
    lock: Identity,
}

impl Place {
    pub(super) fn of(dir: &Path, lock: &File) -> io::Result<Self> {
        Ok(Place { dir: path::absolute(dir)?, lock: identity(&lock.metadata()?) })
    }

    /// Why nobody would find the journal, or which of these segments; nothing if all are there.
    pub(super) fn faults(&self, segments: &[Arc<Segment>]) -> io::Result<Vec<Fault>> {
        if !leads_to(&self.dir.join(super::LOCK_FILE), self.lock) {
            return Ok(vec![Fault { segment: None, what: "its folder or its lock file".to_owned() }]);
        }
        let mut faults = Vec::new();
        for segment in segments {
            let path = Segment::path(&self.dir, segment.number);
            if !leads_to(&path, identity(&segment.metadata()?)) {
                faults.push(Fault { segment: Some(segment.number), what: format!("its file {}", path.display()) });
            }
        }
        Ok(faults)
    }
}

/// What is no longer where it was.
pub(super) struct Fault {
    /// The number of the segment; `None` for the whole journal.
    pub(super) segment: Option<u64>,
    pub(super) what: String,
}

fn leads_to(path: &Path, file: Identity) -> bool {
    fs::metadata(path).is_ok_and(|found| identity(&found) == file)
}

/// The device and the number of a file.
type Identity = (u64, u64);

fn identity(file: &Metadata) -> Identity {
    (file.dev(), file.ino())
}
