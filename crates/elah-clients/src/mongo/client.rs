//! The client on one runtime: limits on the number of running and waiting operations and on their time, around the driver.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use mongodb::Database;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;

use super::driver::Driver;
use super::error::{Asked, Error};
use super::settings::Plan;
use crate::waiters::Waiters;

/// A client. It connects at its first use, and its connections close when it is dropped.
#[derive(Debug)]
pub struct Client {
    plan: Arc<Plan>,
    driver: Driver,
    connections: Semaphore,
    waiters: Waiters,
}

impl Client {
    pub fn new(plan: Arc<Plan>) -> Client {
        let connections = Semaphore::new(plan.connections_max as usize);
        Client { plan, driver: Driver::new(), connections, waiters: Waiters::default() }
    }

    /// Operations with a connection, and operations that wait for one.
    pub fn load(&self) -> (usize, usize) {
        let running = self.plan.connections_max as usize - self.connections.available_permits();
        (running, self.waiters.count())
    }

    /// Runs `operation` with a free connection, within the time limits. `doing` describes it for errors.
    pub(super) async fn run<T, F>(&self, doing: &str, operation: impl FnOnce(Database) -> F) -> Result<T, Error>
    where
        F: Future<Output = mongodb::error::Result<T>>,
    {
        let plan = &*self.plan;
        let _permit = self.permit(doing).await?;
        let asked = Asked { server: &plan.servers, doing, bound: plan.query };
        match timeout(plan.query, self.driver.run(plan, operation)).await {
            Ok(result) => result.map_err(|error| asked.error(&error)),
            Err(_) => Err(asked.timed_out()),
        }
    }

    pub(super) fn asked<'a>(&'a self, doing: &'a str) -> Asked<'a> {
        Asked { server: &self.plan.servers, doing, bound: self.plan.query }
    }

    /// The time limit of an operation.
    pub(super) fn query_bound(&self) -> Duration {
        self.plan.query
    }

    pub(super) fn database_name(&self) -> &str {
        &self.plan.database
    }

    /// A permit for one connection of the pool. The driver's own queue has no time limit.
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
