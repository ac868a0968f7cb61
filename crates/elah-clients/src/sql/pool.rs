//! A client's connections: a limited number, opened on demand. Callers without one wait in line, with limits of number and time.
//! An unreachable server is retried at growing intervals; meanwhile callers fail at once.

use std::future::pending;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::timeout;

use super::connection::Connection;
use super::error::Error;
use super::idle::{IdleConnections, locked};
use super::lease::Lease;
use super::settings::Settings;
use crate::waiters::Waiters;

/// A connection that was idle for longer is checked before use.
const TRUSTED: Duration = Duration::from_secs(1);

/// How long an attempt to connect goes on whose caller has gone: it has a permit, and the server may be silent. One at a time goes on to
/// its end, so that it comes to the hosts after a silent one.
const ABANDONED: Duration = Duration::from_secs(1);

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

#[derive(Default)]
struct Outage {
    failures: u32,
    retry_at: Option<Instant>,
    last: Option<Error>,
}

pub(super) struct Pool {
    pub(super) settings: Arc<Settings>,
    permits: Arc<Semaphore>,
    idle: Arc<IdleConnections>,
    waiting: Waiters,
    outage: Mutex<Outage>,
    is_swept: AtomicBool,
    /// For the attempt to connect that goes on without its caller.
    going_on: Semaphore,
}

impl Pool {
    pub(super) fn new(settings: Arc<Settings>) -> Pool {
        Pool {
            permits: Arc::new(Semaphore::new(settings.bounds.connections_max)),
            settings,
            idle: Arc::default(),
            waiting: Waiters::default(),
            outage: Mutex::default(),
            is_swept: AtomicBool::new(false),
            going_on: Semaphore::new(1),
        }
    }

    pub(super) fn status(&self) -> Status {
        let idle = self.idle.count();
        let free = self.permits.available_permits();
        Status { in_use: self.settings.bounds.connections_max.saturating_sub(free), idle, waiting: self.waiting.count() }
    }

    /// Closes the idle connections now and the others when they return.
    pub(super) fn close(&self) {
        self.permits.close();
        self.idle.close();
    }

    /// A connection for one caller.
    pub(super) async fn lease(self: &Arc<Self>) -> Result<Lease, Error> {
        let permit = self.permit().await?;
        while let Some((mut connection, since)) = self.idle.take() {
            if since.elapsed() < TRUSTED {
                return Ok(self.leased(connection, permit));
            }
            // Rare parts are boxed, here and below. Otherwise every query's future would include them.
            match timeout(self.settings.bounds.connect, Box::pin(connection.ping())).await {
                Ok(Ok(())) => return Ok(self.leased(connection, permit)),
                Ok(Err(_)) => {}
                // The server or the network is silent: connections that were idle for longer are no better.
                Err(_) => {
                    self.idle.close_older_than(since.elapsed());
                    break;
                }
            }
        }
        let (mut told, connected) = oneshot::channel();
        let pool = Arc::clone(self);
        // A task of its own: where the caller has less time than a connection takes, the next one finds it idle.
        tokio::spawn(async move {
            let abandoned = async {
                told.closed().await;
                tokio::time::sleep(ABANDONED).await;
                if let Ok(_only) = pool.going_on.try_acquire() {
                    pending::<()>().await;
                }
            };
            let lease = tokio::select! {
                connected = pool.connect() => connected.map(|connection| pool.leased(connection, permit)),
                () = abandoned => return,
            };
            let _ = told.send(lease);
        });
        connected.await.unwrap_or_else(|_| Err(Error::Closed { server: Arc::clone(&self.settings.server) }))
    }

    fn leased(&self, connection: Connection, permit: OwnedSemaphorePermit) -> Lease {
        Lease::new(connection, Arc::clone(&self.settings), Arc::clone(&self.idle), permit)
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
                pool.idle.close_older_than(pool.settings.bounds.idle);
                if pool.status() == (Status { in_use: 0, idle: 0, waiting: 0 }) {
                    return pool.is_swept.store(false, Ordering::Relaxed);
                }
            }
        });
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
