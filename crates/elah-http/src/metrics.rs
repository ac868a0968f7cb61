//! A worker's counters. They are cells of one thread, so counting costs an addition.

use std::cell::Cell;
use std::io;

#[derive(Debug, Default)]
pub(crate) struct Metrics {
    connections: Cell<u64>,
    requests: Cell<u64>,
    refused: Cell<u64>,
    iterations: Cell<u64>,
    accept_failures: Cell<u64>,
    accept_errno: Cell<i32>,
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
    /// How often connections could not be accepted, as without a file descriptor.
    pub accept_failures: u64,
    /// The system's number of the last such error.
    pub accept_errno: i32,
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

    pub(crate) fn accept_failed(&self, error: &io::Error) {
        self.accept_failures.set(self.accept_failures.get() + 1);
        self.accept_errno.set(error.raw_os_error().unwrap_or(0));
    }

    pub(crate) fn counts(&self) -> Counts {
        Counts {
            connections: self.connections.get(),
            requests: self.requests.get(),
            refused: self.refused.get(),
            iterations: self.iterations.get(),
            accept_failures: self.accept_failures.get(),
            accept_errno: self.accept_errno.get(),
        }
    }
}
