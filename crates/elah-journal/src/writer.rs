//! The thread that syncs a journal.
//!
//! After a sync it checks again within `sync_pause`, and sleeps only if nothing was appended meanwhile. So under load an append
//! wakes nobody.

use std::io;
use std::sync::PoisonError;
use std::time::Instant;

use super::log::Unsynced;
use super::place::Fault;
use super::{Error, Position, Shared};

/// Returns when the log is closing and everything is on the disk.
pub(super) fn run(shared: &Shared) {
    let _fail = FailOnPanic(shared);
    while let Some(unsynced) = next(shared) {
        let synced = sync(&unsynced).map_err(|error| Error::failed("a sync failed", error));
        let mut log = shared.lock();
        // The files of events that were delivered meanwhile are deleted.
        let is_displaced = |fault: &Fault| fault.segment.is_none_or(|number| log.needs(number));
        let result = synced.and_then(|faults| match faults.into_iter().find(is_displaced) {
            Some(Fault { what, .. }) => Err(Error::Displaced { what }),
            None => Ok(()),
        });
        let settled = log.settle_sync(unsynced.up_to, result);
        drop(log);
        for (done, result) in settled {
            done(result);
        }
    }
}

/// Waits until a caller waits for a sync, or appended bytes are `sync_pause` old.
fn next(shared: &Shared) -> Option<Unsynced> {
    let mut log = shared.lock();
    let mut due = Instant::now() + log.options.sync_pause;
    loop {
        let is_hopeless = log.has_failed() || (log.is_closing() && log.is_displaced());
        let is_dirty = !log.is_synced() && !is_hopeless;
        if log.is_closing() && !is_dirty {
            return None;
        }
        let now = Instant::now();
        if is_dirty && (log.is_sync_wanted() || log.is_closing() || due <= now) {
            return Some(log.unsynced());
        }
        if due > now {
            log = shared.changed.wait_timeout(log, due - now).unwrap_or_else(PoisonError::into_inner).0;
            continue;
        }
        log.writer_sleeps = true;
        log = shared.changed.wait(log).unwrap_or_else(PoisonError::into_inner);
        log.writer_sleeps = false;
        due = Instant::now() + log.options.sync_pause;
    }
}

/// Syncs everything. Returns what nobody would find then.
fn sync(unsynced: &Unsynced) -> io::Result<Vec<Fault>> {
    for segment in &unsynced.segments {
        segment.sync()?;
    }
    if let Some(folder) = &unsynced.folder {
        folder.sync_all()?;
    }
    unsynced.place.faults(&unsynced.segments)
}

/// If the writer panics, all waiters get an error.
struct FailOnPanic<'s>(&'s Shared);

impl Drop for FailOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let error = Error::failed("the writer's thread panicked", "this is a bug in Elah");
            let settled = self.0.lock().settle_sync(Position::default(), Err(error));
            for (done, result) in settled {
                done(result);
            }
        }
    }
}
