//! The driver's client, made anew after operations that nobody waited for to their end: while the driver opens a connection it
//! keeps them in its queue, and later takes them out one by one, with each new operation or second. Those behind them would wait.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mongodb::Database;
use tokio::sync::OnceCell;

use super::settings::Plan;

/// How many abandoned operations with no reply after them make it doubtful that the driver serves the next one.
const ABANDONED_MAX: u64 = 2;
/// The shortest life of a driver's client: each begins with connections that find the servers.
const LIFE_MIN: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Driver {
    current: Mutex<Current>,
}

#[derive(Debug)]
struct Current {
    database: Arc<OnceCell<Database>>,
    made: Instant,
    /// How many operations were abandoned.
    abandoned: u64,
    /// How many of them are out of the queue, which is in order: those that were abandoned before one that was replied to began.
    passed: u64,
}

/// An operation that runs. If it is dropped before its end, it was abandoned.
pub(super) struct Running<'a> {
    driver: &'a Driver,
    database: Arc<OnceCell<Database>>,
    abandoned_before: u64,
    ended: bool,
}

impl Driver {
    pub(super) fn new() -> Driver {
        Driver { current: Mutex::new(Current::new()) }
    }

    pub(super) fn begin(&self) -> Running<'_> {
        let mut current = self.current();
        if current.abandoned - current.passed >= ABANDONED_MAX && current.made.elapsed() >= LIFE_MIN {
            *current = Current::new();
        }
        Running { driver: self, database: Arc::clone(&current.database), abandoned_before: current.abandoned, ended: false }
    }

    fn current(&self) -> MutexGuard<'_, Current> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Current {
    fn new() -> Current {
        Current { database: Arc::default(), made: Instant::now(), abandoned: 0, passed: 0 }
    }
}

impl Running<'_> {
    /// The database, whose client is made by the first operation. It connects at its first use.
    pub(super) async fn database(&self, plan: &Plan) -> mongodb::error::Result<Database> {
        let made = self.database.get_or_try_init(|| async {
            let client = mongodb::Client::with_options(plan.driver_options().await?)?;
            Ok::<_, mongodb::error::Error>(client.database(&plan.database))
        });
        made.await.cloned()
    }

    /// Ends it. `succeeded` says that the server replied with a result.
    pub(super) fn end(mut self, succeeded: bool) {
        self.ended = true;
        if succeeded {
            self.among_current(|current, before| current.passed = current.passed.max(before));
        }
    }

    /// Calls `change` if its client is still the driver's.
    fn among_current(&self, change: impl FnOnce(&mut Current, u64)) {
        let mut current = self.driver.current();
        if Arc::ptr_eq(&current.database, &self.database) {
            change(&mut current, self.abandoned_before);
        }
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if !self.ended {
            self.among_current(|current, _| current.abandoned += 1);
        }
    }
}
