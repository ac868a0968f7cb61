//! How long the loop's thread has been with Ruby, so that another thread can say who holds it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Beats once at each end of an iteration. All times are nanoseconds since `origin`.
#[derive(Debug)]
pub(crate) struct Heartbeat {
    origin: Instant,
    /// When Ruby got the thread; 0 while the loop has it.
    busy_since: AtomicU64,
    /// The last stall that was reported, so that each is reported once.
    reported: AtomicU64,
    interrupted: AtomicBool,
    asleep: Mutex<()>,
    woken: Condvar,
}

impl Heartbeat {
    pub(crate) fn new() -> Self {
        Heartbeat {
            origin: Instant::now(),
            busy_since: AtomicU64::new(0),
            reported: AtomicU64::new(0),
            interrupted: AtomicBool::new(false),
            asleep: Mutex::new(()),
            woken: Condvar::new(),
        }
    }

    pub(crate) fn begin(&self) {
        self.busy_since.store(self.now(), Ordering::Relaxed);
    }

    pub(crate) fn rest(&self) {
        self.busy_since.store(0, Ordering::Relaxed);
    }

    /// Returns the length of a stall longer than `bound` as soon as there is one that was not reported yet.
    pub(crate) fn wait_for_stall(&self, bound: Duration) -> Option<Duration> {
        let bound_ns = u64::try_from(bound.as_nanos()).unwrap_or(u64::MAX);
        loop {
            if self.interrupted.swap(false, Ordering::Relaxed) {
                return None;
            }
            let since = self.busy_since.load(Ordering::Relaxed);
            let stalled = self.now().saturating_sub(since);
            if since != 0 && stalled > bound_ns && self.reported.swap(since, Ordering::Relaxed) != since {
                return Some(Duration::from_nanos(stalled));
            }
            let asleep = self.asleep.lock().unwrap_or_else(PoisonError::into_inner);
            drop(self.woken.wait_timeout(asleep, bound / 2).unwrap_or_else(PoisonError::into_inner));
        }
    }

    pub(crate) fn interrupt(&self) {
        self.interrupted.store(true, Ordering::Relaxed);
        self.woken.notify_all();
    }

    fn now(&self) -> u64 {
        u64::try_from(self.origin.elapsed().as_nanos()).unwrap_or(u64::MAX).max(1)
    }
}
