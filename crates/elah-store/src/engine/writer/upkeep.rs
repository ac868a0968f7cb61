//! What the writer does beside writing: it sweeps what has expired, takes over what killed processes have left, and makes room.

use std::time::{Duration, Instant};

use super::{FULL_PAUSE, RECOVERY_PAUSE, Writer};
use crate::error::Error;
use crate::journal;
use crate::layout::{EXPIRIES, expiry_entry};
use crate::session::Session;

/// Entries that one transaction sweeps, so that no write waits long behind a sweep.
const SWEEP_MAX: usize = 1000;
/// After this the clock is looked at again, whenever the next entry expires.
const SWEEP_WAIT_MAX: Duration = Duration::from_secs(3600);

impl Writer<'_> {
    /// Removes all that has expired, and returns how many entries there were.
    pub(super) fn sweep_all(&mut self) -> Result<usize, Error> {
        let mut swept = 0;
        loop {
            let removed = self.sweep_some()?;
            swept += removed;
            if removed < SWEEP_MAX {
                return Ok(swept);
            }
        }
    }

    /// Removes some of what has expired, and plans the rest.
    pub(super) fn sweep(&mut self) {
        self.sweep_at = None;
        match self.sweep_some() {
            Ok(SWEEP_MAX..) => self.sweep_at = Some(Instant::now()),
            Ok(_) => self.plan_sweep(),
            Err(_) => self.sweep_at = Some(Instant::now() + FULL_PAUSE),
        }
    }

    fn sweep_some(&mut self) -> Result<usize, Error> {
        let engine = self.engine;
        engine.queue.check().and_then(|()| engine.place.check())?;
        let swept = Session::begin(&engine.env, engine.tree, engine.options.clock.now_ms()).and_then(|mut session| {
            let swept = session.sweep(SWEEP_MAX)?;
            session.commit().map(|()| swept)
        });
        self.poison(swept)
    }

    /// Looks up when the next entry expires, and sees to it that it is swept then.
    pub(super) fn plan_sweep(&mut self) {
        let engine = self.engine;
        let first = engine.snapshot().and_then(|snapshot| {
            let first = engine.tree.prefix_iter(&snapshot, &EXPIRIES)?.next().transpose()?;
            Ok(first.and_then(|(entry, _)| expiry_entry(entry)).map(|(time, _, _)| time))
        });
        let due = first.ok().flatten().map(|time| {
            let wait = Duration::from_millis(time.saturating_sub(engine.options.clock.now_ms()));
            Instant::now() + wait.min(SWEEP_WAIT_MAX).max(engine.options.sweep_pause)
        });
        self.sweep_at = [self.sweep_at, due].into_iter().flatten().min();
    }

    /// Takes over the journals and the readers' slots of processes that were killed.
    pub(super) fn recover(&mut self) {
        self.recover_at = Instant::now() + RECOVERY_PAUSE;
        let engine = self.engine;
        if engine.queue.check().and_then(|()| engine.place.check()).is_err() {
            return;
        }
        let _ = self.free_dead_readers();
        if let Ok(orphans) = journal::orphans(&engine.dir) {
            let recovered = journal::recover(&engine.env, engine.tree, orphans, engine.options.clock.now_ms());
            // For what does not fit now the journals stay where they are.
            let _ = self.poison(recovered);
        }
    }

    /// Commits something that changes nothing, so that the next transaction can use the pages that the last one has freed. Whether
    /// that may help.
    pub(super) fn ripen_free_pages(&mut self) -> bool {
        let engine = self.engine;
        std::mem::take(&mut self.has_unripe_pages)
            && self.poison(Session::begin(&engine.env, engine.tree, 0).and_then(Session::commit_nothing)).is_ok()
    }

    /// Whether a killed process had held on to pages of the file that can be used again now.
    pub(super) fn free_dead_readers(&self) -> bool {
        self.engine.env.clear_stale_readers().is_ok_and(|freed| freed > 0)
    }
}
