//! The time for which requests may run in one iteration of the loop, before their responses leave.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// Without this limit, requests that arrive together would all get their responses when the last one has run. With it the
/// responses leave in parts, and clients that send again on a response are spread over time.
const SHARE: Duration = Duration::from_millis(2);

/// The time used by an iteration's requests, from the first one on. Work that waited in the loop runs before them and does not
/// count. The clock is read before the first request, the second, the third, the fifth, the ninth and so on, so it costs short
/// requests nothing. Together they take at most twice the budget, or as long as one request.
#[derive(Debug)]
pub struct IterationBudget {
    began: Cell<Instant>,
    requests: Cell<u32>,
    is_over: Cell<bool>,
}

impl Default for IterationBudget {
    fn default() -> Self {
        Self::new()
    }
}

impl IterationBudget {
    pub fn new() -> Self {
        IterationBudget { began: Cell::new(Instant::now()), requests: Cell::new(0), is_over: Cell::new(false) }
    }

    /// Begins a new iteration, which may run requests.
    pub fn begin(&self) {
        self.requests.set(0);
        self.is_over.set(false);
    }

    /// Whether no further request may begin in this iteration.
    pub fn is_over(&self) -> bool {
        self.is_over.get()
    }

    /// Whether one more request may begin; counts it.
    pub fn admits(&self, now: impl FnOnce() -> Instant) -> bool {
        let requests = self.requests.get();
        if requests == 0 {
            self.began.set(now());
        } else if requests.is_power_of_two() && now() >= self.began.get() + SHARE {
            self.is_over.set(true);
        }
        self.requests.set(requests.saturating_add(1));
        !self.is_over.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many requests begin in an iteration if each takes this long.
    fn requests(each: Duration) -> u32 {
        let share = IterationBudget::new();
        let (mut now, mut looks) = (Instant::now(), 0);
        share.begin();
        for count in 0..100_000 {
            let admits = share.admits(|| {
                looks += 1;
                now
            });
            if !admits {
                assert!(share.is_over() && looks <= 18, "{looks} looks at the clock");
                return count;
            }
            now += each;
        }
        panic!("the iteration has no end");
    }

    #[test]
    fn a_turn_ends_after_its_share() {
        let counts = [5000, 2000, 700, 400, 100, 1].map(|micros| requests(Duration::from_micros(micros)));
        assert_eq!(counts, [1, 1, 4, 8, 32, 2048]);
    }

    #[test]
    fn the_next_turn_has_a_share_of_its_own() {
        let (share, start) = (IterationBudget::new(), Instant::now());
        share.begin();
        assert!(share.admits(|| start) && !share.admits(|| start + SHARE) && share.is_over());
        share.begin();
        assert!(!share.is_over() && share.admits(|| start + SHARE) && share.admits(|| start + SHARE));
    }
}
