//! A worker's counters. They are cells of one thread, so counting costs an addition.

use std::cell::Cell;

#[derive(Debug, Default)]
pub(crate) struct Metrics {
    connections: Cell<u64>,
    requests: Cell<u64>,
    refused: Cell<u64>,
    iterations: Cell<u64>,
}

/// A worker's counters since it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Connections accepted.
    pub connections: u64,
    /// Requests that reached the application.
    pub requests: u64,
    /// Requests that the server refused by itself: malformed, too large, too slow, too many.
    pub refused: u64,
    /// Iterations of the loop; each releases Ruby's global lock once.
    pub iterations: u64,
}

impl Metrics {
    pub(crate) fn connected(&self) {
        self.connections.set(self.connections.get() + 1);
    }

    pub(crate) fn requested(&self) {
        self.requests.set(self.requests.get() + 1);
    }

    pub(crate) fn refused(&self) {
        self.refused.set(self.refused.get() + 1);
    }

    pub(crate) fn iterated(&self) {
        self.iterations.set(self.iterations.get() + 1);
    }

    pub(crate) fn counts(&self) -> Counts {
        Counts {
            connections: self.connections.get(),
            requests: self.requests.get(),
            refused: self.refused.get(),
            iterations: self.iterations.get(),
        }
    }
}
