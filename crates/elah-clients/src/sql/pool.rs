//! A client's connections: a limited number, opened on demand. Callers without one wait in line, with limits of number and time.
//! An unreachable server is retried at growing intervals; meanwhile callers fail at once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::connection::Connection;
use super::error::Error;
use super::lease::Lease;
use super::settings::Settings;
use crate::waiters::Waiters;

/// A connection that was idle for longer is checked before use.
const TRUSTED: Duration = Duration::from_secs(1);

/// The pause after the first failure to connect; it doubles with each further one.
const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// The pause between two checks for idle connections.
const SWEEP_PAUSE_MIN: Duration = Duration::from_millis(10);
const SWEEP_PAUSE_MAX: Duration = Duration::from_secs(60);

/// The number of connections and callers at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status {
    pub in_use: usize,
    pub idle: usize,
    pub waiting: usize,
}

struct Idle {
    connection: Connection,
    since: Instant,
}

#[derive(Default)]
struct Outage {
    failures: u32,
    retry_at: Option<Instant>,
    last: Option<Error>,
}

pub(super) struct Pool {
    pub(super) settings: Arc<Settings>,
    permits: Arc<Semaphore>,
    /// The most recently used one is last.
    idle: Mutex<Vec<Idle>>,
    waiting: Waiters,
    outage: Mutex<Outage>,
    is_closed: AtomicBool,
    is_swept: AtomicBool,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pool {
    pub(super) fn new(settings: Arc<Settings>) -> Pool {
        Pool {
            permits: Arc::new(Semaphore::new(settings.bounds.connections_max)),
            settings,
            idle: Mutex::default(),
            waiting: Waiters::default(),
            outage: Mutex::default(),
            is_closed: AtomicBool::new(false),
            is_swept: AtomicBool::new(false),
        }
    }

    pub(super) fn status(&self) -> Status {
        let idle = locked(&self.idle).len();
        let free = self.permits.available_permits();
        Status { in_use: self.settings.bounds.connections_max.saturating_sub(free), idle, waiting: self.waiting.count() }
    }

    /// Closes the idle connections now and the others when they return.
    pub(super) fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
        self.permits.close();
        locked(&self.idle).clear();
    }

    /// A connection for one caller.
    pub(super) async fn lease(self: &Arc<Self>) -> Result<Lease, Error> {
        let permit = self.permit().await?;
        while let Some(mut idle) = self.take_idle() {
            if idle.since.elapsed() < TRUSTED {
                return Ok(Lease::new(idle.connection, Arc::clone(self), permit));
            }
            // Rare parts are boxed, here and below. Otherwise every query's future would include them.
            if matches!(timeout(self.settings.bounds.connect, Box::pin(idle.connection.ping())).await, Ok(Ok(()))) {
                return Ok(Lease::new(idle.connection, Arc::clone(self), permit));
            }
        }
        let connection = Box::pin(self.connect()).await?;
        Ok(Lease::new(connection, Arc::clone(self), permit))
    }

    /// Takes a connection back. The caller still holds its permit.
    pub(super) fn put_back(&self, connection: Connection) {
        if self.is_closed.load(Ordering::Relaxed) || connection.is_closed() {
            return;
        }
        locked(&self.idle).push(Idle { connection, since: Instant::now() });
    }

    /// Starts the periodic closing of idle connections, which runs while there are connections.
    fn start_sweeping(self: &Arc<Self>) {
        if self.is_swept.swap(true, Ordering::Relaxed) {
            return;
        }
        let (pool, pause) = (Arc::downgrade(self), (self.settings.bounds.idle / 2).clamp(SWEEP_PAUSE_MIN, SWEEP_PAUSE_MAX));
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(pause).await;
                let Some(pool) = pool.upgrade() else { return };
                pool.sweep();
                if pool.status() == (Status { in_use: 0, idle: 0, waiting: 0 }) {
                    return pool.is_swept.store(false, Ordering::Relaxed);
                }
            }
        });
    }

    fn sweep(&self) {
        let now = Instant::now();
        let mut idle = locked(&self.idle);
        // The least recently used ones come first.
        let lapsed = idle.iter().take_while(|idle| now.duration_since(idle.since) > self.settings.bounds.idle).count();
        let lapsed: Vec<_> = idle.drain(..lapsed).collect();
        drop(idle);
        drop(lapsed);
    }

    async fn permit(&self) -> Result<OwnedSemaphorePermit, Error> {
        let bounds = &self.settings.bounds;
        let server = || Arc::clone(&self.settings.server);
        let closed = || Error::Closed { server: server() };
        if self.permits.is_closed() {
            return Err(closed());
        }
        // Never overtakes: a free permit goes to waiting callers first.
        if let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() {
            return Ok(permit);
        }
        let (_waiting, waiters) = self.waiting.enter();
        let exhausted =
            |waited| Error::PoolExhausted { server: server(), connections_max: bounds.connections_max, waiters, waited };
        if waiters >= bounds.waiters_max {
            return Err(exhausted(Duration::ZERO));
        }
        match timeout(bounds.pool, Arc::clone(&self.permits).acquire_owned()).await {
            Ok(permit) => permit.map_err(|_| closed()),
            Err(_) => Err(exhausted(bounds.pool)),
        }
    }

    fn take_idle(&self) -> Option<Idle> {
        let mut idle = locked(&self.idle);
        loop {
            let last = idle.pop()?;
            if !last.connection.is_closed() {
                return Some(last);
            }
        }
    }

    async fn connect(self: &Arc<Self>) -> Result<Connection, Error> {
        if let Some(error) = self.recent_failure() {
            return Err(error);
        }
        let settings = &self.settings;
        let connected = match timeout(settings.bounds.connect, Connection::open(settings)).await {
            Ok(connected) => connected,
            Err(_) => Err(Error::Unreachable {
                server: Arc::clone(&settings.server),
                cause: format!("no reply within {} s", settings.bounds.connect.as_secs_f64()),
            }),
        };
        self.note(connected.as_ref().err());
        if connected.is_ok() {
            self.start_sweeping();
        }
        connected
    }

    fn recent_failure(&self) -> Option<Error> {
        let outage = locked(&self.outage);
        outage.retry_at.filter(|at| Instant::now() < *at)?;
        outage.last.clone()
    }

    fn note(&self, failure: Option<&Error>) {
        let mut outage = locked(&self.outage);
        let Some(failure) = failure else { return *outage = Outage::default() };
        let now = Instant::now();
        // Concurrent attempts count as one failure.
        if outage.retry_at.is_none_or(|at| now >= at) {
            let pause = PAUSE_MIN.saturating_mul(1 << outage.failures.min(10)).min(PAUSE_MAX);
            outage.failures += 1;
            outage.retry_at = Some(now + pause.mul_f64(0.75 + 0.25 * random()));
        }
        outage.last = Some(failure.clone());
    }
}

/// A random number from 0 to 1, so that many workers do not reconnect at the same moment. It differs between forks, whose hashes
/// have the same keys.
fn random() -> f64 {
    use std::hash::{BuildHasher, RandomState};
    (RandomState::new().hash_one(std::process::id()) >> 11) as f64 / (1_u64 << 53) as f64
}
