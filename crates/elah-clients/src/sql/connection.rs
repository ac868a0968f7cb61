//! A connection to a server of either kind.

use std::sync::Arc;
use std::time::Duration;

use super::error::Error;
use super::mysql;
use super::outlet::Outlet;
use super::postgres;
use super::rows::Rows;
use super::settings::{Engine, Settings};
use super::statement::Statement;

pub(super) enum Connection {
    Postgres(Box<postgres::Connection>),
    MySql(Box<mysql::Connection>),
}

impl Connection {
    pub(super) async fn open(settings: &Arc<Settings>) -> Result<Connection, Error> {
        Ok(match settings.engine {
            Engine::Postgres => Connection::Postgres(Box::new(postgres::Connection::open(settings).await?)),
            Engine::MySql => Connection::MySql(Box::new(mysql::Connection::open(settings).await?)),
        })
    }

    /// True if it is known to be closed.
    pub(super) fn is_closed(&self) -> bool {
        match self {
            Connection::Postgres(connection) => connection.is_closed(),
            Connection::MySql(connection) => connection.is_closed(),
        }
    }

    /// Whether a transaction is open, by the server's last reply. PostgreSQL's crate does not tell.
    pub(super) fn is_in_transaction(&self) -> Option<bool> {
        match self {
            Connection::Postgres(_) => None,
            Connection::MySql(connection) => Some(connection.is_in_transaction()),
        }
    }

    pub(super) async fn ping(&mut self) -> Result<(), Error> {
        match self {
            Connection::Postgres(connection) => connection.ping().await,
            Connection::MySql(connection) => connection.ping().await,
        }
    }

    /// `may_repeat`: repeat a statement that the server refused to begin because it was prepared before a change of the schema.
    pub(super) async fn run(&mut self, statement: &Statement, may_repeat: bool) -> Result<Rows, Error> {
        match self {
            Connection::Postgres(connection) => connection.run(statement, may_repeat).await,
            Connection::MySql(connection) => connection.run(statement).await,
        }
    }

    pub(super) async fn command(&mut self, sql: &Arc<str>) -> Result<(), Error> {
        match self {
            Connection::Postgres(connection) => connection.command(sql).await,
            Connection::MySql(connection) => connection.command(sql).await,
        }
    }

    /// Sends the rows to `outlet` until it is closed; true if those were all. `bound` is the time limit of each batch. `may_repeat`
    /// is that of `run`.
    pub(super) async fn stream(
        &mut self,
        statement: &Statement,
        may_repeat: bool,
        bound: Duration,
        outlet: &mut Outlet,
    ) -> Result<bool, Error> {
        match self {
            Connection::Postgres(connection) => connection.stream(statement, may_repeat, bound, outlet).await,
            Connection::MySql(connection) => connection.stream(statement, bound, outlet).await,
        }
    }

    /// Closes the connection, whatever the server still has to say.
    pub(super) fn abort(self) {
        match self {
            Connection::Postgres(connection) => connection.abort(),
            Connection::MySql(connection) => drop(connection),
        }
    }

    /// Ends the running statement on the server.
    pub(super) async fn interrupt(&self, settings: &Arc<Settings>) {
        match self {
            Connection::Postgres(connection) => connection.interrupt().await,
            Connection::MySql(connection) => connection.interrupt(settings).await,
        }
    }
}
