//! A transaction: one connection for one caller, until it is committed or rolled back. If it is dropped before that, its
//! connection is closed, and the server rolls back.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::AbortHandle;
use tokio::time::timeout;

use super::error::Error;
use super::held::{Held, Shared};
use super::idle::locked;
use super::lease::Lease;
use super::rows::Rows;
use super::settings::{Engine, Settings};
use super::statement::Statement;
use super::stream::RowStream;
use super::value::Param;
use crate::Work;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

impl Isolation {
    fn words(self) -> &'static str {
        match self {
            Isolation::ReadCommitted => "READ COMMITTED",
            Isolation::RepeatableRead => "REPEATABLE READ",
            Isolation::Serializable => "SERIALIZABLE",
        }
    }
}

/// How long a rollback waits for the statement of another task.
const PATIENCE: Duration = Duration::from_millis(100);

/// How long a rollback waits for its reply: to close the connection has the same effect.
const ROLLBACK_PATIENCE: Duration = Duration::from_secs(1);

/// Several tasks may call its methods; they wait for each other.
pub struct Transaction {
    lease: Arc<Shared>,
    server: Arc<str>,
    /// The task that reads, or has read, the rows of the last stream.
    reading: std::sync::Mutex<Option<AbortHandle>>,
    /// Why it can no longer be committed, also when it is over.
    failure: std::sync::Mutex<Option<Error>>,
}

impl Transaction {
    pub(super) async fn begin(
        mut lease: Lease,
        settings: &Settings,
        isolation: Option<Isolation>,
        first: Option<&str>,
    ) -> Result<Transaction, Error> {
        let mut begin = match (settings.engine, isolation) {
            (Engine::Postgres, Some(isolation)) => format!("BEGIN ISOLATION LEVEL {}", isolation.words()),
            (Engine::MySql, Some(isolation)) => {
                // For the next transaction only.
                lease.command(&format!("SET TRANSACTION ISOLATION LEVEL {}", isolation.words())).await?;
                "START TRANSACTION".to_owned()
            }
            (_, None) => "START TRANSACTION".to_owned(),
        };
        if let (Engine::Postgres, Some(first)) = (settings.engine, first) {
            begin.extend(["; ", first]);
        }
        let begun = lease.command(&begin).await;
        // Also when `first` was refused after BEGIN: such a connection is not used again.
        lease.note_transaction(true);
        begun?;
        let server = Arc::clone(&settings.server);
        Ok(Transaction {
            lease: Shared::new(lease),
            server,
            reading: std::sync::Mutex::default(),
            failure: std::sync::Mutex::default(),
        })
    }

    pub fn query(&self, sql: String, params: Vec<Param>) -> Work<'_, Result<Rows, Error>> {
        Box::pin(async move {
            let mut held = self.lease.hold().await;
            let statement = Statement::new(sql, params);
            let rows = tokio::select! {
                rows = self.open(&mut held)?.run(&statement) => rows,
                () = self.lease.abandoned() => return Err(self.over()),
            };
            self.note_failure(&mut held);
            rows
        })
    }

    /// Other calls wait until the stream has been read or closed.
    pub fn stream(&self, sql: String, params: Vec<Param>) -> Work<'_, Result<RowStream, Error>> {
        Box::pin(async move {
            let mut held = self.lease.hold().await;
            let drain = self.open(&mut held)?.query_bound();
            let stream = RowStream::of_transaction(held, Statement::new(sql, params), drain);
            *locked(&self.reading) = Some(stream.reading.clone());
            Ok(stream)
        })
    }

    /// Runs one of SAVEPOINT, RELEASE SAVEPOINT and ROLLBACK TO SAVEPOINT.
    pub fn savepoint(&self, action: SavepointAction, number: u32) -> Work<'_, Result<(), Error>> {
        Box::pin(async move {
            let words = match action {
                SavepointAction::Set => "SAVEPOINT",
                SavepointAction::Release => "RELEASE SAVEPOINT",
                SavepointAction::RollBack => "ROLLBACK TO SAVEPOINT",
            };
            let mut held = self.lease.hold().await;
            let lease = self.open(&mut held)?;
            let command = format!("{words} elah_{number}");
            let done = match action {
                SavepointAction::RollBack => match timeout(ROLLBACK_PATIENCE, lease.command_inside(&command)).await {
                    Ok(done) => done,
                    Err(_) => Err(lease.given_up(&command.into())),
                },
                SavepointAction::Set | SavepointAction::Release => lease.command_inside(&command).await,
            };
            self.note_failure(&mut held);
            done
        })
    }

    /// Commits the transaction. After an error it may be stored or not, but not after `RolledBack`: PostgreSQL would reply to COMMIT
    /// with success, although it rolls back.
    pub fn commit(&self) -> Work<'_, Result<(), Error>> {
        Box::pin(async move {
            let mut held = self.lease.hold().await;
            self.open(&mut held)?;
            // Taken out, so that a cancelled caller leaves nothing behind.
            let Some(lease) = held.take() else { return Ok(()) };
            match lease.failure() {
                None => Transaction::finish(lease, "COMMIT").await,
                Some(failure) => {
                    let _ = timeout(ROLLBACK_PATIENCE, Transaction::finish(lease, "ROLLBACK")).await;
                    Err(failure)
                }
            }
        })
    }

    /// Rolls the transaction back. Does nothing when it is over. It cannot fail: without a reply, or while rows are left to read or
    /// another task's statement runs, the connection is closed, and the server rolls back by itself.
    pub fn roll_back(&self) -> Work<'_, ()> {
        Box::pin(async move {
            if let Some(reading) = locked(&self.reading).take() {
                reading.abort();
            }
            let Ok(mut held) = timeout(PATIENCE, self.lease.hold()).await else { return self.abandon() };
            if let Some(lease) = held.take().filter(Lease::is_usable) {
                let _ = timeout(ROLLBACK_PATIENCE, Transaction::finish(lease, "ROLLBACK")).await;
            }
        })
    }

    /// Ends the transaction without waiting, because its caller did not wait for a rollback, which may not have begun. Nothing
    /// of it is stored: the connection is closed, by another task if that uses it.
    pub fn abandon(&self) {
        self.lease.abandon();
    }

    async fn finish(mut lease: Lease, word: &str) -> Result<(), Error> {
        lease.command(word).await?;
        lease.note_transaction(false);
        Ok(())
    }

    fn open<'h>(&self, held: &'h mut Held) -> Result<&'h mut Lease, Error> {
        held.lease().ok_or_else(|| self.over())
    }

    fn note_failure(&self, held: &mut Held) {
        if let Some(lease) = held.lease() {
            *locked(&self.failure) = lease.failure();
        }
    }

    fn over(&self) -> Error {
        locked(&self.failure).clone().unwrap_or_else(|| Error::Unusable {
            server: Arc::clone(&self.server),
            statement: None,
            reason: "The transaction is over".to_owned(),
        })
    }
}

/// An operation on a savepoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SavepointAction {
    Set,
    Release,
    RollBack,
}
