//! Reads of an opening: those of one iteration of a loop share a snapshot.

use std::sync::{Arc, MutexGuard, PoisonError};

use super::Engine;
use crate::env::Snapshot;
use crate::error::Error;
use crate::iteration::{self, InIteration};

impl InIteration for Engine {
    fn release_reads(&self) {
        if !self.is_of_this_process() {
            return self.forget_kept();
        }
        self.kept().take();
    }

    fn begin_writes(&self) {
        self.hurry();
    }
}

impl Engine {
    /// Calls `work` with the store as it is now. In an iteration of a loop reads share one snapshot for as long as no process commits.
    pub(crate) fn read<R>(self: &Arc<Self>, work: impl FnOnce(&Snapshot) -> Result<R, Error>) -> Result<R, Error> {
        let Ok(mut kept) = self.kept.try_lock() else { return work(&self.snapshot()?) };
        let snapshot = match kept.take() {
            Some(current) if current.id() == self.env.info().last_txn_id => kept.insert(current),
            stale => {
                let is_noted = stale.is_some();
                drop(stale);
                let snapshot = self.snapshot()?;
                if !is_noted && !iteration::may_keep(self) {
                    return work(&snapshot);
                }
                kept.insert(snapshot)
            }
        };
        work(snapshot)
    }

    /// In a fork: its parent still reads with what is kept, and ending it here would end it there.
    pub(crate) fn forget_kept(&self) {
        std::mem::forget(self.kept().take());
    }

    pub(crate) fn kept(&self) -> MutexGuard<'_, Option<Snapshot>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
