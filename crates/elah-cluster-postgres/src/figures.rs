//! What a process counts of its part in a cluster.

use std::sync::atomic::{AtomicU64, Ordering};

/// What a process has counted since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// For how many milliseconds the oldest write without a reply of the database has waited.
    pub lag_ms: u64,
    /// How often the database was found to have lost confirmed writes, of any process.
    pub losses: u64,
    /// Shards of which the memory was begun, after a claim or after a drop.
    pub restores: u64,
    /// Shards of which the memory was given up without a hand-over: a write was not stored, or the process had lost its shards.
    pub drops: u64,
    /// Shards that were handed over.
    pub moves: u64,
}

/// The same, counted by the writer's thread.
#[derive(Default)]
pub(crate) struct Counts {
    /// Since when the oldest write waits, in milliseconds since the machine's start; 0 while none does.
    pub(crate) waiting_since_ms: AtomicU64,
    pub(crate) losses: AtomicU64,
    pub(crate) restores: AtomicU64,
    pub(crate) drops: AtomicU64,
    pub(crate) moves: AtomicU64,
}

pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

impl Counts {
    pub(crate) fn figures(&self, now_ms: u64) -> Figures {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let lag_ms = match get(&self.waiting_since_ms) {
            0 => 0,
            since => now_ms.saturating_sub(since),
        };
        Figures {
            lag_ms,
            losses: get(&self.losses),
            restores: get(&self.restores),
            drops: get(&self.drops),
            moves: get(&self.moves),
        }
    }
}
