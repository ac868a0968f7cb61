//! The commands in flight: what a client's callers append and the driver of its connection sends and resolves.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Instant;

use tokio::sync::Notify;

use crate::redis::command::Name;
use crate::redis::error::Error;
use crate::redis::reply::Replies;
use crate::redis::settings::Settings;

/// A caller that waits for the replies to its commands.
pub trait Waiter: Send + 'static {
    /// Called once, from the thread that drives the connection. It must not call the client.
    fn end(self, outcome: Result<Replies, Error>);
}

/// Commands without all their replies, in the order in which they were sent.
pub(crate) struct Waiting<W> {
    /// `None` after its timeout: the replies will arrive all the same, and are dropped.
    pub(crate) waiter: Option<W>,
    pub(crate) command: Name,
    pub(crate) replies: u32,
    pub(crate) due: Instant,
}

pub(crate) struct State<W> {
    pub(crate) outgoing: Vec<u8>,
    pub(crate) waiting: VecDeque<Waiting<W>>,
    /// The driver, when it sleeps.
    pub(crate) driver: Option<Waker>,
    pub(crate) is_closed: bool,
    pub(crate) is_driven: bool,
    pub(crate) failures: u32,
    pub(crate) retry_at: Option<Instant>,
    pub(crate) last_cause: Arc<str>,
}

pub(crate) struct InFlight<W> {
    pub(crate) settings: Settings,
    /// Ends an attempt to connect when the client is closed.
    pub(crate) closed: Notify,
    state: Mutex<State<W>>,
}

impl<W> InFlight<W> {
    pub(crate) fn new(settings: Settings) -> Self {
        let state = State {
            outgoing: Vec::new(),
            waiting: VecDeque::new(),
            driver: None,
            is_closed: false,
            is_driven: false,
            failures: 0,
            retry_at: None,
            last_cause: "".into(),
        };
        InFlight { settings, closed: Notify::new(), state: Mutex::new(state) }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State<W>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
