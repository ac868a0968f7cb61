//! The wall clock by which entries expire, and one that tests and simulations set by hand.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

/// A clock in milliseconds since 1970. It is wall-clock time because an expiry must outlive the process.
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

    /// The time at which something with the lifetime `ttl` expires.
    pub fn expiry(&self, ttl: Duration) -> u64 {
        self.now_ms().saturating_add(u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX))
    }
}
