//! A gate: the limit of requests that run at once on some routes, such as those behind a connection pool. Others wait in a queue
//! of the gate, before they get a fiber.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use super::{Queue, RequestId, remove_from};

/// The limits of a gate.
#[derive(Debug, Clone)]
pub struct GateSettings {
    /// The numbers of the routes.
    pub routes: Vec<u32>,
    /// Requests on these routes that have a fiber, or wait for one of the worker's fibers.
    pub running_max: usize,
    /// Requests that may wait at the gate.
    pub queue_max: usize,
    /// Milliseconds that a request may wait at the gate before it gets a 503.
    pub queue_ms: u64,
}

#[derive(Debug)]
pub(super) struct Gate {
    pub(super) settings: GateSettings,
    /// Requests that have passed the gate and have not ended.
    passed: Cell<usize>,
    queue: Queue,
}

/// The decision of a gate about a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Passage {
    Open,
    Wait,
    Full,
}

impl Gate {
    fn new(settings: GateSettings) -> Self {
        Gate { settings, passed: Cell::new(0), queue: RefCell::default() }
    }

    pub(super) fn passage(&self) -> Passage {
        let waiting = self.queue.borrow().len();
        match (self.passed.get() < self.settings.running_max && waiting == 0, waiting < self.settings.queue_max) {
            (true, _) => Passage::Open,
            (false, true) => Passage::Wait,
            (false, false) => Passage::Full,
        }
    }

    pub(super) fn pass(&self) {
        self.passed.set(self.passed.get() + 1);
    }

    pub(super) fn leave(&self) {
        self.passed.set(self.passed.get() - 1);
    }

    pub(super) fn enqueue(&self, id: RequestId, now_ms: u64) {
        self.queue.borrow_mut().push_back((id, now_ms));
    }

    pub(super) fn leave_queue(&self, id: RequestId) {
        remove_from(&self.queue, id);
    }

    /// The first in the queue, if there is room for it.
    pub(super) fn next(&self) -> Option<RequestId> {
        let has_room = self.passed.get() < self.settings.running_max;
        if has_room { self.queue.borrow_mut().pop_front().map(|(id, _)| id) } else { None }
    }

    /// The first in the queue, if it has waited too long.
    pub(super) fn next_timed_out(&self, now_ms: u64) -> Option<RequestId> {
        let mut queue = self.queue.borrow_mut();
        queue.front().filter(|(_, since)| now_ms.saturating_sub(*since) > self.settings.queue_ms)?;
        queue.pop_front().map(|(id, _)| id)
    }
}

/// All gates of a worker, by route.
#[derive(Debug, Default)]
pub(super) struct Gates {
    gates: Vec<Gate>,
    by_route: HashMap<u32, usize>,
}

impl Gates {
    pub(super) fn new(settings: Vec<GateSettings>) -> Self {
        let by_route =
            settings.iter().enumerate().flat_map(|(at, gate)| gate.routes.iter().map(move |route| (*route, at))).collect();
        Gates { gates: settings.into_iter().map(Gate::new).collect(), by_route }
    }

    /// The number of the gate before a route.
    pub(super) fn before(&self, route: Option<u32>) -> Option<usize> {
        // The only cost for a worker without gates.
        if self.gates.is_empty() { None } else { self.by_route.get(&route?).copied() }
    }

    pub(super) fn get(&self, number: usize) -> &Gate {
        &self.gates[number]
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Gate> {
        self.gates.iter()
    }
}
