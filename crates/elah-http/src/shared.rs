//! State shared by the tasks of one worker: limits, clock, router, requests, connections. It never leaves the worker's thread.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{HashMap, HashSet};
use std::io;
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use bytes::Bytes;
use hyper::server::conn::http1;
use slab::Slab;

use crate::admission::{Admission, GateSettings, RequestId, TimedOut};
use crate::connection_state::{ConnectionState, Order};
use crate::exchange::Exchange;
use crate::guard::GuardLimits;
use crate::limits::Limits;
use crate::metrics::Metrics;
use crate::peers;
use crate::problem::Problem;
use crate::request_body::BodyRead;
use crate::response::{Headers, Response};
use crate::route_cache::RouteCache;
use crate::router::Router;
use elah_loop::clock::Clock;
use elah_loop::wake::{LocalWaker, WaitId};
use elah_scoreboard::{PUBLISH_PERIOD, Report, Row};

/// Bytes read from a socket at a time; one buffer serves all connections.
const SCRATCH_BYTES: usize = 64 * 1024;

/// hyper's minimum read size, and the number of headers for which it has room on its stack.
const HYPER_READ_BYTES: usize = 8 * 1024;
const HYPER_HEADERS_MAX: usize = 100;

/// A longer request ID from the client is ignored.
const GIVEN_ID_BYTES_MAX: usize = 128;

/// How often time limits are checked. It is the precision of every timeout that is not a fiber's timer.
pub(crate) const TICK: Duration = Duration::from_millis(50);

/// How long a connection without a request may take to send one while the worker drains.
const DRAIN_GRACE_MS: u64 = 500;

/// Ticks between two checks for broken connections among those whose handlers run.
const BROKEN_CHECK_TICKS: u32 = 4;

/// State shared by the tasks of one worker. It never leaves the worker's thread.
pub(crate) struct Shared {
    pub(crate) limits: Limits,
    pub(crate) guard_limits: Rc<GuardLimits>,
    pub(crate) http: http1::Builder,
    pub(crate) clock: Clock,
    pub(crate) router: Arc<Router>,
    pub(crate) route_cache: RouteCache,
    pub(crate) metrics: Metrics,
    pub(crate) scratch: RefCell<Box<[u8]>>,
    pub(crate) local_waker: LocalWaker,
    pub(crate) streamed_routes: HashSet<u32>,
    pub(crate) admission: Admission,
    pub(crate) connections: RefCell<Slab<Rc<ConnectionState>>>,
    pub(crate) acceptors: RefCell<Vec<Waker>>,
    pub(crate) draining: Cell<bool>,
    /// Other workers accept from the same sockets, so a drain leaves them the backlog.
    pub(crate) leaves_backlog: Cell<bool>,
    /// The loop continues after the drain until this is reset.
    pub(crate) keeps_running: Cell<bool>,
    pub(crate) row: OnceCell<Row>,
    /// Requests whose handlers must be cancelled, with the reason.
    pub(crate) cancelled: RefCell<Vec<(RequestId, Cancelled)>>,
    /// Connections that the application takes over, `None` until they arrive.
    pub(crate) hijacked: RefCell<HashMap<WaitId, Option<HandedOver>>>,
    pub(crate) body_reads: RefCell<HashMap<WaitId, BodyRead>>,
    ticks: Cell<u32>,
    last_tick_ms: Cell<u64>,
    request_id_prefix: String,
    next_request_number: Cell<u64>,
}

/// Why a handler is cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cancelled {
    /// Its deadline has passed; the client has got a 504.
    Overdue,
    /// Its client has disconnected.
    Gone,
}

/// A connection that the application took over: its descriptor, and the bytes read from it so far.
pub type HandedOver = io::Result<(OwnedFd, Vec<u8>)>;

impl Shared {
    pub(crate) fn new(limits: Limits, router: Arc<Router>, streamed_routes: HashSet<u32>, gates: Vec<GateSettings>) -> Self {
        Shared {
            guard_limits: Rc::new(GuardLimits {
                header_bytes_max: limits.header_bytes_max,
                headers_max: limits.headers_max,
                uri_bytes_max: limits.uri_bytes_max,
                body_bytes_max: limits.body_bytes_max,
            }),
            http: http_builder(&limits),
            limits,
            clock: Clock::new(),
            router,
            route_cache: RouteCache::default(),
            metrics: Metrics::default(),
            scratch: RefCell::new(vec![0; SCRATCH_BYTES].into_boxed_slice()),
            local_waker: LocalWaker::default(),
            streamed_routes,
            admission: Admission::new(gates),
            connections: RefCell::new(Slab::new()),
            acceptors: RefCell::new(Vec::new()),
            draining: Cell::new(false),
            leaves_backlog: Cell::new(false),
            keeps_running: Cell::new(false),
            row: OnceCell::new(),
            cancelled: RefCell::new(Vec::new()),
            hijacked: RefCell::new(HashMap::new()),
            body_reads: RefCell::new(HashMap::new()),
            ticks: Cell::new(0),
            last_tick_ms: Cell::new(0),
            request_id_prefix: random_prefix(),
            next_request_number: Cell::new(1),
        }
    }

    pub(crate) fn streams_body(&self, route: u32) -> bool {
        self.streamed_routes.contains(&route)
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.draining.get()
    }

    pub(crate) fn connections_full(&self) -> bool {
        self.connections.borrow().len() >= self.limits.connections_max
    }

    /// Whether new connections should be left to another worker.
    pub(crate) fn should_leave_connections(&self) -> bool {
        self.row.get().is_some_and(|row| row.should_leave_connections(self.connections.borrow().len()))
    }

    pub(crate) fn register_acceptor(&self, waker: &Waker) {
        let mut acceptors = self.acceptors.borrow_mut();
        if !acceptors.iter().any(|known| known.will_wake(waker)) {
            acceptors.push(waker.clone());
        }
    }

    pub(crate) fn wake_acceptors(&self) {
        let acceptors = std::mem::take(&mut *self.acceptors.borrow_mut());
        for acceptor in acceptors {
            acceptor.wake();
        }
    }

    pub(crate) fn open_connection(&self, remote: Option<IpAddr>, local_port: u16) -> Rc<ConnectionState> {
        self.metrics.connected();
        let mut connections = self.connections.borrow_mut();
        let entry = connections.vacant_entry();
        let state = Rc::new(ConnectionState::new(entry.key(), remote, local_port, self.clock.refresh()));
        entry.insert(Rc::clone(&state));
        if let Some(row) = self.row.get() {
            row.set_connections(connections.len());
        }
        state
    }

    pub(crate) fn close_connection(&self, state: &ConnectionState) {
        let was_full = self.connections_full();
        state.descriptor.set(-1);
        self.connections.borrow_mut().try_remove(state.key);
        if let Some(row) = self.row.get() {
            row.set_connections(self.connections.borrow().len());
        }
        if was_full {
            self.wake_acceptors();
        }
        if self.is_draining() {
            self.local_waker.wake_iteration();
        }
    }

    pub(crate) fn admit(&self, exchange: &Rc<Exchange>) -> Result<RequestId, Problem> {
        let id = self.admission.admit(exchange, &self.limits, self.clock.now_ms())?;
        self.local_waker.wake_iteration();
        Ok(id)
    }

    /// Nobody waits for the handler of `id` any more. A request that has not started is dropped; a running handler is cancelled.
    /// Returns whether it was dropped.
    pub(crate) fn give_up(&self, id: RequestId, reason: Cancelled) -> bool {
        let is_dropped = self.admission.abandon_waiting(id, &self.limits, self.clock.now_ms());
        if !is_dropped && self.admission.is_served(id) {
            self.cancel(id, reason);
        }
        if self.admission.has_ready() {
            self.local_waker.wake_iteration();
        }
        is_dropped
    }

    /// Cancels the handler of a request.
    fn cancel(&self, id: RequestId, reason: Cancelled) {
        self.cancelled.borrow_mut().push((id, reason));
        self.local_waker.wake_iteration();
    }

    /// hyper does not read a connection whose handler runs, so broken ones must be checked for.
    fn close_broken_connections(&self) {
        let connections = self.admission.served_connections();
        if connections.is_empty() {
            return;
        }
        let descriptors: Vec<_> = connections.iter().map(|connection| connection.descriptor.get()).collect();
        let Ok(broken) = peers::broken(&descriptors) else { return };
        for (connection, is_broken) in connections.iter().zip(broken) {
            if is_broken {
                connection.order(Order::Close);
            }
        }
        for id in self.admission.take_unread() {
            self.cancel(id, Cancelled::Gone);
        }
    }

    /// Closes the connection if nobody waits for it any more.
    pub(crate) fn hand_over(&self, wait: WaitId, descriptor: io::Result<OwnedFd>, unread: Vec<u8>) {
        if let Some(place) = self.hijacked.borrow_mut().get_mut(&wait) {
            *place = Some(descriptor.map(|descriptor| (descriptor, unread)));
            self.local_waker.end_wait(wait);
        }
    }

    /// An ID under which the log shows a request: the worker's random prefix and a number.
    pub(crate) fn new_request_id(&self) -> String {
        let number = self.next_request_number.get();
        self.next_request_number.set(number + 1);
        format!("{}-{number}", self.request_id_prefix)
    }

    /// The ID of a request in the log: a proxy's `X-Request-Id`, else one created on demand.
    pub(crate) fn id_of<'e>(&self, exchange: &'e Exchange) -> &'e str {
        exchange.request_id.get_or_init(|| given_id(&exchange.parts.headers).unwrap_or_else(|| self.new_request_id()))
    }

    /// The same for an unfinished request.
    pub(crate) fn request_id(&self, id: RequestId) -> Option<String> {
        Some(self.id_of(&*self.admission.get(id)?).to_owned())
    }

    pub(crate) fn tick(&self) {
        let now = self.clock.refresh();
        self.report(now);
        for TimedOut { exchange, bound_ms, awaited } in self.admission.take_timed_out(&self.limits, now) {
            self.metrics.refused();
            let seconds = bound_ms as f64 / 1000.0;
            let detail = format!("The request waited {seconds} s for {awaited}: try again later.");
            exchange.respond(self.problem_response(Some(self.id_of(&exchange)), &Problem::new(503, "overloaded", detail)));
        }
        if self.admission.has_ready() {
            self.local_waker.wake_iteration();
        }
        for id in self.admission.take_overdue(now) {
            let seconds = self.limits.request_ms as f64 / 1000.0;
            let problem = Problem::new(504, "deadline_exceeded", format!("The request took longer than {seconds} s."));
            let response = self.problem_response(self.request_id(id).as_deref(), &problem);
            if let Some(exchange) = self.admission.get(id) {
                exchange.respond(response); // unless the client has disconnected
            }
            if self.give_up(id, Cancelled::Overdue) {
                self.metrics.refused();
            }
        }
        self.ticks.set(self.ticks.get().wrapping_add(1));
        if self.ticks.get().is_multiple_of(BROKEN_CHECK_TICKS) {
            self.close_broken_connections();
        }
        let connections: Vec<_> = self.connections.borrow().iter().map(|(_, state)| Rc::clone(state)).collect();
        let drain_grace_ms = self.is_draining().then(|| DRAIN_GRACE_MS.min(self.limits.header_ms));
        for connection in connections {
            connection.check_time(&self.limits, now, drain_grace_ms);
        }
    }

    /// Writes to the worker's row on the scoreboard, if it has one.
    fn report(&self, now: u64) {
        let Some(row) = self.row.get() else { return };
        let since_last = now.saturating_sub(self.last_tick_ms.replace(now));
        row.note_lag(since_last.saturating_sub(TICK.as_millis() as u64));
        if u128::from(self.ticks.get()) % (PUBLISH_PERIOD.as_millis() / TICK.as_millis()) == 0 {
            self.publish();
        }
    }

    pub(crate) fn publish(&self) {
        let Some(row) = self.row.get() else { return };
        let counts = self.metrics.counts();
        let fibers = self.admission.handled() as u64;
        row.publish(&Report {
            iterations: counts.iterations,
            connections_accepted: counts.connections,
            requests: counts.requests,
            responses: counts.requests.saturating_sub(fibers),
            refused: counts.refused,
            open_requests: self.admission.open() as u64,
            waiting_requests: self.admission.waiting() as u64,
            fibers,
            has_ready: self.admission.has_ready(),
        });
    }

    /// The problem as a response, with the ID of its request or a new one.
    pub(crate) fn problem_response(&self, request_id: Option<&str>, problem: &Problem) -> Response {
        let mut headers = Headers::new();
        // Both values are static and valid.
        let _ = headers.append(b"content-type", b"application/problem+json");
        if problem.status == 503 {
            let _ = headers.append(b"retry-after", b"1");
        }
        let body = Bytes::from(match request_id {
            Some(id) => problem.to_json(id),
            None => problem.to_json(&self.new_request_id()),
        });
        Response::new(problem.status, headers, body).unwrap_or_else(|| Response::empty(http::StatusCode::INTERNAL_SERVER_ERROR))
    }

    pub(crate) fn has_work(&self) -> bool {
        self.admission.has_ready() || !self.local_waker.is_empty() || !self.cancelled.borrow().is_empty()
    }
}

/// How hyper serves a connection. Half-closed connections are served to the end, because many simple clients close their side
/// first. `pipeline_flush` stays off: with it hyper buffers a streamed response without a limit.
fn http_builder(limits: &Limits) -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder.half_close(true).max_buf_size((limits.header_bytes_max + HYPER_READ_BYTES).max(64 * 1024));
    if limits.headers_max > HYPER_HEADERS_MAX {
        // Costs an allocation in hyper per request, so it is set only if needed.
        builder.max_headers(limits.headers_max);
    }
    builder
}

/// A request ID from the client, unless it could be misread where it is shown.
fn given_id(headers: &http::HeaderMap) -> Option<String> {
    let given = headers.get("x-request-id")?.to_str().ok()?;
    let is_plain = given.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:@=+/".contains(&byte));
    (is_plain && (1..=GIVEN_ID_BYTES_MAX).contains(&given.len())).then(|| given.to_owned())
}

/// Six characters that distinguish this worker's request IDs from another's, also from those of a fork, which has the same hash
/// keys.
fn random_prefix() -> String {
    use std::hash::{BuildHasher, RandomState};
    let random = RandomState::new().hash_one(std::process::id());
    (0..6).map(|position| char::from(b"abcdefghijklmnopqrstuvwxyz234567"[(random >> (5 * position) & 31) as usize])).collect()
}
