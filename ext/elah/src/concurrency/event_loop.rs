//! `Elah::EventLoop`: the worker's loop, which Ruby iterates. The fibers themselves are in `lib/elah/concurrency/event_loop.rb`.
//!
//! The loop is a plain Ruby object, because Ruby looks up the instance variables of a native one in a table, several in each
//! iteration. The state of its thread is found through the thread, and the state for other threads is in a separate object, the
//! handle.

use std::collections::HashSet;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use elah_http::limits::Limits;
use elah_http::worker::{Cancelled, GateSettings, Readiness, Worker};
use elah_loop::wake::RemoteWaker;
use magnus::value::{BoxValue, ReprValue};
use magnus::{
    Class, DataTypeFunctions, Error, IntoValue, Module, Object, RArray, RClass, RHash, RModule, RObject, Ruby, TryConvert,
    TypedData, Value, method,
};

use crate::concurrency::current_worker::{self, worker};
use crate::concurrency::wait::{self, InFlight, Parking};
use crate::ruby::errors;
use crate::ruby::gvl::without_gvl;
use crate::ruby::native_class;
use crate::ruby::receiver::Receiver;
use crate::server::listening_socket::ListeningSocket;
use crate::server::request::{self, Request};
use crate::server::router::RubyRouter;
use crate::server::scoreboard::RubyScoreboard;
use crate::server::stall::Heartbeat;

static LOOPS_STARTED: AtomicU32 = AtomicU32::new(0);

/// Handle to the loop that any thread or signal trap may use.
#[derive(TypedData)]
#[magnus(class = "Elah::EventLoop::Handle", free_immediately)]
struct Handle {
    waker: RemoteWaker,
    heartbeat: Arc<Heartbeat>,
    process_id: u32,
}

impl DataTypeFunctions for Handle {}

impl Handle {
    /// Runs connections and timers of this thread's loop without the GVL until there is work.
    fn iterate(ruby: &Ruby, rb_self: Receiver<Self>) -> Result<(), Error> {
        if std::process::id() != rb_self.process_id {
            return Err(Error::new(
                errors::class(ruby, "Error"),
                "This loop belongs to the parent process: a loop does not survive a fork.",
            ));
        }
        let worker = worker(ruby)?;
        rb_self.heartbeat.rest();
        let waker = &rb_self.waker;
        let iterated = without_gvl(ruby, || worker.iterate(), &|| waker.interrupt());
        rb_self.heartbeat.begin();
        iterated.map(|_| ())
    }

    /// Ends the current iteration's wait.
    fn interrupt(rb_self: Receiver<Self>) {
        rb_self.waker.interrupt();
    }

    fn end_wait(rb_self: Receiver<Self>, wait: u64) {
        rb_self.waker.end_wait(wait);
    }

    /// Blocks, without the GVL, until the loop's thread has run Ruby code for longer than `seconds`. Returns those seconds, or
    /// nil if the thread was interrupted meanwhile.
    fn wait_for_stall(ruby: &Ruby, rb_self: Receiver<Self>, seconds: f64) -> Result<Option<f64>, Error> {
        let bound = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        let heartbeat = Arc::clone(&rb_self.heartbeat);
        let stalled = without_gvl(ruby, || heartbeat.wait_for_stall(bound), &|| heartbeat.interrupt())?;
        Ok(stalled.flatten().map(|stalled| stalled.as_secs_f64()))
    }
}

/// The methods of `Elah::EventLoop` for its own thread: they find the worker without it.
struct EventLoop;

impl EventLoop {
    fn open(
        ruby: &Ruby,
        class: RClass,
        limits: RHash,
        router: &RubyRouter,
        streamed_routes: Vec<u32>,
        gates: RArray,
    ) -> Result<RObject, Error> {
        if current_worker::is_there() {
            return Err(Error::new(errors::class(ruby, "Error"), "A loop runs on this thread already."));
        }
        let limits = read_limits(ruby, limits)?;
        let streamed_routes: HashSet<u32> = streamed_routes.into_iter().collect();
        let gates = read_gates(gates)?;
        let worker = Worker::new(limits, router.snapshot(), streamed_routes, gates)
            .map_err(|cause| Error::new(errors::class(ruby, "Error"), format!("The loop could not be started: {cause}.")))?;
        let worker = Rc::new(worker);
        let handle =
            Handle { waker: worker.waker().clone(), heartbeat: Arc::new(Heartbeat::new()), process_id: std::process::id() };
        let event_loop = RObject::try_convert(class.obj_alloc()?)?;
        event_loop.ivar_set("@handle", ruby.obj_wrap(handle))?;
        let waits = Rc::clone(&worker);
        wait::set_parking(Some(Parking {
            waker: worker.waker().clone(),
            next_wait: Box::new(move || waits.new_wait()),
            ruby_loop: BoxValue::new(event_loop),
            identity: (std::process::id(), LOOPS_STARTED.fetch_add(1, Ordering::Relaxed)),
            in_flight: InFlight::default(),
            life: Arc::new(()),
        }));
        current_worker::set(worker);
        Ok(event_loop)
    }

    fn listen(ruby: &Ruby, _: Value, socket: &ListeningSocket) -> Result<(), Error> {
        let worker = worker(ruby)?;
        socket.with(ruby, |listener| {
            worker.listen(listener).map_err(|cause| {
                Error::new(errors::class(ruby, "Error"), format!("{} cannot be accepted on: {cause}.", listener.address()))
            })
        })?
    }

    /// True when a request may start.
    fn is_request_ready(ruby: &Ruby, _: Value) -> Result<bool, Error> {
        Ok(worker(ruby)?.is_request_ready())
    }

    /// Ends `finished`, the request whose handler has returned, and returns the next one that may start, or nil.
    fn next_request(ruby: &Ruby, _: Value, finished: Value) -> Result<Option<Value>, Error> {
        let worker = worker(ruby)?;
        if let Some(finished) = request::CLASS.native::<Request>(&finished)
            && let Some(request) = worker.finish(finished.id())
        {
            let log: Value =
                ruby.class_object().const_get::<_, RModule>("Elah")?.const_get::<_, Value>("Log")?.funcall("current", ())?;
            log.funcall::<_, _, Value>(
                "error",
                (format!("{request} ended without a response: its client got 500 no_response"),),
            )?;
        }
        Ok(worker.next_request().map(|id| Request::new(id).into_value_with(ruby)))
    }

    /// Whether there is work besides requests.
    fn has_news(ruby: &Ruby, _: Value) -> Result<bool, Error> {
        Ok(worker(ruby)?.has_news())
    }

    /// The IDs of the ended waits, or nil.
    fn ended_waits(ruby: &Ruby, _: Value) -> Result<Option<RArray>, Error> {
        let mut ended = Vec::new();
        worker(ruby)?.take_ended_waits(&mut ended);
        if ended.is_empty() {
            return Ok(None);
        }
        let array = ruby.ary_new_capa(ended.len());
        for id in ended {
            array.push(id)?;
        }
        Ok(Some(array))
    }

    /// The requests to cancel as pairs of request ID and reason, or nil.
    fn cancelled_requests(ruby: &Ruby, _: Value) -> Result<Option<RArray>, Error> {
        let cancelled = worker(ruby)?.take_cancelled();
        if cancelled.is_empty() {
            return Ok(None);
        }
        let array = ruby.ary_new_capa(cancelled.len());
        for (id, reason) in cancelled {
            let reason = match reason {
                Cancelled::Overdue => ruby.to_symbol("overdue"),
                Cancelled::Gone => ruby.to_symbol("gone"),
            };
            array.push((id.to_bits(), reason))?;
        }
        Ok(Some(array))
    }

    fn new_wait(ruby: &Ruby, _: Value) -> Result<u64, Error> {
        Ok(worker(ruby)?.new_wait())
    }

    fn start_timer(ruby: &Ruby, _: Value, wait: u64, seconds: f64) -> Result<(), Error> {
        worker(ruby)?.start_timer(wait, duration(seconds));
        Ok(())
    }

    /// A new wait that ends after `seconds`, unless something else ends it first.
    fn new_timer(ruby: &Ruby, _: Value, seconds: f64) -> Result<u64, Error> {
        let worker = worker(ruby)?;
        let wait = worker.new_wait();
        worker.start_timer(wait, duration(seconds));
        Ok(wait)
    }

    /// Ends `wait` when the descriptor is ready for one of `events` (the bits of `IO::READABLE`, `IO::WRITABLE`, `IO::PRIORITY`).
    /// For a plain file, which is always ready, returns false and does not end the wait.
    fn watch(ruby: &Ruby, _: Value, wait: u64, descriptor: i32, events: u32) -> Result<bool, Error> {
        match worker(ruby)?.watch(wait, duplicate(ruby, descriptor)?, readiness(events)) {
            Ok(()) => Ok(true),
            Err(cause) if cause.kind() == io::ErrorKind::PermissionDenied => Ok(false),
            Err(cause) => Err(cannot_wait(ruby, descriptor, &cause)),
        }
    }

    /// The same for pairs of descriptor and events, none of them a plain file: the wait ends with the first that is ready.
    fn watch_any(ruby: &Ruby, _: Value, wait: u64, interests: Vec<(i32, u32)>) -> Result<(), Error> {
        let first = interests.first().map_or(-1, |(descriptor, _)| *descriptor);
        let duplicates = interests
            .into_iter()
            .map(|(descriptor, events)| Ok((duplicate(ruby, descriptor)?, readiness(events))))
            .collect::<Result<Vec<_>, Error>>()?;
        worker(ruby)?.watch_any(wait, duplicates).map_err(|cause| cannot_wait(ruby, first, &cause))
    }

    /// The events for which the descriptor of `wait` is ready, as bits; nil if something else ended the wait.
    fn readiness(ruby: &Ruby, _: Value, wait: u64) -> Result<Option<u32>, Error> {
        Ok(worker(ruby)?.take_readiness(wait).map(bits))
    }

    /// Of no effect in a fork, whose exception it would replace.
    fn cancel_wait(ruby: &Ruby, _: Value, wait: u64) {
        if let Ok(worker) = worker(ruby) {
            worker.cancel_wait(wait);
        }
    }

    /// How much has been started for which nobody waits, but the end of the loop.
    fn in_flight(_: Value) -> usize {
        wait::count_in_flight()
    }

    /// Stops accepting. The backlog is left to other workers with the same sockets, or accepted first.
    fn drain(ruby: &Ruby, _: Value, leaves_backlog: bool) -> Result<(), Error> {
        worker(ruby)?.drain(leaves_backlog);
        Ok(())
    }

    fn linger(ruby: &Ruby, _: Value, lingers: bool) -> Result<(), Error> {
        worker(ruby)?.keep_running(lingers);
        Ok(())
    }

    fn has_served_all(ruby: &Ruby, _: Value) -> Result<bool, Error> {
        Ok(worker(ruby)?.has_served_all())
    }

    /// Reports to a row of the scoreboard from now on.
    fn take_row(ruby: &Ruby, _: Value, scoreboard: &RubyScoreboard, row: usize) -> Result<(), Error> {
        let row = scoreboard
            .row(row)
            .ok_or_else(|| Error::new(ruby.exception_index_error(), format!("The scoreboard has no row {row}.")))?;
        worker(ruby)?.take_row(row);
        Ok(())
    }

    fn is_drained(ruby: &Ruby, _: Value) -> Result<bool, Error> {
        Ok(worker(ruby)?.is_drained())
    }

    fn counts(ruby: &Ruby, _: Value) -> Result<RHash, Error> {
        let worker = worker(ruby)?;
        let counts = worker.counts();
        let hash = ruby.hash_new();
        for (name, count) in [
            ("connections", counts.connections),
            ("requests", counts.requests),
            ("refused", counts.refused),
            ("iterations", counts.iterations),
            ("accept_failures", counts.accept_failures),
            ("accept_errno", counts.accept_errno.unsigned_abs().into()),
            ("open_connections", worker.open_connections() as u64),
            ("open_requests", worker.open_requests() as u64),
        ] {
            hash.aset(ruby.to_symbol(name), count)?;
        }
        Ok(hash)
    }

    /// Ends the loop of this thread: closes its connections and drops its runtime.
    fn close(_: Value) {
        wait::set_parking(None);
        let worker = current_worker::take();
        drop(worker);
    }

    /// Leaves the loop to the parent of this process. Closes nothing: the selector belongs to the parent, and closing a socket
    /// here would remove it from the selector.
    fn abandon(_: Value) {
        wait::set_parking(None);
        std::mem::forget(current_worker::take());
    }
}

fn duration(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX)
}

/// The loop's own descriptor of the same file. The application may close its one, and the number may then mean another file.
fn duplicate(ruby: &Ruby, descriptor: i32) -> Result<OwnedFd, Error> {
    if descriptor < 0 {
        return Err(cannot_wait(ruby, descriptor, &io::Error::from_raw_os_error(9)));
    }
    // SAFETY: the caller's IO is open; the borrow ends with the duplication.
    unsafe { BorrowedFd::borrow_raw(descriptor) }.try_clone_to_owned().map_err(|cause| cannot_wait(ruby, descriptor, &cause))
}

fn cannot_wait(ruby: &Ruby, descriptor: i32, cause: &io::Error) -> Error {
    Error::new(ruby.exception_io_error(), format!("The descriptor {descriptor} cannot be waited for: {cause}."))
}

fn readiness(events: u32) -> Readiness {
    Readiness { readable: events & 1 != 0, priority: events & 2 != 0, writable: events & 4 != 0 }
}

fn bits(readiness: Readiness) -> u32 {
    u32::from(readiness.readable) | u32::from(readiness.priority) << 1 | u32::from(readiness.writable) << 2
}

/// Gates from `[[routes, running_max, queue_max, queue_seconds], ...]`.
fn read_gates(gates: RArray) -> Result<Vec<GateSettings>, Error> {
    let read = |at: usize| -> Result<GateSettings, Error> {
        let (routes, running_max, queue_max, queue_seconds) = gates.entry::<(Vec<u32>, usize, usize, f64)>(at as isize)?;
        Ok(GateSettings { routes, running_max, queue_max, queue_ms: (queue_seconds * 1000.0).round() as u64 })
    };
    (0..gates.len()).map(read).collect()
}

fn read_limits(ruby: &Ruby, limits: RHash) -> Result<Limits, Error> {
    fn number<T: TryConvert>(ruby: &Ruby, limits: RHash, name: &str) -> Result<T, Error> {
        let value: Option<T> = limits.lookup(ruby.to_symbol(name))?;
        value.ok_or_else(|| Error::new(ruby.exception_key_error(), format!("The limit {name} is missing.")))
    }
    let millis = |name: &str| number::<f64>(ruby, limits, name).map(|seconds| (seconds * 1000.0).round() as u64);
    let count = |name: &str| number::<usize>(ruby, limits, name);
    Ok(Limits {
        connections_max: count("connections_max")?,
        fibers_max: count("fibers_max")?,
        queue_max: count("queue_max")?,
        queue_ms: millis("queue_seconds")?,
        header_bytes_max: count("header_bytes_max")?,
        headers_max: count("headers_max")?,
        uri_bytes_max: count("uri_bytes_max")?,
        body_bytes_max: number(ruby, limits, "body_bytes_max")?,
        body_memory_bytes: count("body_memory_bytes")?,
        header_ms: millis("header_seconds")?,
        body_ms: millis("body_seconds")?,
        keepalive_ms: millis("keepalive_seconds")?,
        request_ms: millis("request_seconds")?,
        write_ms: millis("write_seconds")?,
        response_buffer_bytes: count("response_buffer_bytes")?,
        pipeline_max: number(ruby, limits, "pipeline_max")?,
    })
}

pub(crate) fn init(ruby: &Ruby, elah: RModule) -> Result<(), Error> {
    let class = elah.define_class("EventLoop", ruby.class_object())?;
    let handle = native_class::define::<Handle>(ruby, class, "Handle")?;
    handle.define_method("iterate", method!(Handle::iterate, 0))?;
    handle.define_method("interrupt", method!(Handle::interrupt, 0))?;
    handle.define_method("end_wait", method!(Handle::end_wait, 1))?;
    handle.define_method("wait_for_stall", method!(Handle::wait_for_stall, 1))?;
    class.define_singleton_method("open", method!(EventLoop::open, 4))?;
    class.define_method("listen", method!(EventLoop::listen, 1))?;
    class.define_method("request_ready?", method!(EventLoop::is_request_ready, 0))?;
    class.define_method("next_request", method!(EventLoop::next_request, 1))?;
    class.define_method("news?", method!(EventLoop::has_news, 0))?;
    class.define_method("ended_waits", method!(EventLoop::ended_waits, 0))?;
    class.define_method("cancelled_requests", method!(EventLoop::cancelled_requests, 0))?;
    class.define_method("new_wait", method!(EventLoop::new_wait, 0))?;
    class.define_method("start_timer", method!(EventLoop::start_timer, 2))?;
    class.define_method("new_timer", method!(EventLoop::new_timer, 1))?;
    class.define_method("watch", method!(EventLoop::watch, 3))?;
    class.define_method("watch_any", method!(EventLoop::watch_any, 2))?;
    class.define_method("readiness", method!(EventLoop::readiness, 1))?;
    class.define_method("cancel_wait", method!(EventLoop::cancel_wait, 1))?;
    class.define_method("in_flight", method!(EventLoop::in_flight, 0))?;
    class.define_method("drain", method!(EventLoop::drain, 1))?;
    class.define_method("linger", method!(EventLoop::linger, 1))?;
    class.define_method("served_all?", method!(EventLoop::has_served_all, 0))?;
    class.define_method("take_row", method!(EventLoop::take_row, 2))?;
    class.define_method("drained?", method!(EventLoop::is_drained, 0))?;
    class.define_method("counts", method!(EventLoop::counts, 0))?;
    class.define_method("close", method!(EventLoop::close, 0))?;
    class.define_method("abandon", method!(EventLoop::abandon, 0))?;
    Ok(())
}
