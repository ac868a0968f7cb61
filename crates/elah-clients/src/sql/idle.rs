//! The idle connections of a pool.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::connection::Connection;

#[derive(Default)]
pub(super) struct IdleConnections {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Each with the time since when it is idle. The one used last is at the end.
    connections: Vec<(Connection, Instant)>,
    is_closed: bool,
}

pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl IdleConnections {
    pub(super) fn count(&self) -> usize {
        locked(&self.state).connections.len()
    }

    /// The connection that was used last, and since when it is idle.
    pub(super) fn take(&self) -> Option<(Connection, Instant)> {
        let mut state = locked(&self.state);
        loop {
            let last = state.connections.pop()?;
            if !last.0.is_closed() {
                return Some(last);
            }
        }
    }

    /// Keeps a connection for the next caller, or closes it when the pool is closed. The caller still holds its permit.
    pub(super) fn put_back(&self, connection: Connection) {
        let mut state = locked(&self.state);
        if !state.is_closed && !connection.is_closed() {
            state.connections.push((connection, Instant::now()));
        }
    }

    /// Closes all connections, and from now on each that comes back.
    pub(super) fn close(&self) {
        let mut state = locked(&self.state);
        state.is_closed = true;
        state.connections.clear();
    }

    pub(super) fn close_older_than(&self, age: Duration) {
        let now = Instant::now();
        let mut state = locked(&self.state);
        // Those used longest ago come first.
        let expired = state.connections.iter().take_while(|(_, since)| now.duration_since(*since) > age).count();
        let expired: Vec<_> = state.connections.drain(..expired).collect();
        drop(state);
        drop(expired);
    }
}
