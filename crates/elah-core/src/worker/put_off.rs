//! When the writers begin with what turns have written: as soon as no request is at hand, or after 2 ms.
//!
//! A commit, or a sync, takes as much CPU time as several requests, on the loop's own core. No answer can go out before the requests at hand
//! have run, so that what they write may as well share it.

use std::cell::Cell;
use std::time::{Duration, Instant};

use super::Worker;
use crate::store::turn;

/// For so long the writes of a turn may wait for those of the next ones.
const PUT_OFF_MAX: Duration = Duration::from_millis(2);

/// Since when something waits to be begun with.
#[derive(Default)]
pub(super) struct PutOff {
    since: Cell<Option<Instant>>,
}

impl PutOff {
    /// Whether what waits at the time `now` may wait for more.
    fn allows(&self, now: Instant) -> bool {
        let since = self.since.get().unwrap_or(now);
        self.since.set(Some(since));
        now.saturating_duration_since(since) < PUT_OFF_MAX
    }

    fn end(&self) {
        self.since.set(None);
    }
}

impl Worker {
    /// Whether a turn has written something that may wait for what the next one writes.
    pub(super) fn may_put_off_writes(&self) -> bool {
        let has_written = turn::has_written() || !self.rounds.borrow().is_empty() || !self.gatherings.borrow().is_empty();
        has_written && self.put_off.allows(Instant::now())
    }

    /// Has the writers begin with what turns have written.
    pub(super) fn begin_writes(&self) {
        self.put_off.end();
        turn::begin_writes();
        self.sync_rounds();
        self.submit_gathered();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_wait_for_some_turns_and_not_for_ever() {
        let put_off = PutOff::default();
        let start = Instant::now();
        for _ in 0..2 {
            assert!(put_off.allows(start));
            assert!(put_off.allows(start + PUT_OFF_MAX / 2));
            assert!(!put_off.allows(start + PUT_OFF_MAX));
            put_off.end();
        }
        assert!(put_off.allows(start + PUT_OFF_MAX), "what comes later waits anew");
    }
}
