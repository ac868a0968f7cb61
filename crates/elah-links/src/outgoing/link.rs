//! A called worker: its address, the bytes that wait for it, and the result of the last connection attempts.

use std::cell::{Cell, RefCell};
use std::time::Instant;

use crate::address::Address;
use crate::backoff::pause;
use crate::outbox::Outbox;

#[derive(Debug)]
pub(crate) struct Link {
    /// The address as it was given, which names the link.
    pub(crate) name: String,
    pub(crate) address: Address,
    pub(crate) outbox: Outbox,
    /// Calls without a reply.
    pub(crate) in_flight: Cell<usize>,
    /// Whether a connection is open or being opened.
    pub(crate) is_driven: Cell<bool>,
    is_greeted: Cell<bool>,
    failures: Cell<u32>,
    retry_at: Cell<Option<Instant>>,
    last_cause: RefCell<String>,
}

/// The state of a called worker, for status and metrics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkState {
    /// Its address.
    pub address: String,
    /// Whether the connection is open.
    pub is_connected: bool,
    /// Calls without a reply.
    pub calls: usize,
    /// Bytes that wait to be written.
    pub waiting_bytes: usize,
    /// Number of failed connection attempts in a row.
    pub failures: u32,
}

impl Link {
    pub(crate) fn new(name: &str, address: Address) -> Self {
        Link {
            name: name.to_owned(),
            address,
            outbox: Outbox::default(),
            in_flight: Cell::new(0),
            is_driven: Cell::new(false),
            is_greeted: Cell::new(false),
            failures: Cell::new(0),
            retry_at: Cell::new(None),
            last_cause: RefCell::new("the worker that called has stopped".to_owned()),
        }
    }

    /// Why no connection is attempted now, if none is.
    pub(crate) fn cause_of_pause(&self, now: Instant) -> Option<String> {
        self.retry_at.get().filter(|retry_at| *retry_at > now).map(|_| self.last_cause.borrow().clone())
    }

    pub(crate) fn greeted(&self) {
        self.is_greeted.set(true);
        self.failures.set(0);
        self.retry_at.set(None);
    }

    /// Records that the connection has ended or was not opened. One that never said hello counts as a failure.
    pub(crate) fn ended(&self, cause: &str, now: Instant) {
        cause.clone_into(&mut self.last_cause.borrow_mut());
        if !self.is_greeted.take() {
            self.failures.set(self.failures.get().saturating_add(1));
            self.retry_at.set(Some(now + pause(self.failures.get())));
        }
    }

    pub(crate) fn last_cause(&self) -> String {
        self.last_cause.borrow().clone()
    }

    pub(crate) fn state(&self) -> LinkState {
        LinkState {
            address: self.name.clone(),
            is_connected: self.is_greeted.get(),
            calls: self.in_flight.get(),
            waiting_bytes: if self.is_driven.get() { self.outbox.len() } else { 0 },
            failures: self.failures.get(),
        }
    }
}
