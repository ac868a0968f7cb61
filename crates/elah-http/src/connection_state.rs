//! The state of a connection that is visible outside its own task.

use std::cell::{Cell, RefCell};
use std::net::IpAddr;
use std::os::fd::RawFd;
use std::task::Waker;

use elah_loop::wake::WaitId;

use crate::guard::Phase;
use crate::limits::Limits;
use crate::peers;
use crate::problem::Problem;

/// Bytes that count as progress of a request body. A client that sends fewer in `body_ms` of waiting holds its connection on
/// purpose.
const BODY_PROGRESS_BYTES: usize = 512;

/// The state of one connection: its peer, its clocks, and the next order for its task.
#[derive(Debug)]
pub(crate) struct ConnectionState {
    pub(crate) key: usize,
    pub(crate) remote: Option<IpAddr>,
    pub(crate) local_port: u16,
    /// The socket's descriptor while the server owns it; negative afterwards.
    pub(crate) descriptor: Cell<RawFd>,
    opened_ms: u64,
    /// Requests that the application is handling.
    in_flight: Cell<u32>,
    responses_sent: Cell<u64>,
    /// Request heads that were passed to hyper.
    heads: Cell<u64>,
    phase: Cell<Phase>,
    /// Since when the server waits for the rest of an unfinished head; 0 when it does not. It does not read while an earlier
    /// request runs, and the rest may be in the kernel by then.
    head_since_ms: Cell<u64>,
    /// Since when the connection waits for bytes; 0 when it does not.
    read_wait_since_ms: Cell<u64>,
    /// It has waited for a request for too long, and ends unless one has arrived by the next read.
    is_idle_over: Cell<bool>,
    /// Milliseconds of waiting for the body, and bytes received meanwhile, since it last made progress.
    body_wait: Cell<(u64, usize)>,
    /// Since when the peer has not read anything; 0 if it reads.
    write_wait_since_ms: Cell<u64>,
    /// The bytes that the kernel held for the peer when that was last looked up in this wait.
    unsent: Cell<Option<usize>>,
    pub(crate) saw_end_of_stream: Cell<bool>,
    refusal: RefCell<Option<Problem>>,
    is_refused: Cell<bool>,
    pub(crate) order: Cell<Order>,
    task: RefCell<Option<Waker>>,
}

/// An order from outside to the connection's task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    GoOn,
    /// Close at once, without a response.
    Close,
    /// Hand the descriptor to the application and end the wait.
    HandOver(WaitId),
}

impl ConnectionState {
    pub(crate) fn new(key: usize, remote: Option<IpAddr>, local_port: u16, now_ms: u64) -> Self {
        ConnectionState {
            key,
            remote,
            local_port,
            descriptor: Cell::new(-1),
            opened_ms: now_ms,
            in_flight: Cell::new(0),
            responses_sent: Cell::new(0),
            heads: Cell::new(0),
            phase: Cell::new(Phase::BetweenMessages),
            head_since_ms: Cell::new(0),
            read_wait_since_ms: Cell::new(0),
            is_idle_over: Cell::new(false),
            body_wait: Cell::new((0, 0)),
            write_wait_since_ms: Cell::new(0),
            unsent: Cell::new(None),
            saw_end_of_stream: Cell::new(false),
            refusal: RefCell::new(None),
            is_refused: Cell::new(false),
            order: Cell::new(Order::GoOn),
            task: RefCell::new(None),
        }
    }

    pub(crate) fn request_began(&self) {
        self.in_flight.set(self.in_flight.get() + 1);
    }

    pub(crate) fn response_sent(&self) {
        self.in_flight.set(self.in_flight.get().saturating_sub(1));
        self.responses_sent.set(self.responses_sent.get() + 1);
    }

    pub(crate) fn has_request_in_flight(&self) -> bool {
        self.in_flight.get() > 0
    }

    /// True while requests that were read ahead still need a response.
    pub(crate) fn has_more_requests(&self) -> bool {
        self.heads.get() > self.responses_sent.get()
    }

    /// Records the guard's position in the stream after `heads` request heads.
    pub(crate) fn note_progress(&self, phase: Phase, heads: u64) {
        self.phase.set(phase);
        let is_new = self.heads.replace(heads) != heads;
        if is_new {
            self.body_wait.set((0, 0));
        }
        if is_new || phase != Phase::InHead {
            self.head_since_ms.set(0);
        }
    }

    pub(crate) fn note_read(&self, bytes: usize, now_ms: u64) {
        let since_ms = self.read_wait_since_ms.replace(0);
        self.is_idle_over.set(false);
        if self.phase.get() == Phase::InBody {
            let (waited_ms, came) = self.body_wait.get();
            let waited_ms = waited_ms + if since_ms > 0 { now_ms.saturating_sub(since_ms) } else { 0 };
            let has_progress = came + bytes >= BODY_PROGRESS_BYTES;
            self.body_wait.set(if has_progress { (0, 0) } else { (waited_ms, came + bytes) });
        }
    }

    pub(crate) fn note_read_wait(&self, now_ms: u64) {
        if self.read_wait_since_ms.get() == 0 {
            self.read_wait_since_ms.set(now_ms);
        }
        if self.phase.get() == Phase::InHead && self.head_since_ms.get() == 0 {
            self.head_since_ms.set(now_ms);
        }
    }

    pub(crate) fn note_written(&self) {
        self.write_wait_since_ms.set(0);
    }

    pub(crate) fn note_write_wait(&self, now_ms: u64) {
        if self.write_wait_since_ms.get() == 0 {
            self.write_wait_since_ms.set(now_ms);
            self.unsent.set(None);
        }
    }

    /// Whether the peer has read nothing for `write_ms`. The kernel reports room only when a third of its buffer is free, for which
    /// a slow reader may need longer. So what it still holds is looked up early in the wait, and compared when the time is over.
    fn has_stopped_reading(&self, write_ms: u64, now: u64) -> bool {
        let since_ms = self.write_wait_since_ms.get();
        if since_ms == 0 {
            return false;
        }
        let is_over = now.saturating_sub(since_ms) > write_ms;
        let earlier = self.unsent.get();
        if earlier.is_some() && !is_over {
            return false;
        }
        let unsent = peers::unsent_bytes(self.descriptor.get());
        self.unsent.set(Some(unsent));
        let has_read = earlier.is_some_and(|earlier| unsent < earlier);
        if is_over && has_read {
            self.write_wait_since_ms.set(now);
        }
        is_over && !has_read
    }

    pub(crate) fn note_end_of_stream(&self) {
        self.saw_end_of_stream.set(true);
    }

    /// Refuses what the peer sends next. The first refusal counts.
    pub(crate) fn refuse(&self, problem: Problem) {
        self.is_refused.set(true);
        self.refusal.borrow_mut().get_or_insert(problem);
    }

    pub(crate) fn is_refused(&self) -> bool {
        self.is_refused.get()
    }

    pub(crate) fn take_refusal(&self) -> Option<Problem> {
        self.refusal.borrow_mut().take()
    }

    pub(crate) fn order(&self, order: Order) {
        self.order.set(order);
        self.wake();
    }

    pub(crate) fn wake(&self) {
        if let Some(task) = &*self.task.borrow() {
            task.wake_by_ref();
        }
    }

    /// Remembers the task that serves the connection. It never changes, so the waker is cloned once.
    pub(crate) fn register_task(&self, waker: &Waker) {
        let mut task = self.task.borrow_mut();
        if !task.as_ref().is_some_and(|known| known.will_wake(waker)) {
            *task = Some(waker.clone());
        }
    }

    /// Whether the connection ends when nothing has arrived. During a drain, one between two requests ends at once, and a fresh one
    /// if its first request does not arrive soon. Where other workers continue to serve, a close must not hit a client whose next
    /// request is in flight. So a busy connection closes with its next response.
    pub(crate) fn may_end(&self, is_draining: bool, leaves_backlog: bool) -> bool {
        let is_between = self.in_flight.get() == 0 && self.phase.get() == Phase::BetweenMessages;
        let ends_with_drain = is_draining && !leaves_backlog && self.responses_sent.get() > 0;
        is_between && (self.is_idle_over.get() || ends_with_drain)
    }

    /// Applies the time limits, on every tick of the worker. While the worker drains, a connection between two requests, or within
    /// a request head, has `drain_grace_ms` left.
    pub(crate) fn check_time(&self, limits: &Limits, now: u64, drain_grace_ms: Option<u64>) {
        let over = |since: u64, bound: u64| since > 0 && now.saturating_sub(since) > bound;
        if self.has_stopped_reading(limits.write_ms, now) {
            return self.order(Order::Close);
        }
        match self.phase.get() {
            Phase::InHead if over(self.head_since_ms.get(), drain_grace_ms.unwrap_or(limits.header_ms)) => {
                let seconds = drain_grace_ms.unwrap_or(limits.header_ms) as f64 / 1000.0;
                self.refuse(Problem::new(408, "header_timeout", format!("The request head was not complete after {seconds} s.")));
                self.wake();
            }
            Phase::InBody if over(self.read_wait_since_ms.get(), limits.body_ms.saturating_sub(self.body_wait.get().0)) => {
                let seconds = limits.body_ms as f64 / 1000.0;
                let came = self.body_wait.get().1;
                let detail = format!(
                    "Of the request body {came} bytes came in {seconds} s of waiting; {BODY_PROGRESS_BYTES} are expected."
                );
                self.refuse(Problem::new(408, "body_timeout", detail));
                self.wake();
            }
            Phase::BetweenMessages if self.in_flight.get() == 0 => {
                let (since, bound) = if self.responses_sent.get() == 0 {
                    (self.opened_ms, drain_grace_ms.unwrap_or(limits.header_ms))
                } else {
                    (self.read_wait_since_ms.get(), drain_grace_ms.unwrap_or(limits.keepalive_ms))
                };
                if over(since, bound) {
                    self.is_idle_over.set(true);
                    self.wake();
                }
            }
            _ => {}
        }
    }
}
