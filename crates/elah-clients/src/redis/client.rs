//! One server and the connection that all callers share: the waiting callers, connection attempts and their backoff.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::redis::command::Commands;
use crate::redis::connection::serve;
use crate::redis::error::Error;
use crate::redis::handshake;
use crate::redis::in_flight::{InFlight, State, Waiter, Waiting};
use crate::redis::settings::Settings;

/// The backoff after the second failure in a row; it doubles with each further one.
const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// A client of one server. It opens its connection for the first command, and another one when that is lost.
pub struct Client<W: Waiter> {
    in_flight: Arc<InFlight<W>>,
}

impl<W: Waiter> Client<W> {
    /// A client without a connection.
    pub fn new(settings: Settings) -> Self {
        Client { in_flight: Arc::new(InFlight::new(settings)) }
    }

    /// Sends commands as soon as the connection's driver runs; `waiter` gets their replies. If it returns a driver, the caller
    /// must run it on the client's runtime.
    pub fn submit(&self, commands: &Commands, waiter: W) -> Option<Driver<W>> {
        let now = Instant::now();
        let mut state = self.in_flight.state();
        if let Some(refusal) = self.refusal(&state, now) {
            drop(state);
            waiter.end(Err(refusal));
            return None;
        }
        state.outgoing.extend_from_slice(commands.bytes());
        let due = now + self.in_flight.settings.times.command;
        state.waiting.push_back(Waiting { waiter: Some(waiter), command: commands.name(), replies: commands.count(), due });
        if let Some(driver) = state.driver.take() {
            driver.wake();
        }
        if std::mem::replace(&mut state.is_driven, true) {
            return None;
        }
        Some(Driver { in_flight: Arc::clone(&self.in_flight), has_ended: false })
    }

    /// Closes the connection and ends all waits, for good.
    pub fn close(&self) {
        let mut state = self.in_flight.state();
        state.is_closed = true;
        if let Some(driver) = state.driver.take() {
            driver.wake();
        }
        drop(state);
        self.in_flight.closed.notify_one();
    }

    fn refusal(&self, state: &State<W>, now: Instant) -> Option<Error> {
        let settings = &self.in_flight.settings;
        if state.is_closed {
            return Some(Error::Closed { server: Arc::clone(&settings.server) });
        }
        if state.waiting.len() >= settings.times.in_flight_max {
            return Some(Error::Overloaded { server: Arc::clone(&settings.server), max: settings.times.in_flight_max });
        }
        let retry_after = state.retry_at.filter(|_| !state.is_driven)?.checked_duration_since(now)?;
        Some(Error::Unreachable { server: Arc::clone(&settings.server), cause: Arc::clone(&state.last_cause), retry_after })
    }
}

impl<W: Waiter> Drop for Client<W> {
    fn drop(&mut self) {
        self.close();
    }
}

/// The task of one connection, from opening it to its end.
pub struct Driver<W: Waiter> {
    in_flight: Arc<InFlight<W>>,
    /// Whether the client may have another driver by now.
    has_ended: bool,
}

impl<W: Waiter> Driver<W> {
    /// Opens the connection and serves it until it is lost or closed.
    pub async fn run(mut self) {
        let opened = tokio::select! {
            opened = handshake::open(&self.in_flight.settings) => opened,
            () = self.in_flight.closed.notified() => Err("the client was closed".to_owned()),
        };
        match opened {
            Ok(stream) => {
                self.in_flight.state().failures = 0;
                let cause = serve(&self.in_flight, stream).await;
                self.end(Some(cause.into()), false);
            }
            Err(cause) => self.end(Some(cause.into()), true),
        }
    }

    /// Ends all waits. `cause` is `None` when the runtime has dropped the task.
    fn end(&mut self, cause: Option<Arc<str>>, is_unreachable: bool) {
        self.has_ended = true;
        let settings = &self.in_flight.settings;
        let mut state = self.in_flight.state();
        state.is_driven = false;
        state.driver = None;
        state.outgoing.clear();
        let mut retry_after = Duration::ZERO;
        if is_unreachable {
            retry_after = pause(state.failures);
            state.failures += 1;
        }
        state.retry_at = (!retry_after.is_zero()).then(|| Instant::now() + retry_after);
        let waiting = std::mem::take(&mut state.waiting);
        let is_closed = state.is_closed;
        if let Some(cause) = &cause {
            state.last_cause = Arc::clone(cause);
        }
        drop(state);
        for Waiting { waiter, command, .. } in waiting {
            let Some(waiter) = waiter else { continue };
            let server = Arc::clone(&settings.server);
            waiter.end(Err(match &cause {
                _ if is_closed => Error::Closed { server },
                None => Error::Lost { server, command, cause: "the loop of this connection has ended".into() },
                Some(cause) if is_unreachable => Error::Unreachable { server, cause: Arc::clone(cause), retry_after },
                Some(cause) => Error::Lost { server, command, cause: Arc::clone(cause) },
            }));
        }
    }
}

impl<W: Waiter> Drop for Driver<W> {
    fn drop(&mut self) {
        if !self.has_ended {
            self.end(None, false);
        }
    }
}

/// The backoff after this many failures in a row: none after the first, then doubling. Half of it is random, so that many clients
/// do not reconnect at the same moment.
pub(crate) fn pause(failures: u32) -> Duration {
    let Some(doublings) = failures.checked_sub(1) else { return Duration::ZERO };
    let whole = PAUSE_MAX.min(PAUSE_MIN * (1 << doublings.min(10)));
    whole.mul_f64(0.5 + 0.5 * chance())
}

/// A random number from 0 to 1. It differs between forked processes, although their hashes have the same keys.
fn chance() -> f64 {
    use std::hash::{BuildHasher, RandomState};
    (RandomState::new().hash_one(std::process::id()) >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_bound_and_differ() {
        assert_eq!(pause(0), Duration::ZERO);
        for failures in 1..40 {
            let whole = PAUSE_MAX.min(PAUSE_MIN * (1 << (failures - 1).min(10)));
            assert!((whole / 2..=whole).contains(&pause(failures)), "after {failures} failures");
        }
        assert!((0..20).any(|_| pause(9) != pause(9)));
    }
}
