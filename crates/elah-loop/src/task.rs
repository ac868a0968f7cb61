//! A future that runs on a loop or in the background, from the side of whoever started it.

/// A running future. Dropping it lets the future go on.
#[derive(Debug)]
pub struct Task {
    handle: tokio::task::AbortHandle,
}

impl Task {
    pub fn new(handle: tokio::task::AbortHandle) -> Self {
        Task { handle }
    }

    /// Drops the future where it waits; does nothing when it has ended.
    pub fn abort(&self) {
        self.handle.abort();
    }
}
