//! The loop of one worker: a current-thread runtime that is turned from Ruby's thread, and the state that its connections share.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::future::poll_fn;
use std::io;
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::server::conn::http1;
use slab::Slab;
use tokio::runtime::{Builder, Runtime};
use tokio::task::LocalSet;

use crate::admission::Admission;
pub use crate::admission::RequestId;
use crate::clock::Clock;
use crate::connection::{ConnectionState, Order};
use crate::descriptor_watch::DescriptorWatches;
pub use crate::descriptor_watch::Readiness;
use crate::exchange::Exchange;
use crate::guard::GuardLimits;
use crate::limits::Limits;
use crate::listener::{Listener, accept};
use crate::metrics::{Counts, Metrics};
use crate::problem::Problem;
use crate::request::RequestView;
use crate::request_body::{RequestBody, incomplete};
use crate::response::{Headers, Response};
use crate::response_stream::{StreamEnd, StreamState, Written};
use crate::router::Router;
use crate::timers::Timers;
use crate::wake::{LocalWaker, RemoteWaker, WaitId};

/// How often time bounds are checked: the precision of every time-out that is not a fiber's timer.
const TICK: Duration = Duration::from_millis(50);

/// Bytes read from a socket at a time; one buffer serves all connections.
const SCRATCH_BYTES: usize = 64 * 1024;

/// What hyper reads at least at a time, and the number of headers for which it has room on its stack.
const HYPER_READ_BYTES: usize = 8 * 1024;
const HYPER_HEADERS_MAX: usize = 100;

/// How long a connection that has never sent a request is given to do so when the worker drains.
const FRESH_GRACE_MS: u64 = 500;

/// What the tasks of one worker share. Nothing here leaves the worker's thread.
pub(crate) struct Shared {
    pub(crate) limits: Limits,
    pub(crate) guard_limits: Rc<GuardLimits>,
    pub(crate) http: http1::Builder,
    pub(crate) clock: Clock,
    pub(crate) router: Arc<Router>,
    pub(crate) metrics: Metrics,
    pub(crate) scratch: RefCell<Box<[u8]>>,
    pub(crate) local_waker: LocalWaker,
    streamed_routes: HashSet<u32>,
    admission: Admission,
    connections: RefCell<Slab<Rc<ConnectionState>>>,
    acceptors: RefCell<Vec<Waker>>,
    draining: Cell<bool>,
    /// Requests whose handlers should be cancelled, with the reason.
    cancelled: RefCell<Vec<(RequestId, Cancelled)>>,
    hijacked: RefCell<HashMap<WaitId, HandedOver>>,
    read_chunks: RefCell<HashMap<WaitId, Result<Option<Bytes>, Problem>>>,
    request_id_prefix: String,
    next_request_number: Cell<u64>,
}

/// Why a handler is cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cancelled {
    /// Its deadline is past; the client has its 504.
    Overdue,
}

/// A connection that the application took over: its descriptor, and what had been read of it already.
pub type HandedOver = io::Result<(OwnedFd, Vec<u8>)>;

impl Shared {
    pub(crate) fn streams_body(&self, route: u32) -> bool {
        self.streamed_routes.contains(&route)
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.draining.get()
    }

    pub(crate) fn fresh_grace_ms(&self) -> u64 {
        FRESH_GRACE_MS.min(self.limits.header_ms)
    }

    pub(crate) fn connections_full(&self) -> bool {
        self.connections.borrow().len() >= self.limits.connections_max
    }

    pub(crate) fn register_acceptor(&self, waker: &Waker) {
        let mut acceptors = self.acceptors.borrow_mut();
        if !acceptors.iter().any(|known| known.will_wake(waker)) {
            acceptors.push(waker.clone());
        }
    }

    fn wake_acceptors(&self) {
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
        state
    }

    pub(crate) fn close_connection(&self, state: &ConnectionState) {
        let was_full = self.connections_full();
        self.connections.borrow_mut().try_remove(state.key);
        if was_full {
            self.wake_acceptors();
        }
        if self.is_draining() {
            self.local_waker.wake_turn();
        }
    }

    pub(crate) fn admit(&self, exchange: &Rc<Exchange>) -> Result<RequestId, Problem> {
        let id = self.admission.admit(exchange, &self.limits, self.clock.now_ms())?;
        self.local_waker.wake_turn();
        Ok(id)
    }

    /// The connection of `id` broke. A request that has not run yet never will; one that runs goes on, and its answer goes nowhere.
    pub(crate) fn client_gone(&self, id: RequestId) {
        self.admission.abandon_waiting(id);
    }

    pub(crate) fn hand_over(&self, wait: WaitId, descriptor: io::Result<OwnedFd>, unread: Vec<u8>) {
        self.hijacked.borrow_mut().insert(wait, descriptor.map(|descriptor| (descriptor, unread)));
        self.local_waker.end_wait(wait);
    }

    /// An id under which a request can be found in the log: the worker's random prefix and a number.
    pub(crate) fn new_request_id(&self) -> String {
        let number = self.next_request_number.get();
        self.next_request_number.set(number + 1);
        format!("{}-{number}", self.request_id_prefix)
    }

    /// The id of a request, made when it is first asked for; `None` when the request is finished.
    fn request_id(&self, id: RequestId) -> Option<String> {
        Some(self.admission.get(id)?.request_id.get_or_init(|| self.new_request_id()).clone())
    }

    fn tick(&self) {
        let now = self.clock.refresh();
        for exchange in self.admission.take_impatient(&self.limits, now) {
            self.metrics.refused();
            let seconds = self.limits.queue_ms as f64 / 1000.0;
            let detail = format!("The request waited {seconds} s for a free fiber: try again later.");
            exchange.answer(
                self.problem_response(exchange.request_id.get().map(String::as_str), &Problem::new(503, "overloaded", detail)),
            );
        }
        for id in self.admission.take_overdue(now) {
            let seconds = self.limits.request_ms as f64 / 1000.0;
            let problem = Problem::new(504, "deadline_exceeded", format!("The request took longer than {seconds} s."));
            let response = self.problem_response(self.request_id(id).as_deref(), &problem);
            if self.admission.get(id).is_some_and(|exchange| exchange.answer(response)) {
                self.cancelled.borrow_mut().push((id, Cancelled::Overdue));
                self.local_waker.wake_turn();
            }
        }
        let connections: Vec<_> = self.connections.borrow().iter().map(|(_, state)| Rc::clone(state)).collect();
        for connection in connections {
            connection.check_time(self);
        }
    }

    fn has_work(&self) -> bool {
        self.admission.has_ready() || !self.local_waker.is_empty() || !self.cancelled.borrow().is_empty()
    }
}

/// One worker's loop. It belongs to the thread that created it.
pub struct Worker {
    runtime: Runtime,
    tasks: LocalSet,
    shared: Rc<Shared>,
    waker: RemoteWaker,
    timers: Timers,
    watches: Rc<DescriptorWatches>,
    next_wait: Cell<WaitId>,
    streams: RefCell<Slab<Rc<StreamState>>>,
}

impl Worker {
    /// Builds the runtime. Must not be called before the last fork: a runtime does not survive one.
    pub fn new(limits: Limits, router: Arc<Router>, streamed_routes: HashSet<u32>) -> io::Result<Worker> {
        let runtime = Builder::new_current_thread().enable_io().enable_time().build()?;
        let local_waker = LocalWaker::default();
        let shared = Rc::new(Shared {
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
            metrics: Metrics::default(),
            scratch: RefCell::new(vec![0; SCRATCH_BYTES].into_boxed_slice()),
            local_waker: local_waker.clone(),
            streamed_routes,
            admission: Admission::default(),
            connections: RefCell::new(Slab::new()),
            acceptors: RefCell::new(Vec::new()),
            draining: Cell::new(false),
            cancelled: RefCell::new(Vec::new()),
            hijacked: RefCell::new(HashMap::new()),
            read_chunks: RefCell::new(HashMap::new()),
            request_id_prefix: random_prefix(),
            next_request_number: Cell::new(1),
        });
        let tasks = LocalSet::new();
        let ticking = Rc::clone(&shared);
        tasks.spawn_local(async move {
            let mut interval = tokio::time::interval(TICK);
            interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            loop {
                interval.tick().await;
                ticking.tick();
            }
        });
        Ok(Worker {
            runtime,
            tasks,
            shared,
            waker: RemoteWaker::new(),
            timers: Timers::default(),
            watches: Rc::new(DescriptorWatches::new(local_waker)),
            next_wait: Cell::new(1),
            streams: RefCell::new(Slab::new()),
        })
    }

    /// Begins to accept connections of `listener`.
    pub fn listen(&self, listener: &Listener) -> io::Result<()> {
        let _runtime = self.runtime.enter();
        let accepting = listener.accepting()?;
        self.tasks.spawn_local(accept(Rc::clone(&self.shared), accepting));
        Ok(())
    }

    /// Lets connections, timers and descriptors go on until something is ready for the application, or `waker` interrupts.
    pub fn turn(&self) {
        let shared = &self.shared;
        shared.clock.refresh();
        shared.metrics.turned();
        self.tasks.block_on(&self.runtime, async {
            let mut remote = pin!(self.waker.notified());
            let mut timer = self.timers.next_due().map(|due| Box::pin(tokio::time::sleep_until(due.into())));
            let mut connections_had_a_go = false;
            let mut called = false;
            poll_fn(|context| {
                shared.local_waker.register_turn(context.waker());
                called = called
                    || remote.as_mut().poll(context).is_ready()
                    || timer.as_mut().is_some_and(|timer| timer.as_mut().poll(context).is_ready());
                if !connections_had_a_go {
                    // One round for the connections first: their answers go out, and the next requests come in, as a batch.
                    connections_had_a_go = true;
                    context.waker().wake_by_ref();
                    return Poll::Pending;
                }
                if called || shared.has_work() || self.is_drained() { Poll::Ready(()) } else { Poll::Pending }
            })
            .await;
        });
        shared.clock.refresh();
    }

    pub fn is_request_ready(&self) -> bool {
        self.shared.admission.has_ready()
    }

    /// The next request that may run.
    pub fn next_request(&self) -> Option<RequestId> {
        let id = self.shared.admission.next_ready()?;
        self.shared.metrics.requested();
        Some(id)
    }

    /// The waits that have ended since the last call.
    pub fn take_ended_waits(&self, ended: &mut Vec<WaitId>) {
        self.shared.local_waker.drain_into(ended);
        self.waker.drain_into(ended);
        if self.timers.next_due().is_some() {
            self.timers.take_due(Instant::now(), ended);
        }
    }

    /// The requests whose handlers must be cancelled.
    pub fn take_cancelled(&self) -> Vec<(RequestId, Cancelled)> {
        std::mem::take(&mut *self.shared.cancelled.borrow_mut())
    }

    /// A handle that wakes this loop from any thread.
    pub fn waker(&self) -> &RemoteWaker {
        &self.waker
    }

    /// A name for a wait; whoever takes one sees to its end.
    pub fn new_wait(&self) -> WaitId {
        let id = self.next_wait.get();
        self.next_wait.set(id + 1);
        id
    }

    /// Ends `wait` after `duration`, unless something else ends it first.
    pub fn start_timer(&self, wait: WaitId, duration: Duration) {
        // A century stands for "never": adding more could overflow the clock.
        let capped = duration.min(Duration::from_secs(100 * 365 * 24 * 3600));
        self.timers.start(wait, Instant::now() + capped);
    }

    /// Ends `wait` when `descriptor` is ready. The caller keeps the file behind it open meanwhile.
    pub fn watch(&self, wait: WaitId, descriptor: OwnedFd, readiness: Readiness) -> io::Result<()> {
        let _runtime = self.runtime.enter();
        let task = Rc::clone(&self.watches).watch(wait, descriptor, readiness)?;
        self.tasks.spawn_local(task);
        Ok(())
    }

    /// What the descriptor of `wait` was ready for; `None` when its wait has not ended.
    pub fn take_readiness(&self, wait: WaitId) -> Option<Readiness> {
        self.watches.take(wait)
    }

    /// Forgets the timer and the descriptor of a wait that ended otherwise.
    pub fn cancel_wait(&self, wait: WaitId) {
        self.timers.cancel(wait);
        self.watches.cancel(wait);
    }

    /// Stops accepting; what has been accepted is still served.
    pub fn drain(&self) {
        self.shared.draining.set(true);
        self.shared.wake_acceptors();
        let connections: Vec<_> = self.shared.connections.borrow().iter().map(|(_, state)| Rc::clone(state)).collect();
        for connection in connections {
            connection.wake();
        }
    }

    /// True when the worker drains and nothing is left to serve.
    pub fn is_drained(&self) -> bool {
        self.shared.is_draining() && self.shared.connections.borrow().is_empty() && self.shared.admission.open() == 0
    }

    /// Requests that run or wait for a fiber.
    pub fn open_requests(&self) -> usize {
        self.shared.admission.open()
    }

    pub fn open_connections(&self) -> usize {
        self.shared.connections.borrow().len()
    }

    pub fn counts(&self) -> Counts {
        self.shared.metrics.counts()
    }

    /// The id under which the log knows a request, made when it is first asked for; `None` when the request is finished.
    pub fn request_id(&self, id: RequestId) -> Option<String> {
        self.shared.request_id(id)
    }

    /// Reads from a request; `None` when it has been finished.
    pub fn request<R>(&self, id: RequestId, read: impl FnOnce(RequestView<'_>) -> R) -> Option<R> {
        let exchange = self.shared.admission.get(id)?;
        Some(read(RequestView::new(&exchange, &self.shared.router)))
    }

    /// Answers; false when the request has an answer already, is finished, or its client has gone.
    pub fn respond(&self, id: RequestId, response: Response) -> bool {
        self.shared.admission.get(id).is_some_and(|exchange| exchange.answer(response))
    }

    /// Answers with one of the server's own problems.
    pub fn respond_with_problem(&self, id: RequestId, problem: &Problem) -> bool {
        let response = self.shared.problem_response(self.shared.request_id(id).as_deref(), problem);
        self.respond(id, response)
    }

    /// Removes a request whose handler has ended. Without an answer it is answered 500; a stream that it left open is broken off.
    pub fn finish(&self, id: RequestId) {
        let Some(exchange) = self.shared.admission.finish(id) else { return };
        if let Some((key, stream)) = exchange.stream.take() {
            let is_open = self.streams.borrow().get(key).is_some_and(|open| Rc::ptr_eq(open, &stream));
            if is_open {
                self.close_stream(key, false);
            }
        }
        if exchange.reply.is_waiting() {
            let problem = Problem::new(500, "no_answer", "The handler ended without an answer.");
            exchange.answer(self.shared.problem_response(exchange.request_id.get().map(String::as_str), &problem));
        }
    }

    /// True while an answer can still reach the client.
    pub fn awaits_answer(&self, id: RequestId) -> bool {
        self.shared.admission.get(id).is_some_and(|exchange| exchange.reply.is_waiting())
    }

    /// Begins a streamed answer, which ends with its handler at the latest; `None` as for `respond`, or when `status` is not one of 200 to 599.
    pub fn start_stream(&self, id: RequestId, status: u16, headers: Headers) -> Option<usize> {
        let stream = Rc::new(StreamState::new(self.shared.limits.response_buffer_bytes, self.shared.local_waker.clone()));
        let response = Response::streamed(status, headers, Rc::clone(&stream))?;
        let exchange = self.shared.admission.get(id)?;
        if !exchange.answer(response) {
            return None;
        }
        let key = self.streams.borrow_mut().insert(Rc::clone(&stream));
        exchange.stream.replace(Some((key, stream)));
        Some(key)
    }

    /// Writes to a stream. When it says `Full`, wait with `wait_for_room` before the next write.
    pub fn write(&self, stream: usize, chunk: Bytes) -> Written {
        self.streams.borrow().get(stream).map_or(Written::ClientGone, |stream| stream.write(chunk))
    }

    /// A wait that ends when the client has read enough, or has gone.
    pub fn wait_for_room(&self, stream: usize) -> WaitId {
        let wait = self.new_wait();
        match self.streams.borrow().get(stream) {
            Some(stream) => stream.wait_for_room(wait),
            None => self.shared.local_waker.end_wait(wait),
        }
        wait
    }

    pub fn is_client_gone(&self, stream: usize) -> bool {
        self.streams.borrow().get(stream).is_none_or(|stream| stream.is_reader_gone())
    }

    /// The end of a stream that is open; `None` when it is not.
    pub fn stream_end(&self, stream: usize) -> Option<StreamEnd> {
        let state = Rc::clone(self.streams.borrow().get(stream)?);
        Some(StreamEnd::new(self.new_wait(), state))
    }

    /// Ends a stream; `complete: false` breaks the connection, so that nobody takes the part for the whole.
    pub fn close_stream(&self, stream: usize, complete: bool) {
        if let Some(stream) = self.streams.borrow_mut().try_remove(stream) {
            if complete { stream.close() } else { stream.break_off() }
        }
    }

    /// A wait that ends when the next piece of a streamed request body is there; fetch it with `take_chunk`.
    pub fn read_chunk(&self, id: RequestId) -> WaitId {
        let wait = self.new_wait();
        let body = self.shared.admission.get(id).map(|exchange| exchange.body.replace(RequestBody::Empty));
        let shared = Rc::clone(&self.shared);
        match body {
            Some(RequestBody::Streamed(mut body)) => {
                self.tasks.spawn_local(async move {
                    let chunk = loop {
                        match body.frame().await {
                            None => break Ok(None),
                            Some(Err(error)) => {
                                let refusal = shared.admission.get(id).and_then(|exchange| exchange.connection.take_refusal());
                                break Err(refusal.unwrap_or_else(|| incomplete(error)));
                            }
                            Some(Ok(frame)) => {
                                if let Ok(data) = frame.into_data() {
                                    break Ok(Some(data));
                                }
                            }
                        }
                    };
                    let now = shared.clock.now_ms();
                    let limit = shared.limits.request_ms;
                    if let Some(exchange) = shared.admission.get(id) {
                        exchange.body.replace(RequestBody::Streamed(body));
                        if exchange.deadline_ms.get() > 0 {
                            exchange.deadline_ms.set(now + limit);
                        }
                    }
                    shared.read_chunks.borrow_mut().insert(wait, chunk);
                    shared.local_waker.end_wait(wait);
                });
            }
            Some(RequestBody::Memory(bytes)) => {
                shared.read_chunks.borrow_mut().insert(wait, Ok(Some(bytes)));
                shared.local_waker.end_wait(wait);
            }
            _ => {
                shared.read_chunks.borrow_mut().insert(wait, Ok(None));
                shared.local_waker.end_wait(wait);
            }
        }
        wait
    }

    /// The piece for which `wait` waited: `None` at the end of the body.
    pub fn take_chunk(&self, wait: WaitId) -> Option<Result<Option<Bytes>, Problem>> {
        self.shared.read_chunks.borrow_mut().remove(&wait)
    }

    /// Takes the file of a spooled body.
    pub fn take_spooled(&self, id: RequestId) -> Option<(File, u64)> {
        let exchange = self.shared.admission.get(id)?;
        match exchange.body.replace(RequestBody::Empty) {
            RequestBody::Spooled { file, bytes } => Some((file, bytes)),
            other => {
                exchange.body.replace(other);
                None
            }
        }
    }

    /// Puts a body that was read elsewhere back in its place.
    pub fn replace_body(&self, id: RequestId, bytes: Bytes) {
        if let Some(exchange) = self.shared.admission.get(id) {
            exchange.body.replace(RequestBody::Memory(bytes));
        }
    }

    /// Takes the connection of `id` away from HTTP. The wait ends when it is there; fetch it with `take_hijacked`.
    pub fn hijack(&self, id: RequestId) -> Option<WaitId> {
        let wait = self.new_wait();
        let exchange = self.shared.admission.get(id)?;
        exchange.deadline_ms.set(0);
        exchange.reply.close();
        exchange.connection.order(Order::HandOver(wait));
        Some(wait)
    }

    pub fn take_hijacked(&self, wait: WaitId) -> Option<HandedOver> {
        self.shared.hijacked.borrow_mut().remove(&wait)
    }
}

/// How hyper serves a connection. Half-closed connections are served to the end: many simple clients close their side first.
/// `pipeline_flush` stays off: with it hyper buffers a streamed answer without any bound.
fn http_builder(limits: &Limits) -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder.half_close(true).max_buf_size((limits.header_bytes_max + HYPER_READ_BYTES).max(64 * 1024));
    if limits.headers_max > HYPER_HEADERS_MAX {
        // Costs hyper an allocation per request, so not unless it is needed.
        builder.max_headers(limits.headers_max);
    }
    builder
}

/// Six characters that tell this worker's request ids from another's.
fn random_prefix() -> String {
    use std::hash::{BuildHasher, Hasher};
    let random = std::collections::hash_map::RandomState::new().build_hasher().finish();
    (0..6).map(|position| char::from(b"abcdefghijklmnopqrstuvwxyz234567"[(random >> (5 * position) & 31) as usize])).collect()
}
