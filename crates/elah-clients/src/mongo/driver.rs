//! The driver's client, made anew when its queue may be full of operations that nobody waits for.
//!
//! While the driver's pool opens a connection, it keeps operations in a queue, cancelled ones too. It takes them out one by one,
//! with each new operation or second, so after an outage those behind would wait for as long as that takes.

use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use mongodb::Database;
use mongodb::error::Result as DriverResult;
use mongodb::event::EventHandler;
use mongodb::event::cmap::CmapEvent;
use tokio::sync::OnceCell;

use super::settings::Plan;

/// With so many operations given up in the queue and none served after them, the next one has a new client.
const GIVEN_UP_MAX: u64 = 2;

tokio::task_local! {
    /// Whether the operation that is polled waits in the queue.
    static WAITS: Arc<AtomicBool>;
}

#[derive(Debug)]
pub(super) struct Driver {
    current: Mutex<Current>,
}

#[derive(Debug)]
struct Current {
    database: Arc<OnceCell<Database>>,
    made: Instant,
    /// How many operations were dropped while they waited in the queue.
    given_up: u64,
    /// How many of these have left it. The queue is in order, so these are all that were there before one that was served.
    passed: u64,
}

/// An operation that runs.
struct Running<'a> {
    driver: &'a Driver,
    database: Arc<OnceCell<Database>>,
    given_up_before: u64,
    waits: Arc<AtomicBool>,
    succeeded: bool,
}

impl Driver {
    pub(super) fn new() -> Driver {
        Driver { current: Mutex::new(Current::new()) }
    }

    /// Runs `operation`. It may be dropped at any time.
    pub(super) async fn run<T, F>(&self, plan: &Plan, operation: impl FnOnce(Database) -> F) -> DriverResult<T>
    where
        F: Future<Output = DriverResult<T>>,
    {
        let mut running = self.begin(plan);
        let result = WAITS.scope(Arc::clone(&running.waits), async { operation(running.database(plan).await?).await }).await;
        running.succeeded = result.is_ok();
        result
    }

    fn begin(&self, plan: &Plan) -> Running<'_> {
        let mut current = self.current();
        // A younger client may still be opening its first connection.
        if current.given_up - current.passed >= GIVEN_UP_MAX && current.made.elapsed() > plan.connect {
            *current = Current::new();
        }
        Running {
            driver: self,
            database: Arc::clone(&current.database),
            given_up_before: current.given_up,
            waits: Arc::default(),
            succeeded: false,
        }
    }

    fn current(&self) -> MutexGuard<'_, Current> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Current {
    fn new() -> Current {
        Current { database: Arc::default(), made: Instant::now(), given_up: 0, passed: 0 }
    }
}

impl Running<'_> {
    async fn database(&self, plan: &Plan) -> DriverResult<Database> {
        let made = self.database.get_or_try_init(|| async {
            let mut options = plan.driver_options().await?;
            options.cmap_event_handler = Some(EventHandler::callback(note));
            Ok::<_, mongodb::error::Error>(mongodb::Client::with_options(options)?.database(&plan.database))
        });
        made.await.cloned()
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let mut current = self.driver.current();
        if !Arc::ptr_eq(&current.database, &self.database) {
            return;
        }
        if self.succeeded {
            current.passed = current.passed.max(self.given_up_before);
        } else if self.waits.load(Relaxed) {
            current.given_up += 1;
        }
    }
}

/// The driver calls it in the operation that asks for a connection.
fn note(event: CmapEvent) {
    let waits = match event {
        CmapEvent::ConnectionCheckoutStarted(_) => true,
        CmapEvent::ConnectionCheckedOut(_) | CmapEvent::ConnectionCheckoutFailed(_) => false,
        _ => return,
    };
    // The driver has operations of its own.
    let _ = WAITS.try_with(|operation| operation.store(waits, Relaxed));
}
