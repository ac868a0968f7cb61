//! The worker's monotonic clock, read from the system once per iteration, so that reading the time costs a request one load.

use std::cell::Cell;
use std::time::Instant;

/// Milliseconds since the worker started. Wall-clock time never enters a deadline.
#[derive(Debug)]
pub struct Clock {
    origin: Instant,
    now_ms: Cell<u64>,
}

impl Default for Clock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock {
    pub fn new() -> Self {
        Clock { origin: Instant::now(), now_ms: Cell::new(1) }
    }

    /// The time of the last `refresh`, at most one iteration or one tick ago. Never 0, which callers use for "not since".
    pub fn now_ms(&self) -> u64 {
        self.now_ms.get()
    }

    pub fn refresh(&self) -> u64 {
        let now = u64::try_from(self.origin.elapsed().as_millis()).unwrap_or(u64::MAX).saturating_add(1);
        self.now_ms.set(now);
        now
    }
}
