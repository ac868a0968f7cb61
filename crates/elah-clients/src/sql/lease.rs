//! A connection in use. It returns to its pool only if nothing is left over on it. An abandoned query is also ended on the
//! server, so that no query runs for nobody.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

use super::connection::Connection;
use super::control;
use super::error::Error;
use super::idle::IdleConnections;
use super::interrupts::interrupt;
use super::outlet::Outlet;
use super::rows::Rows;
use super::settings::Settings;
use super::statement::Statement;

/// The SQLSTATE of a write in a transaction that is read-only.
const READ_ONLY: &str = "25006";

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
    /// Why the transaction can no longer be committed.
    failure: Option<Error>,
    /// Whether its session has refused a write. One that began while the database was read-only would refuse all.
    is_read_only: bool,
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
        Lease {
            connection: Some(connection),
            state: State::Clean,
            settings,
            idle,
            failure: None,
            is_read_only: false,
            permit: Some(permit),
        }
    }

    /// Runs a statement and reads all its rows.
    pub(super) async fn run(&mut self, statement: &Statement) -> Result<Rows, Error> {
        self.check(&statement.sql)?;
        let before = self.begin(&statement.sql)?;
        let may_repeat = before == State::Clean;
        let bound = self.settings.bounds.query;
        let outcome = match &mut self.connection {
            Some(connection) => timeout(bound, connection.run(statement, may_repeat)).await,
            None => return Err(self.given_up(&statement.sql)),
        };
        let outcome = self.end(before, &statement.sql, outcome);
        self.note_outcome(&statement.sql, outcome)
    }

    /// Runs one of the client's own commands inside a transaction.
    pub(super) async fn command_inside(&mut self, sql: &str) -> Result<(), Error> {
        self.check_open()?;
        let outcome = self.command(sql).await;
        self.note_outcome(&sql.into(), outcome)
    }

    /// Runs one of the client's own commands, which may begin or end a transaction.
    pub(super) async fn command(&mut self, sql: &str) -> Result<(), Error> {
        let text: Arc<str> = sql.into();
        let before = self.begin(&text)?;
        let bound = self.settings.bounds.query;
        let outcome = match &mut self.connection {
            Some(connection) => timeout(bound, connection.command(&text)).await,
            None => return Err(self.given_up(&text)),
        };
        self.end(before, &text, outcome)
    }

    /// Runs a statement and passes its rows on in batches, at the reader's pace.
    pub(super) async fn stream(&mut self, statement: &Statement, mut outlet: Outlet) -> Result<(), Error> {
        self.check(&statement.sql)?;
        let before = self.begin(&statement.sql)?;
        let may_repeat = before == State::Clean;
        let bound = self.settings.bounds.query;
        let outcome = match &mut self.connection {
            Some(connection) => connection.stream(statement, may_repeat, bound, &mut outlet).await,
            None => return Err(self.given_up(&statement.sql)),
        };
        // Unread rows remain: the lease stays busy and ends with its connection.
        if matches!(outcome, Ok(false)) {
            let (server, statement) = (Arc::clone(&self.settings.server), Some(Arc::clone(&statement.sql)));
            let cause = format!("its unread rows took longer than {} s", bound.as_secs_f64());
            self.failure = Some(Error::Lost { server, statement, cause });
            return Ok(());
        }
        let outcome = self.end(before, &statement.sql, Ok(outcome.map(|_| ())));
        self.note_outcome(&statement.sql, outcome)
    }

    pub(super) fn note_transaction(&mut self, is_open: bool) {
        match self.state {
            State::Clean | State::InTransaction if is_open => self.state = State::InTransaction,
            State::Clean | State::InTransaction => self.state = State::Clean,
            State::Busy | State::Broken => {}
        }
    }

    /// Why the transaction can no longer be committed.
    pub(super) fn failure(&self) -> Option<Error> {
        self.failure.clone()
    }

    pub(super) fn query_bound(&self) -> Duration {
        self.settings.bounds.query
    }

    /// True if another statement can run.
    pub(super) fn is_usable(&self) -> bool {
        matches!(self.state, State::Clean | State::InTransaction)
    }

    /// A statement that would begin or end a transaction is not run: the pool would give its connection to others in that state. Nor is
    /// one after which the server expects, or sends, other messages than those of a query.
    fn check(&self, sql: &Arc<str>) -> Result<(), Error> {
        self.check_open()?;
        if control::begins_or_ends_transaction(sql) {
            return Err(self.unusable(sql, "The client begins and ends transactions itself: use `transaction`"));
        }
        if control::copies_with_client(sql) {
            return Err(
                self.unusable(sql, "The client has no COPY FROM STDIN or TO STDOUT: use INSERT with many rows, and `each_row`")
            );
        }
        Ok(())
    }

    /// Fails when the server has ended the transaction: each further statement would be stored at once, by itself.
    fn check_open(&self) -> Result<(), Error> {
        match &self.failure {
            Some(failure) if self.is_in_transaction() == Some(false) => Err(failure.clone()),
            _ => Ok(()),
        }
    }

    /// Notes what a statement did to the transaction. On PostgreSQL an error aborts it until a savepoint is restored, and then
    /// nothing but that succeeds. The others tell whether a transaction is open.
    fn note_outcome<T>(&mut self, sql: &Arc<str>, outcome: Result<T, Error>) -> Result<T, Error> {
        let is_open = self.is_in_transaction();
        match (self.state, &outcome) {
            (State::InTransaction, Err(Error::Refused(refusal))) if is_open != Some(true) => {
                self.failure.get_or_insert_with(|| Error::RolledBack(refusal.clone()));
            }
            (State::InTransaction, Ok(_)) if is_open == Some(false) => {
                let failure =
                    self.unusable(sql, "The server ended the transaction with this statement, and stored what came before");
                self.failure = Some(failure.clone());
                self.state = State::Broken;
                return Err(failure);
            }
            (State::InTransaction, Ok(_)) => self.failure = None,
            (State::Clean, Ok(_)) if is_open == Some(true) => {
                self.state = State::Broken;
                return Err(self.unusable(sql, "The statement left a transaction open, which is rolled back: use `transaction`"));
            }
            _ => {}
        }
        outcome
    }

    fn is_in_transaction(&self) -> Option<bool> {
        self.connection.as_ref().and_then(Connection::is_in_transaction)
    }

    fn unusable(&self, sql: &Arc<str>, reason: &str) -> Error {
        let (server, statement) = (Arc::clone(&self.settings.server), Some(Arc::clone(sql)));
        Error::Unusable { server, statement, reason: reason.to_owned() }
    }

    fn begin(&mut self, sql: &Arc<str>) -> Result<State, Error> {
        if !self.is_usable() {
            return Err(self.given_up(sql));
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
        self.is_read_only |= matches!(&outcome, Err(Error::Refused(refusal)) if refusal.sqlstate == READ_ONLY);
        outcome
    }

    /// Why nothing runs any more on a connection whose state is not known.
    pub(super) fn given_up(&self, sql: &Arc<str>) -> Error {
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
            State::Clean if connection.is_in_transaction() != Some(true) && !self.is_read_only => self.idle.put_back(connection),
            // Dropping it closes it, and the server rolls back.
            State::Clean | State::InTransaction => drop(connection),
            State::Broken => connection.abort(),
            State::Busy => interrupt(connection, Arc::clone(&self.settings), self.permit.take()),
        }
    }
}
