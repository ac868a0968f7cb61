//! A connection in use. It returns to its pool only if nothing is left over on it. An abandoned query is also ended on the
//! server, so that no query runs for nobody.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Builder;
use tokio::sync::{OwnedMutexGuard, OwnedSemaphorePermit};
use tokio::time::timeout;

use super::connection::Connection;
use super::error::Error;
use super::idle::IdleConnections;
use super::outlet::Outlet;
use super::rows::Rows;
use super::settings::Settings;
use super::statement::Statement;

/// The lease of a transaction; `None` when it is over.
pub(super) type Held = OwnedMutexGuard<Option<Lease>>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Clean,
    InTransaction,
    /// A statement is running, or was when its caller abandoned it.
    Busy,
    Broken,
}

pub(super) struct Lease {
    connection: Option<Connection>,
    state: State,
    settings: Arc<Settings>,
    idle: Arc<IdleConnections>,
    /// Held until the connection is back or closed, so that the pool never exceeds its limit.
    permit: Option<OwnedSemaphorePermit>,
}

impl Lease {
    pub(super) fn new(
        connection: Connection,
        settings: Arc<Settings>,
        idle: Arc<IdleConnections>,
        permit: OwnedSemaphorePermit,
    ) -> Lease {
        Lease { connection: Some(connection), state: State::Clean, settings, idle, permit: Some(permit) }
    }

    /// Runs a statement and reads all its rows.
    pub(super) async fn run(&mut self, statement: &Statement) -> Result<Rows, Error> {
        let before = self.begin(&statement.sql)?;
        let may_repeat = before == State::Clean;
        let bound = self.settings.bounds.query;
        let outcome = match &mut self.connection {
            Some(connection) => timeout(bound, connection.run(statement, may_repeat)).await,
            None => return Err(self.lost(&statement.sql)),
        };
        self.end(before, &statement.sql, outcome)
    }

    /// Runs one of the client's own commands.
    pub(super) async fn command(&mut self, sql: &str) -> Result<(), Error> {
        let text: Arc<str> = sql.into();
        let before = self.begin(&text)?;
        let bound = self.settings.bounds.query;
        let outcome = match &mut self.connection {
            Some(connection) => timeout(bound, connection.command(&text)).await,
            None => return Err(self.lost(&text)),
        };
        self.end(before, &text, outcome)
    }

    /// Runs a statement and passes its rows on in batches, at the reader's pace.
    pub(super) async fn stream(&mut self, statement: &Statement, mut outlet: Outlet) -> Result<(), Error> {
        let before = self.begin(&statement.sql)?;
        let bound = self.settings.bounds.query;
        let outcome = match &mut self.connection {
            Some(connection) => connection.stream(statement, bound, &mut outlet).await,
            None => return Err(self.lost(&statement.sql)),
        };
        match outcome {
            Ok(true) => self.end(before, &statement.sql, Ok(Ok(()))),
            // Unread rows remain: the lease stays busy and ends with its connection.
            Ok(false) => Ok(()),
            Err(error) => self.end(before, &statement.sql, Ok(Err(error))),
        }
    }

    pub(super) fn note_transaction(&mut self, is_open: bool) {
        match self.state {
            State::Clean | State::InTransaction if is_open => self.state = State::InTransaction,
            State::Clean | State::InTransaction => self.state = State::Clean,
            State::Busy | State::Broken => {}
        }
    }

    pub(super) fn query_bound(&self) -> Duration {
        self.settings.bounds.query
    }

    /// True if another statement can run.
    pub(super) fn is_usable(&self) -> bool {
        matches!(self.state, State::Clean | State::InTransaction)
    }

    fn begin(&mut self, sql: &Arc<str>) -> Result<State, Error> {
        if !self.is_usable() {
            return Err(self.lost(sql));
        }
        Ok(std::mem::replace(&mut self.state, State::Busy))
    }

    fn end<T>(
        &mut self,
        before: State,
        sql: &Arc<str>,
        outcome: Result<Result<T, Error>, tokio::time::error::Elapsed>,
    ) -> Result<T, Error> {
        let settings = &self.settings;
        let outcome = outcome.unwrap_or_else(|_| {
            let (server, statement) = (Arc::clone(&settings.server), Arc::clone(sql));
            Err(Error::QueryTimeout { server, statement, bound: settings.bounds.query })
        });
        self.state = match &outcome {
            // Stays busy.
            Err(Error::QueryTimeout { .. }) => return outcome,
            Err(error) if error.is_fatal() => State::Broken,
            _ => before,
        };
        outcome
    }

    fn lost(&self, sql: &Arc<str>) -> Error {
        Error::Lost {
            server: Arc::clone(&self.settings.server),
            statement: Some(Arc::clone(sql)),
            cause: "an earlier statement failed or was given up".to_owned(),
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(connection) = self.connection.take() else { return };
        match self.state {
            State::Clean => self.idle.put_back(connection),
            // Dropping it closes it, and the server rolls back.
            State::InTransaction | State::Broken => drop(connection),
            State::Busy => interrupt(connection, Arc::clone(&self.settings), self.permit.take()),
        }
    }
}

/// Ends a connection and its statement, on a separate thread, because the loop of the caller may end earlier.
fn interrupt(connection: Connection, settings: Arc<Settings>, permit: Option<OwnedSemaphorePermit>) {
    let work = move || {
        if let Ok(runtime) = Builder::new_current_thread().enable_all().build() {
            let _ = runtime.block_on(async { timeout(settings.bounds.connect, connection.interrupt(&settings)).await });
        }
        drop(permit);
    };
    // Without a thread, the connection is closed like any other.
    let _ = std::thread::Builder::new().name("elah-interrupt".to_owned()).spawn(work);
}
