//! When the writers begin with what iterations have written: as soon as no request is at hand, or after 2 ms.
//!
//! A commit, or a sync, takes as much CPU time as several requests, on the loop's own core. No answer can go out before the requests at hand
//! have run, so that what they write may as well share it.

use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::Worker;
use elah_journal::SinkLog;
use elah_loop::wake::WaitId;
use elah_store::iteration;

/// How long the writes of an iteration may wait for those of the next ones.
const COALESCING_MAX: Duration = Duration::from_millis(2);

/// Since when writes are waiting to begin.
#[derive(Default)]
pub(super) struct WriteCoalescing {
    since: Cell<Option<Instant>>,
}

impl WriteCoalescing {
    /// Whether writes that wait at the time `now` may wait for more.
    fn allows(&self, now: Instant) -> bool {
        let since = self.since.get().unwrap_or(now);
        self.since.set(Some(since));
        now.saturating_duration_since(since) < COALESCING_MAX
    }

    fn end(&self) {
        self.since.set(None);
    }
}

/// Waits for one journal's next sync.
pub(super) struct Unsynced {
    log: Arc<SinkLog>,
    waits: Vec<WaitId>,
}

impl Worker {
    /// Whether writes of an iteration may wait for those of the next one.
    pub(super) fn may_coalesce_writes(&self) -> bool {
        let has_written = iteration::has_written() || !self.unsynced.borrow().is_empty();
        has_written && self.write_coalescing.allows(Instant::now())
    }

    /// Starts the waiting writes.
    pub(super) fn begin_writes(&self) {
        self.write_coalescing.end();
        iteration::begin_writes();
        for Unsynced { log, waits } in self.unsynced.take() {
            let (told, synced) = oneshot::channel();
            log.when_synced(log.end(), |result| drop(told.send(result)));
            let waker = self.shared.local_waker.clone();
            self.tasks.spawn_local(async move {
                // Each waiter asks the journal for the result.
                drop(synced.await);
                waits.into_iter().for_each(|wait| waker.end_wait(wait));
            });
        }
    }

    /// A wait that ends with the next sync of `log`. It is asked for when no request is at hand, soon after this iteration, and all waits that began
    /// until then share it.
    pub fn wait_for_sync(&self, log: &Arc<SinkLog>) -> WaitId {
        let wait = self.new_wait();
        let mut unsynced = self.unsynced.borrow_mut();
        match unsynced.iter_mut().find(|known| Arc::ptr_eq(&known.log, log)) {
            Some(known) => known.waits.push(wait),
            None => unsynced.push(Unsynced { log: Arc::clone(log), waits: vec![wait] }),
        }
        wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_wait_for_some_turns_and_not_for_ever() {
        let write_coalescing = WriteCoalescing::default();
        let start = Instant::now();
        for _ in 0..2 {
            assert!(write_coalescing.allows(start));
            assert!(write_coalescing.allows(start + COALESCING_MAX / 2));
            assert!(!write_coalescing.allows(start + COALESCING_MAX));
            write_coalescing.end();
        }
        assert!(write_coalescing.allows(start + COALESCING_MAX), "what comes later waits anew");
    }
}
