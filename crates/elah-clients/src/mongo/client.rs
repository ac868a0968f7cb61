//! The client of one home: bounds on how many operations run, wait and how long, around the driver.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use mongodb::Database;
use tokio::sync::{OnceCell, Semaphore, SemaphorePermit};
use tokio::time::timeout;

use super::error::{Asked, Error};
use super::settings::Plan;
use crate::waiters::Waiters;

/// A client; it connects when it is used first, and its connections are closed when it is dropped.
#[derive(Debug)]
pub struct Client {
    plan: Arc<Plan>,
    database: OnceCell<Database>,
    connections: Semaphore,
    waiters: Waiters,
}

impl Client {
    pub fn new(plan: Arc<Plan>) -> Client {
        let connections = Semaphore::new(plan.connections_max as usize);
        Client { plan, database: OnceCell::new(), connections, waiters: Waiters::default() }
    }

    /// Operations that hold a connection, and those that wait for one.
    pub fn load(&self) -> (usize, usize) {
        let running = self.plan.connections_max as usize - self.connections.available_permits();
        (running, self.waiters.count())
    }

    /// Runs `operation` with a connection that is free for it, within the bounds of time. `doing` says what it does.
    pub(super) async fn run<T, F>(&self, doing: &str, operation: impl FnOnce(Database) -> F) -> Result<T, Error>
    where
        F: Future<Output = mongodb::error::Result<T>>,
    {
        let plan = &*self.plan;
        let _permit = self.permit(doing).await?;
        let asked = Asked { server: &plan.servers, doing, bound: plan.query };
        let running = async { operation(self.database().await?).await };
        match timeout(plan.query, running).await {
            Ok(result) => result.map_err(|error| asked.error(&error)),
            Err(_) => Err(asked.timed_out()),
        }
    }

    pub(super) fn asked<'a>(&'a self, doing: &'a str) -> Asked<'a> {
        Asked { server: &self.plan.servers, doing, bound: self.plan.query }
    }

    /// How long an operation may take.
    pub(super) fn query_bound(&self) -> Duration {
        self.plan.query
    }

    pub(super) fn database_name(&self) -> &str {
        &self.plan.database
    }

    async fn database(&self) -> mongodb::error::Result<Database> {
        let made = self.database.get_or_try_init(|| async {
            let client = mongodb::Client::with_options(self.plan.driver_options().await?)?;
            Ok::<_, mongodb::error::Error>(client.database(&self.plan.database))
        });
        made.await.cloned()
    }

    /// The right to one connection of the pool: the driver's own queue has no bound of time.
    async fn permit(&self, doing: &str) -> Result<SemaphorePermit<'_>, Error> {
        if let Ok(permit) = self.connections.try_acquire() {
            return Ok(permit);
        }
        let (_waiting, before) = self.waiters.enter();
        let plan = &*self.plan;
        let exhausted = |waiters| Error::PoolExhausted {
            server: Arc::clone(&plan.servers),
            doing: doing.to_owned(),
            connections_max: plan.connections_max,
            waiters,
            waited: plan.pool_wait,
        };
        if before >= plan.waiters_max {
            return Err(exhausted(before + 1));
        }
        match timeout(plan.pool_wait, self.connections.acquire()).await {
            Ok(Ok(permit)) => Ok(permit),
            _ => Err(exhausted(self.waiters.count())),
        }
    }
}
