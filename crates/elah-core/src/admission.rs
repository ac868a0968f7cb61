//! Who may run: requests that have a fiber, requests that wait for one, and requests that are past their deadline.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use slab::Slab;

use crate::exchange::Exchange;
use crate::limits::Limits;
use crate::problem::Problem;

/// Names a request for as long as its handler runs. The serial number makes a name that is no longer in use miss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestId {
    key: u32,
    serial: u32,
}

impl RequestId {
    pub fn to_bits(self) -> u64 {
        u64::from(self.serial) << 32 | u64::from(self.key)
    }

    pub fn from_bits(bits: u64) -> Self {
        RequestId { key: (bits & 0xffff_ffff) as u32, serial: (bits >> 32) as u32 }
    }
}

#[derive(Debug)]
struct Entry {
    serial: u32,
    admitted: bool,
    /// The application has the connection: what it does with it is not the server's affair any more.
    is_taken_over: bool,
    exchange: Rc<Exchange>,
}

#[derive(Debug, Default)]
pub(crate) struct Admission {
    entries: RefCell<Slab<Entry>>,
    next_serial: Cell<u32>,
    running: Cell<usize>,
    taken_over: Cell<usize>,
    /// Admitted and not yet taken by the worker.
    ready: RefCell<VecDeque<RequestId>>,
    /// Waiting for a fiber, with the time at which each began to wait.
    queue: RefCell<VecDeque<(RequestId, u64)>>,
}

impl Admission {
    /// Takes a request in: to run now, to wait, or, with the reason, not at all.
    pub(crate) fn admit(&self, exchange: &Rc<Exchange>, limits: &Limits, now_ms: u64) -> Result<RequestId, Problem> {
        let runs = self.running.get() < limits.fibers_max;
        if !runs && self.queue.borrow().len() >= limits.queue_max {
            let detail = format!("{} requests are running and {} wait: try again later.", limits.fibers_max, limits.queue_max);
            return Err(Problem::new(503, "overloaded", detail));
        }
        exchange.deadline_ms.set(now_ms + limits.request_ms);
        let serial = self.next_serial.get();
        self.next_serial.set(serial.wrapping_add(1));
        let key = self.entries.borrow_mut().insert(Entry {
            serial,
            admitted: runs,
            is_taken_over: false,
            exchange: Rc::clone(exchange),
        });
        let id = RequestId { key: u32::try_from(key).expect("fewer than 2^32 requests are open at once"), serial };
        if runs {
            self.running.set(self.running.get() + 1);
            self.ready.borrow_mut().push_back(id);
        } else {
            self.queue.borrow_mut().push_back((id, now_ms));
        }
        Ok(id)
    }

    pub(crate) fn has_ready(&self) -> bool {
        !self.ready.borrow().is_empty()
    }

    pub(crate) fn next_ready(&self) -> Option<RequestId> {
        self.ready.borrow_mut().pop_front()
    }

    pub(crate) fn get(&self, id: RequestId) -> Option<Rc<Exchange>> {
        let entries = self.entries.borrow();
        let entry = entries.get(id.key as usize).filter(|entry| entry.serial == id.serial)?;
        Some(Rc::clone(&entry.exchange))
    }

    /// Removes a request whose handler has ended, and lets the next one run.
    pub(crate) fn finish(&self, id: RequestId) -> Option<Rc<Exchange>> {
        let entry = self.remove(id)?;
        if entry.admitted {
            self.running.set(self.running.get() - 1);
            self.promote();
        }
        Some(entry.exchange)
    }

    /// Removes a request that still waits for a fiber; true if it did.
    pub(crate) fn abandon_waiting(&self, id: RequestId) -> bool {
        let waits = self.entries.borrow().get(id.key as usize).is_some_and(|entry| entry.serial == id.serial && !entry.admitted);
        waits && self.remove(id).is_some()
    }

    fn remove(&self, id: RequestId) -> Option<Entry> {
        let mut entries = self.entries.borrow_mut();
        entries.get(id.key as usize).filter(|entry| entry.serial == id.serial)?;
        let entry = entries.remove(id.key as usize);
        self.taken_over.set(self.taken_over.get() - usize::from(entry.is_taken_over));
        Some(entry)
    }

    /// Notes that the application takes the connection of a request over.
    pub(crate) fn take_over(&self, id: RequestId) {
        let mut entries = self.entries.borrow_mut();
        if let Some(entry) = entries.get_mut(id.key as usize).filter(|entry| entry.serial == id.serial && !entry.is_taken_over) {
            entry.is_taken_over = true;
            self.taken_over.set(self.taken_over.get() + 1);
        }
    }

    fn promote(&self) {
        while let Some((id, _)) = self.queue.borrow_mut().pop_front() {
            let mut entries = self.entries.borrow_mut();
            let Some(entry) = entries.get_mut(id.key as usize).filter(|entry| entry.serial == id.serial) else { continue };
            entry.admitted = true;
            self.running.set(self.running.get() + 1);
            self.ready.borrow_mut().push_back(id);
            return;
        }
    }

    /// The requests that have waited longer than `queue_ms` for a fiber; they are removed.
    pub(crate) fn take_impatient(&self, limits: &Limits, now_ms: u64) -> Vec<Rc<Exchange>> {
        let mut given_up = Vec::new();
        loop {
            let first = self.queue.borrow().front().copied();
            match first {
                Some((id, since)) if now_ms.saturating_sub(since) > limits.queue_ms => {
                    self.queue.borrow_mut().pop_front();
                    given_up.extend(self.remove(id).map(|entry| entry.exchange));
                }
                _ => return given_up,
            }
        }
    }

    /// The running requests whose answer has not begun and is overdue. Each is reported once.
    pub(crate) fn take_overdue(&self, now_ms: u64) -> Vec<RequestId> {
        let mut overdue = Vec::new();
        for (key, entry) in self.entries.borrow().iter() {
            let deadline = entry.exchange.deadline_ms.get();
            if entry.admitted && deadline > 0 && now_ms > deadline {
                entry.exchange.deadline_ms.set(0);
                overdue.push(RequestId { key: key as u32, serial: entry.serial });
            }
        }
        overdue
    }

    /// Requests that the server still has to answer.
    pub(crate) fn open(&self) -> usize {
        self.entries.borrow().len() - self.taken_over.get()
    }
}
