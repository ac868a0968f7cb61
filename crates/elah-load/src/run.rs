//! Drives the connections in one of three ways: open loop, closed loop, or one request each at the same moment.

use std::cell::{OnceCell, RefCell};
use std::io;
use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::sync::Barrier;
use tokio::task::{JoinSet, LocalSet};

use crate::connection::Connection;
use crate::failure::Failure;
use crate::options::Options;
use crate::pacer::Pacer;
use crate::plan::Plan;
use crate::queue::Queue;
use crate::requests::Requests;
use crate::results::Results;

/// Between the openings of two connections: 4,000 in a second, so that a server's accept backlog does not overflow, and
/// 10,000 are open before the first of them counts as silent.
const OPENING_GAP: Duration = Duration::from_micros(250);

/// What a run gave.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) results: Results,
    /// Seconds over which the results were taken.
    pub(crate) measured: Duration,
    /// Seconds from the first connection to the last response, warm-up included.
    pub(crate) elapsed: Duration,
    /// CPU time that this program used in `elapsed`.
    pub(crate) cpu: Duration,
}

/// Shared by the tasks of all connections; everything runs in one thread.
struct Shared {
    options: Options,
    requests: Requests,
    results: RefCell<Results>,
}

impl Shared {
    /// Sends one request that was planned for `planned` and waits for its response.
    async fn send(&self, connection: &mut Connection, planned: Instant) -> Result<(), Failure> {
        let deadline = planned + self.options.timeout;
        if deadline <= Instant::now() {
            return Err(Failure::Timeout);
        }
        let exchange = connection.exchange(self.requests.choose(), &self.requests.expectation);
        match tokio::time::timeout_at(deadline.into(), exchange).await {
            Ok(outcome) => outcome,
            Err(_) => {
                connection.close();
                Err(Failure::Timeout)
            }
        }
    }

    fn connection(&self) -> Connection {
        Connection::new(self.options.url.address)
    }
}

/// Sends the load that `options` describe and returns what came back.
///
/// # Errors
/// When the runtime or its timer cannot be made. Failed requests are part of the outcome.
pub(crate) fn run(options: &Options, requests: Requests) -> io::Result<Outcome> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let shared = Rc::new(Shared { options: options.clone(), requests, results: RefCell::new(Results::new()) });
    let started = Instant::now();
    let cpu_before = cpu_time();
    let measured = LocalSet::new().block_on(&runtime, async {
        if let Some(rate) = options.rate {
            run_open(&shared, rate).await
        } else if options.closed {
            Ok(run_closed(&shared).await)
        } else {
            Ok(run_once(&shared).await)
        }
    })?;
    let cpu = cpu_time() - cpu_before;
    let results = shared.results.replace(Results::new());
    Ok(Outcome { results, measured, elapsed: started.elapsed(), cpu })
}

/// Hands out requests at their planned times to any free connection. Those planned after the warm-up count, however
/// late they are sent.
async fn run_open(shared: &Rc<Shared>, rate: f64) -> io::Result<Duration> {
    let options = &shared.options;
    let queue = Rc::new(Queue::default());
    let started = Instant::now();
    let counts_from = started + options.warmup;
    let mut connections = JoinSet::new();
    for _ in 0..options.connections {
        let (shared, queue) = (Rc::clone(shared), Rc::clone(&queue));
        connections.spawn_local(async move {
            let mut connection = shared.connection();
            while let Some(planned) = queue.next().await {
                let outcome = shared.send(&mut connection, planned).await;
                if planned >= counts_from {
                    shared.results.borrow_mut().record(planned, outcome);
                }
            }
        });
    }
    let pacer = Pacer::new()?;
    for offset in Plan::new(rate, options.arrivals, options.seed) {
        if offset >= options.warmup + options.duration {
            break;
        }
        let planned = started + offset;
        while planned > Instant::now() {
            pacer.wait_until(planned).await?;
        }
        if planned >= counts_from {
            shared.results.borrow_mut().record_lag(planned, Instant::now());
        }
        queue.push(planned);
    }
    queue.close();
    connections.join_all().await;
    Ok(options.duration)
}

/// Each connection sends as soon as it has its response. Responses that arrive after the warm-up and before the end count.
async fn run_closed(shared: &Rc<Shared>) -> Duration {
    let options = &shared.options;
    let counts_from = Instant::now() + options.warmup;
    let ends = counts_from + options.duration;
    let mut connections = JoinSet::new();
    for _ in 0..options.connections {
        let shared = Rc::clone(shared);
        connections.spawn_local(async move {
            let mut connection = shared.connection();
            loop {
                let sent = Instant::now();
                if sent >= ends {
                    break;
                }
                let outcome = shared.send(&mut connection, sent).await;
                let now = Instant::now();
                if now >= counts_from && (now < ends || outcome.is_err()) {
                    shared.results.borrow_mut().record(sent, outcome);
                }
            }
        });
    }
    connections.join_all().await;
    options.duration
}

/// Opens every connection, then lets each send one request at the same moment.
async fn run_once(shared: &Rc<Shared>) -> Duration {
    let options = &shared.options;
    let started = tokio::time::Instant::now();
    let all_open = Rc::new(Barrier::new(options.connections));
    let planned = Rc::new(OnceCell::new());
    let mut connections = JoinSet::new();
    for number in 0..u32::try_from(options.connections).unwrap_or(u32::MAX) {
        let (shared, all_open, planned) = (Rc::clone(shared), Rc::clone(&all_open), Rc::clone(&planned));
        connections.spawn_local(async move {
            tokio::time::sleep_until(started + OPENING_GAP * number).await;
            let mut connection = shared.connection();
            let opened = connection.open().await;
            all_open.wait().await;
            let planned = *planned.get_or_init(Instant::now);
            let outcome = match opened {
                Ok(()) => shared.send(&mut connection, planned).await,
                Err(failure) => Err(failure),
            };
            shared.results.borrow_mut().record(planned, outcome);
        });
    }
    connections.join_all().await;
    planned.get().map(Instant::elapsed).unwrap_or_default()
}

/// CPU time of this process so far.
fn cpu_time() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::try_from(now).unwrap_or_default()
}
