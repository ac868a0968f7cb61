//! Admission control: tracks running, queued and expired requests.

mod gate;

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use slab::Slab;

use crate::connection_state::ConnectionState;
use crate::exchange::Exchange;
use crate::limits::Limits;
use crate::problem::Problem;
pub use gate::GateSettings;
use gate::{Gates, Passage};

/// Identifies a request while its handler runs. The serial number makes stale IDs miss.
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

/// How far a request has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// It waits until the gate of its route admits it.
    AtGate,
    /// It waits for a fiber.
    Queued,
    Running,
}

#[derive(Debug)]
struct Entry {
    serial: u32,
    stage: Stage,
    /// The gate before its route.
    gate: Option<usize>,
    /// The application has taken over the connection. The server no longer applies timeouts to it.
    is_taken_over: bool,
    /// The client of its streamed response has disconnected, and that was reported.
    is_known_unread: bool,
    exchange: Rc<Exchange>,
}

#[derive(Debug, Default)]
pub(crate) struct Admission {
    entries: RefCell<Slab<Entry>>,
    next_serial: Cell<u32>,
    running: Cell<usize>,
    taken_over: Cell<usize>,
    /// Admitted, but not yet picked up by the worker.
    ready: RefCell<VecDeque<RequestId>>,
    /// Waiting for a fiber.
    queue: Queue,
    gates: Gates,
}

/// Requests in line, each with the time at which it began to wait.
type Queue = RefCell<VecDeque<(RequestId, u64)>>;

fn remove_from(queue: &Queue, id: RequestId) {
    let mut queue = queue.borrow_mut();
    if let Some(place) = queue.iter().position(|(waiting, _)| *waiting == id) {
        queue.remove(place);
    }
}

/// A request that waited too long: its ID, the wait in milliseconds and what it waited for.
pub(crate) struct TimedOut {
    pub(crate) exchange: Rc<Exchange>,
    pub(crate) bound_ms: u64,
    pub(crate) awaited: &'static str,
}

impl Admission {
    pub(crate) fn new(gates: Vec<GateSettings>) -> Self {
        Admission { gates: Gates::new(gates), ..Admission::default() }
    }

    /// Admits a request: to run now, or to wait. Returns the reason if it is refused.
    pub(crate) fn admit(&self, exchange: &Rc<Exchange>, limits: &Limits, now_ms: u64) -> Result<RequestId, Problem> {
        let gate = self.gates.before(exchange.route.as_ref().map(|route| route.id));
        let stage = self.first_stage(gate, limits)?;
        exchange.deadline_ms.set(now_ms + limits.request_ms);
        let serial = self.next_serial.get();
        self.next_serial.set(serial.wrapping_add(1));
        let exchange = Rc::clone(exchange);
        let entry = Entry { serial, stage, gate, is_taken_over: false, is_known_unread: false, exchange };
        let key = self.entries.borrow_mut().insert(entry);
        let id = RequestId { key: u32::try_from(key).expect("fewer than 2^32 requests are open at once"), serial };
        match (stage, gate) {
            (Stage::AtGate, Some(gate)) => self.gates.get(gate).enqueue(id, now_ms),
            (Stage::Running, _) => self.run(id),
            _ => self.queue.borrow_mut().push_back((id, now_ms)),
        }
        if let Some(gate) = gate
            && stage != Stage::AtGate
        {
            self.gates.get(gate).pass();
        }
        Ok(id)
    }

    fn first_stage(&self, gate: Option<usize>, limits: &Limits) -> Result<Stage, Problem> {
        if let Some(gate) = gate.map(|gate| self.gates.get(gate)) {
            match gate.passage() {
                Passage::Open => {}
                Passage::Wait => return Ok(Stage::AtGate),
                Passage::Full => {
                    let (running, waiting) = (gate.settings.running_max, gate.settings.queue_max);
                    let detail = format!("{running} requests of this kind are running and {waiting} wait: try again later.");
                    return Err(Problem::new(503, "overloaded", detail));
                }
            }
        }
        if self.running.get() < limits.fibers_max {
            return Ok(Stage::Running);
        }
        if self.queue.borrow().len() < limits.queue_max {
            return Ok(Stage::Queued);
        }
        let detail = format!("{} requests are running and {} wait: try again later.", limits.fibers_max, limits.queue_max);
        Err(Problem::new(503, "overloaded", detail))
    }

    fn run(&self, id: RequestId) {
        self.running.set(self.running.get() + 1);
        self.ready.borrow_mut().push_back(id);
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

    /// Removes a request whose handler has ended, and admits the next one.
    pub(crate) fn finish(&self, id: RequestId, limits: &Limits, now_ms: u64) -> Option<Rc<Exchange>> {
        let entry = self.remove(id)?;
        if entry.stage == Stage::Running {
            self.running.set(self.running.get() - 1);
            self.promote();
        }
        self.leave_gate(&entry, limits, now_ms);
        Some(entry.exchange)
    }

    /// Removes a request that no fiber has started; true if there was one.
    pub(crate) fn abandon_waiting(&self, id: RequestId, limits: &Limits, now_ms: u64) -> bool {
        let Some(stage) = self.entry(id, |entry| entry.stage) else { return false };
        if stage != Stage::Running {
            let Some(entry) = self.remove(id) else { return false };
            match entry.gate.filter(|_| stage == Stage::AtGate) {
                Some(gate) => self.gates.get(gate).leave_queue(id),
                None => remove_from(&self.queue, id),
            }
            self.leave_gate(&entry, limits, now_ms);
            return true;
        }
        let place = self.ready.borrow().iter().position(|ready| *ready == id);
        place.is_some_and(|place| {
            self.ready.borrow_mut().remove(place);
            self.finish(id, limits, now_ms).is_some()
        })
    }

    /// True while a handler runs and the server still owns the response.
    pub(crate) fn is_served(&self, id: RequestId) -> bool {
        self.entry(id, |entry| entry.stage == Stage::Running && !entry.is_taken_over).unwrap_or(false)
    }

    fn entry<R>(&self, id: RequestId, read: impl FnOnce(&Entry) -> R) -> Option<R> {
        self.entries.borrow().get(id.key as usize).filter(|entry| entry.serial == id.serial).map(read)
    }

    /// The connections of all waiting and running requests, except those that the application took over.
    pub(crate) fn served_connections(&self) -> Vec<Rc<ConnectionState>> {
        let entries = self.entries.borrow();
        let served = entries.iter().filter(|(_, entry)| !entry.is_taken_over);
        served.map(|(_, entry)| Rc::clone(&entry.exchange.connection)).collect()
    }

    /// The running requests whose streamed response has lost its client. Each is reported once.
    pub(crate) fn take_unread(&self) -> Vec<RequestId> {
        let mut unread = Vec::new();
        for (key, entry) in self.entries.borrow_mut().iter_mut() {
            let is_unread = entry.exchange.stream.borrow().as_ref().is_some_and(|(_, stream)| stream.is_unread());
            if is_unread && !entry.is_known_unread {
                entry.is_known_unread = true;
                unread.push(RequestId { key: key as u32, serial: entry.serial });
            }
        }
        unread
    }

    fn remove(&self, id: RequestId) -> Option<Entry> {
        let mut entries = self.entries.borrow_mut();
        entries.get(id.key as usize).filter(|entry| entry.serial == id.serial)?;
        let entry = entries.remove(id.key as usize);
        self.taken_over.set(self.taken_over.get() - usize::from(entry.is_taken_over));
        Some(entry)
    }

    /// Frees the place at the gate that a request had passed, and passes the next ones on to the queue for fibers.
    fn leave_gate(&self, entry: &Entry, limits: &Limits, now_ms: u64) {
        let Some(gate) = entry.gate.filter(|_| entry.stage != Stage::AtGate).map(|gate| self.gates.get(gate)) else { return };
        gate.leave();
        while let Some(id) = gate.next() {
            let mut entries = self.entries.borrow_mut();
            let Some(entry) = entries.get_mut(id.key as usize).filter(|entry| entry.serial == id.serial) else { continue };
            gate.pass();
            if self.running.get() < limits.fibers_max {
                entry.stage = Stage::Running;
                self.run(id);
            } else {
                entry.stage = Stage::Queued;
                self.queue.borrow_mut().push_back((id, now_ms));
            }
        }
    }

    /// Records that the application takes over the connection of a request.
    pub(crate) fn take_over(&self, id: RequestId) {
        let mut entries = self.entries.borrow_mut();
        if let Some(entry) = entries.get_mut(id.key as usize).filter(|entry| entry.serial == id.serial && !entry.is_taken_over) {
            entry.is_taken_over = true;
            self.taken_over.set(self.taken_over.get() + 1);
        }
    }

    fn promote(&self) {
        let Some((id, _)) = self.queue.borrow_mut().pop_front() else { return };
        if let Some(entry) = self.entries.borrow_mut().get_mut(id.key as usize) {
            entry.stage = Stage::Running;
            self.run(id);
        }
    }

    /// Removes and returns the requests that have waited too long for a fiber or at a gate.
    pub(crate) fn take_timed_out(&self, limits: &Limits, now_ms: u64) -> Vec<TimedOut> {
        let mut given_up = Vec::new();
        for gate in self.gates.iter() {
            while let Some(id) = gate.next_timed_out(now_ms) {
                let (bound_ms, awaited) = (gate.settings.queue_ms, "its turn");
                given_up.extend(self.remove(id).map(|entry| TimedOut { exchange: entry.exchange, bound_ms, awaited }));
            }
        }
        while let Some(id) = self.next_timed_out(limits, now_ms) {
            let Some(entry) = self.remove(id) else { continue };
            self.leave_gate(&entry, limits, now_ms);
            given_up.push(TimedOut { exchange: entry.exchange, bound_ms: limits.queue_ms, awaited: "a free fiber" });
        }
        given_up
    }

    /// The first request in the queue for fibers, if it has waited too long.
    fn next_timed_out(&self, limits: &Limits, now_ms: u64) -> Option<RequestId> {
        let mut queue = self.queue.borrow_mut();
        queue.front().filter(|(_, since)| now_ms.saturating_sub(*since) > limits.queue_ms)?;
        queue.pop_front().map(|(id, _)| id)
    }

    /// The admitted requests, begun or not, that are past their deadline and have no response. Each is reported once.
    pub(crate) fn take_overdue(&self, now_ms: u64) -> Vec<RequestId> {
        let mut overdue = Vec::new();
        for (key, entry) in self.entries.borrow().iter() {
            let deadline = entry.exchange.deadline_ms.get();
            if entry.stage == Stage::Running && deadline > 0 && now_ms > deadline {
                entry.exchange.deadline_ms.set(0);
                overdue.push(RequestId { key: key as u32, serial: entry.serial });
            }
        }
        overdue
    }

    /// The number of requests whose handlers have begun.
    pub(crate) fn handled(&self) -> usize {
        self.running.get() - self.ready.borrow().len()
    }

    /// The number of requests that wait at a gate or for a fiber.
    pub(crate) fn waiting(&self) -> usize {
        self.entries.borrow().len() - self.handled()
    }

    /// The number of requests that still need a response.
    pub(crate) fn open(&self) -> usize {
        self.entries.borrow().len() - self.taken_over.get()
    }
}
