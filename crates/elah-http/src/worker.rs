//! The loop of one worker: a current-thread runtime that Ruby's thread runs one iteration at a time.

mod exchanges;
mod iteration_waker;
mod links;
mod write_coalescing;

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::future::{Future, pending, poll_fn};
use std::io;
use std::os::fd::OwnedFd;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use slab::Slab;
use tokio::runtime::{Builder, Runtime};
use tokio::task::LocalSet;

pub use crate::admission::{GateSettings, RequestId};
use crate::audience::Audience;
use crate::limits::Limits;
use crate::listener::{Listener, accept};
use crate::metrics::Counts;
use crate::response_stream::StreamState;
use crate::router::Router;
pub use crate::shared::{Cancelled, HandedOver};
use crate::shared::{Shared, TICK};
use elah_links::Links;
use elah_loop::descriptor_watch::DescriptorWatches;
pub use elah_loop::descriptor_watch::Readiness;
use elah_loop::iteration_budget::IterationBudget;
use elah_loop::task::Task;
use elah_loop::timers::Timers;
use elah_loop::wake::{LocalWaker, RemoteWaker, WaitId};
use elah_scoreboard::Row;
use elah_store::iteration;
use iteration_waker::IterationWaker;
use write_coalescing::{Unsynced, WriteCoalescing};

/// Ends a wait, however its work ends.
struct EndOnDrop {
    waker: LocalWaker,
    wait: WaitId,
}

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.waker.end_wait(self.wait);
    }
}

/// One worker's loop. It belongs to the thread that created it.
pub struct Worker {
    runtime: Runtime,
    tasks: LocalSet,
    shared: Rc<Shared>,
    waker: RemoteWaker,
    iteration_waker: IterationWaker,
    timers: Timers,
    share: IterationBudget,
    watches: Rc<DescriptorWatches>,
    next_wait: Cell<WaitId>,
    streams: RefCell<Slab<Rc<StreamState>>>,
    audiences: RefCell<Slab<Audience>>,
    /// Links by their keys, which are never reused.
    links: RefCell<Vec<Option<Rc<Links>>>>,
    /// Waits for syncs that have not been requested yet, by journal.
    unsynced: RefCell<Vec<Unsynced>>,
    write_coalescing: WriteCoalescing,
}

impl Worker {
    /// Builds the runtime. Must not be called before the last fork, because a runtime does not survive one.
    pub fn new(
        limits: Limits,
        router: Arc<Router>,
        streamed_routes: HashSet<u32>,
        gates: Vec<GateSettings>,
    ) -> io::Result<Worker> {
        let runtime = Builder::new_current_thread().enable_io().enable_time().build()?;
        let shared = Rc::new(Shared::new(limits, router, streamed_routes, gates));
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
        let local_waker = shared.local_waker.clone();
        Ok(Worker {
            runtime,
            tasks,
            shared,
            waker: RemoteWaker::new(),
            iteration_waker: IterationWaker::new(),
            timers: Timers::default(),
            share: IterationBudget::new(),
            watches: Rc::new(DescriptorWatches::new(local_waker)),
            next_wait: Cell::new(1),
            streams: RefCell::new(Slab::new()),
            audiences: RefCell::new(Slab::new()),
            links: RefCell::default(),
            unsynced: RefCell::default(),
            write_coalescing: WriteCoalescing::default(),
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
    pub fn iterate(&self) {
        let shared = &self.shared;
        iteration::release_reads();
        shared.clock.refresh();
        shared.metrics.iterated();
        let mut are_writes_put_off = self.may_coalesce_writes();
        if !are_writes_put_off {
            self.begin_writes();
        }
        self.iteration_waker.begin();
        self.runtime.block_on(async {
            let mut remote = pin!(self.waker.notified());
            let mut timer = self.timers.next_due().map(|due| Box::pin(tokio::time::sleep_until(due.into())));
            let mut tasks = pin!(self.tasks.run_until(pending::<()>()));
            let mut sockets_were_asked = false;
            let mut called = false;
            let is_over = |called: bool| called || shared.has_work() || self.is_drained();
            poll_fn(|context| {
                let waker = self.iteration_waker.waker(context.waker());
                shared.local_waker.register_iteration(waker);
                called = called
                    || remote.as_mut().poll(context).is_ready()
                    || timer.as_mut().is_some_and(|timer| timer.as_mut().poll(context).is_ready());
                // Right after the sockets were polled, and not after the tasks: tokio drops its deferred wake-ups when the
                // runtime stops.
                if sockets_were_asked && is_over(called) {
                    return Poll::Ready(());
                }
                let _ = tasks.as_mut().poll(&mut Context::from_waker(waker));
                if is_over(called) {
                    // Responses leave and the next requests arrive as a batch, so do not wait.
                    context.waker().wake_by_ref();
                } else if are_writes_put_off && sockets_were_asked {
                    self.begin_writes();
                    are_writes_put_off = false;
                } else if are_writes_put_off {
                    // Poll the sockets for requests without waiting for one.
                    context.waker().wake_by_ref();
                }
                sockets_were_asked = true;
                Poll::Pending
            })
            .await;
        });
        self.iteration_waker.end();
        shared.clock.refresh();
        self.share.begin();
        if shared.is_draining() {
            shared.publish(); // the loop may end before its next tick
        }
        iteration::begin();
    }

    /// Whether a request may begin in this iteration.
    pub fn is_request_ready(&self) -> bool {
        self.shared.admission.has_ready() && !self.share.is_over()
    }

    /// The next request that may begin in this iteration.
    pub fn next_request(&self) -> Option<RequestId> {
        if !self.share.admits(Instant::now) {
            return None;
        }
        let id = self.shared.admission.next_ready()?;
        self.shared.metrics.requested();
        Some(id)
    }

    /// Whether there is work besides requests: ended waits, requests to cancel, or a finished drain.
    pub fn has_news(&self) -> bool {
        !self.shared.local_waker.is_empty()
            || !self.shared.cancelled.borrow().is_empty()
            || self.timers.next_due().is_some_and(|due| due <= Instant::now())
            || self.waker.has_ended_waits()
            || self.is_drained()
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

    /// Runs `work` on this loop, and ends `wait` when it is done, aborted or panics.
    pub fn spawn(&self, wait: WaitId, work: impl Future<Output = ()> + 'static) -> Task {
        let ending = EndOnDrop { waker: self.shared.local_waker.clone(), wait };
        let handle = self.tasks.spawn_local(async move {
            work.await;
            drop(ending);
        });
        Task::new(handle.abort_handle())
    }

    /// The ID of a new wait. Its creator makes sure that it ends.
    pub fn new_wait(&self) -> WaitId {
        let id = self.next_wait.get();
        self.next_wait.set(id + 1);
        id
    }

    /// Ends `wait` after `duration`, unless something else ends it first.
    pub fn start_timer(&self, wait: WaitId, duration: Duration) {
        // A century means "never"; adding more could overflow the clock.
        let capped = duration.min(Duration::from_secs(100 * 365 * 24 * 3600));
        self.timers.start(wait, Instant::now() + capped);
    }

    /// Ends `wait` when `descriptor` is ready. The caller keeps the file open meanwhile.
    pub fn watch(&self, wait: WaitId, descriptor: OwnedFd, readiness: Readiness) -> io::Result<()> {
        let _runtime = self.runtime.enter();
        let task = Rc::clone(&self.watches).watch(wait, descriptor, readiness)?;
        self.tasks.spawn_local(task);
        Ok(())
    }

    /// Ends `wait` when one of `descriptors` is ready.
    pub fn watch_any(&self, wait: WaitId, descriptors: Vec<(OwnedFd, Readiness)>) -> io::Result<()> {
        let _runtime = self.runtime.enter();
        let task = Rc::clone(&self.watches).watch_any(wait, descriptors)?;
        self.tasks.spawn_local(task);
        Ok(())
    }

    /// The readiness of the descriptor of `wait`; `None` if its wait has not ended.
    pub fn take_readiness(&self, wait: WaitId) -> Option<Readiness> {
        self.watches.take(wait)
    }

    /// Removes the timer and the descriptor of a wait that ended otherwise.
    pub fn cancel_wait(&self, wait: WaitId) {
        self.timers.cancel(wait);
        self.watches.cancel(wait);
    }

    /// Reports to `row` of the scoreboard from now on, at every tick of the loop.
    pub fn take_row(&self, row: Row) {
        if self.shared.row.set(row).is_ok() {
            self.shared.publish();
        }
    }

    /// Sets whether the loop continues after the drain, to serve calls of other workers.
    pub fn keep_running(&self, keeps_running: bool) {
        self.shared.keeps_running.set(keeps_running);
        self.shared.local_waker.wake_iteration();
    }

    /// Stops accepting; accepted connections are still served. `leaves_backlog` means that others accept from the same sockets,
    /// so the backlog is left to them.
    pub fn drain(&self, leaves_backlog: bool) {
        // Looks at the sockets once: what has arrived while the application ran is served.
        self.runtime.block_on(tokio::task::yield_now());
        self.shared.leaves_backlog.set(leaves_backlog);
        self.shared.draining.set(true);
        self.shared.wake_acceptors();
        for (_, audience) in &*self.audiences.borrow() {
            audience.leave();
        }
        let connections: Vec<_> = self.shared.connections.borrow().iter().map(|(_, state)| Rc::clone(state)).collect();
        for connection in connections {
            connection.wake();
        }
    }

    /// True when the worker drains, nothing is left to serve, and nothing keeps it running.
    pub fn is_drained(&self) -> bool {
        !self.shared.keeps_running.get() && self.has_served_all()
    }

    /// True when the worker drains and nothing is left to serve.
    pub fn has_served_all(&self) -> bool {
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
}

impl Drop for Worker {
    fn drop(&mut self) {
        iteration::end();
        // A runtime that is dropped waits for blocking work, and the look-up of a name lasts as long as the resolver likes.
        if let Ok(empty) = Builder::new_current_thread().build() {
            std::mem::replace(&mut self.runtime, empty).shutdown_background();
        }
    }
}
