//! The wall clock that decides what has expired, and one that tests and simulations move by hand.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

/// Milliseconds since 1970. Wall-clock time, because a time of expiry must outlive the process.
#[derive(Clone, Debug, Default)]
pub enum Clock {
    /// The system's clock.
    #[default]
    System,
    /// A clock that stands still until somebody stores another time.
    Manual(Arc<AtomicU64>),
}

impl Clock {
    /// The time now.
    pub fn now_ms(&self) -> u64 {
        match self {
            Clock::System => SystemTime::now()
                .duration_since(SystemTime::UNIX_EPOCH)
                .map_or(0, |time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX)),
            Clock::Manual(time) => time.load(Ordering::Acquire),
        }
    }

    /// When something that lives for `ttl` from now expires.
    pub fn expiry(&self, ttl: Duration) -> u64 {
        self.now_ms().saturating_add(u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX))
    }
}
