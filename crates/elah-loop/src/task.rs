//! A handle to a future that runs on a loop or in the background.

/// A running future. Dropping the handle does not stop it.
#[derive(Debug)]
pub struct Task {
    handle: tokio::task::AbortHandle,
}

impl Task {
    pub fn new(handle: tokio::task::AbortHandle) -> Self {
        Task { handle }
    }

    /// Drops the future at its current wait; does nothing if it has ended.
    pub fn abort(&self) {
        self.handle.abort();
    }
}
