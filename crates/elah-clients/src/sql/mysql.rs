//! A connection to MySQL or MariaDB.

mod decimals;
mod encode;

use std::sync::Arc;
use std::time::{Duration, Instant};

use mysql_async::consts::StatusFlags;
use mysql_async::prelude::{Protocol, Queryable};
use mysql_async::{
    BinaryProtocol, Conn, DriverError, IoError, Opts, OptsBuilder, QueryResult, ServerError, SslOpts, TextProtocol,
};
use tokio::time::timeout;

use super::error::{Error, Kind, Refusal};
use super::outlet::{BATCH_ROWS, Outlet};
use super::rows::{Rows, Set};
use super::settings::{Password, Settings, TlsMode};
use super::statement::Statement;

/// The server cannot prepare such a statement.
const NOT_PREPARABLE: u16 = 1295;

/// The server is stopping or full, has closed the connection, or blocks this host: the statement is not the cause.
const LOST_NUMBERS: [u16; 10] = [1040, 1053, 1077, 1079, 1080, 1129, 1152, 1184, 1203, 1927];

/// What tells servers apart, on MySQL and MariaDB.
const IDENTITY: &str = "CONCAT_WS('/', @@hostname, @@port, @@server_id, @@pid_file)";

/// The time limit of closing a connection politely.
const GOODBYE: Duration = Duration::from_millis(100);

pub(super) struct Connection {
    conn: Conn,
    is_in_transaction: bool,
    /// The last statement, when the connection keeps none.
    unkept: Option<mysql_async::Statement>,
    server: Arc<str>,
    /// The server's `max_allowed_packet`: it closes the connection at a longer statement.
    statement_bytes_max: usize,
    /// Which of the servers that an address may lead to: the number of a connection is that of one server. `None` where it does not say.
    identity: Option<String>,
    since: Instant,
}

/// The result of a connection attempt or a statement, as the crate returns it.
type Outcome<T> = Result<T, mysql_async::Error>;

impl Connection {
    pub(super) async fn open(settings: &Settings) -> Result<Connection, Error> {
        let server = Arc::clone(&settings.server);
        let failed = |cause| connect_error(&server, &cause);
        let mut conn = connect(settings).await.map_err(failed)?;
        let since = Instant::now();
        let told = match conn.query_first(format!("SELECT @@max_allowed_packet, {IDENTITY}")).await {
            // It speaks the protocol, and has other variables.
            Err(mysql_async::Error::Server(_)) => conn.query_first("SELECT @@max_allowed_packet, NULL").await,
            told => told,
        };
        let (statement_bytes_max, identity) = told.map_err(failed)?.unwrap_or((usize::MAX, None));
        Ok(Connection { conn, is_in_transaction: false, unkept: None, server, statement_bytes_max, identity, since })
    }

    pub(super) fn is_closed(&self) -> bool {
        self.conn.is_disconnected()
    }

    /// Whether a transaction is open, or begins with the next statement because autocommit is off.
    pub(super) fn is_in_transaction(&self) -> bool {
        self.is_in_transaction
    }

    pub(super) async fn ping(&mut self) -> Result<(), Error> {
        self.conn.ping().await.map_err(|cause| error(&self.server, None, cause))
    }

    pub(super) async fn run(&mut self, statement: &Statement) -> Result<Rows, Error> {
        let outcome = self.run_unnoted(statement).await;
        self.note_transaction(outcome).await
    }

    /// After a change of the schema the server prepares a statement again by itself. Nothing that may have begun to run is repeated
    /// here: a procedure may have committed a part before it failed.
    async fn run_unnoted(&mut self, statement: &Statement) -> Result<Rows, Error> {
        self.check(statement)?;
        let outcome = match self.prepare(statement).await {
            Ok(prepared) => self.run_prepared(&prepared, statement).await,
            Err(cause) if number(&cause) == Some(NOT_PREPARABLE) && statement.params.is_empty() => {
                Box::pin(self.run_text(statement)).await
            }
            Err(cause) => return Err(error(&self.server, Some(&statement.unbound()), cause)),
        };
        outcome.map_err(|cause| error(&self.server, Some(statement), cause))
    }

    pub(super) async fn command(&mut self, sql: &Arc<str>) -> Result<(), Error> {
        let statement = Statement { sql: Arc::clone(sql), params: Arc::new([]) };
        let outcome = self.conn.query_drop(&**sql).await.map_err(|cause| error(&self.server, Some(&statement), cause));
        self.note_transaction(outcome).await
    }

    pub(super) async fn stream(&mut self, statement: &Statement, bound: Duration, outlet: &mut Outlet) -> Result<bool, Error> {
        let outcome = self.stream_unnoted(statement, bound, outlet).await;
        match timeout(bound, self.note_transaction(outcome)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(Error::QueryTimeout { server: Arc::clone(&self.server), statement: Arc::clone(&statement.sql), bound }),
        }
    }

    async fn stream_unnoted(&mut self, statement: &Statement, bound: Duration, outlet: &mut Outlet) -> Result<bool, Error> {
        self.check(statement)?;
        let server = Arc::clone(&self.server);
        let failed = |cause| error(&server, Some(statement), cause);
        let overdue = |_| Error::QueryTimeout { server: Arc::clone(&server), statement: Arc::clone(&statement.sql), bound };
        let prepared = timeout(bound, self.prepare(statement)).await.map_err(overdue)?;
        let prepared = prepared.map_err(|cause| error(&server, Some(&statement.unbound()), cause))?;
        let begun = timeout(bound, self.conn.exec_iter(&prepared, encode::params(statement))).await.map_err(overdue)?;
        let mut result = begun.map_err(failed)?;
        let columns = result.columns().unwrap_or_default();
        loop {
            let mut rows = Vec::new();
            let is_last = timeout(bound, fill(&mut result, &mut rows)).await.map_err(overdue)?.map_err(failed)?;
            let rows = Rows {
                set: Set::MySql { columns: Arc::clone(&columns), rows },
                server: Arc::clone(&server),
                sql: Arc::clone(&statement.sql),
                affected_rows: 0,
                last_insert_id: None,
            };
            if !rows.is_empty() && !outlet.deliver(rows).await && !is_last {
                return Ok(false);
            }
            if is_last {
                timeout(bound, result.drop_result()).await.map_err(overdue)?.map_err(failed)?;
                return Ok(true);
            }
        }
    }

    /// Kills the connection and its statement through another one. The server would not notice that nobody waits.
    pub(super) async fn interrupt(&self, settings: &Settings) {
        let id = self.conn.id();
        if let Ok(mut killer) = connect(settings).await {
            if let Ok(true) = self.is_of_server(&mut killer).await {
                let _ = killer.query_drop(format!("KILL CONNECTION {id}")).await;
            }
            let _ = timeout(GOODBYE, killer.disconnect()).await;
        }
    }

    /// Whether another connection has come to the server of this one, which has run without a stop: elsewhere, and after its next
    /// start, another client's connection has the number of this one.
    async fn is_of_server(&self, other: &mut Conn) -> Outcome<bool> {
        let identity: Option<Option<String>> = other.query_first(format!("SELECT {IDENTITY}")).await?;
        let uptime: Option<(String, u64)> = other.query_first("SHOW GLOBAL STATUS LIKE 'Uptime'").await?;
        let has_run = uptime.is_some_and(|(_, seconds)| Duration::from_secs(seconds + 1) >= self.since.elapsed());
        Ok(self.identity.is_some() && identity.flatten() == self.identity && has_run)
    }

    /// Refuses what the server would refuse by closing the connection, or store as something else.
    fn check(&self, statement: &Statement) -> Result<(), Error> {
        let (bytes, allowed) = (encode::bytes(statement), self.statement_bytes_max);
        let reason = if bytes > allowed {
            format!("The statement and its parameters have {bytes} bytes, above the server's max_allowed_packet of {allowed}")
        } else if let Some(year) = encode::unknown_year(statement) {
            format!("A parameter is in the year {year}, and the server knows the years 0 to 9999")
        } else {
            return Ok(());
        };
        Err(Error::Unusable { server: Arc::clone(&self.server), statement: Some(Arc::clone(&statement.sql)), reason })
    }

    /// Notes what the last reply says of the transaction. An error says nothing of it, so the server is asked: some errors end
    /// the transaction, and a procedure that fails may leave one open.
    async fn note_transaction<T>(&mut self, outcome: Result<T, Error>) -> Result<T, Error> {
        match outcome {
            Err(Error::Refused(_)) => Box::pin(self.ping()).await?,
            Err(_) => return outcome,
            Ok(_) => {}
        }
        if let Some(reply) = self.conn.last_ok_packet() {
            let flags = reply.status_flags();
            self.is_in_transaction =
                flags.contains(StatusFlags::SERVER_STATUS_IN_TRANS) || !flags.contains(StatusFlags::SERVER_STATUS_AUTOCOMMIT);
        }
        outcome
    }

    /// Prepares a statement, or finds it prepared by an earlier call. The crate closes statements that it no longer keeps, but not
    /// those that it never kept.
    async fn prepare(&mut self, statement: &Statement) -> Outcome<mysql_async::Statement> {
        if let Some(unkept) = self.unkept.take() {
            self.conn.close(unkept).await?;
        }
        let prepared = self.conn.prep(&*decimals::exact(statement)).await?;
        if self.conn.opts().stmt_cache_size() == 0 {
            self.unkept = Some(prepared.clone());
        }
        Ok(prepared)
    }

    async fn run_prepared(&mut self, prepared: &mysql_async::Statement, statement: &Statement) -> Outcome<Rows> {
        let result = self.conn.exec_iter(prepared, encode::params(statement)).await?;
        read::<BinaryProtocol>(result, &self.server, statement).await
    }

    async fn run_text(&mut self, statement: &Statement) -> Outcome<Rows> {
        let result = self.conn.query_iter(&*statement.sql).await?;
        read::<TextProtocol>(result, &self.server, statement).await
    }
}

/// All rows of the first result; a procedure may return more.
async fn read<P: Protocol>(mut result: QueryResult<'_, '_, P>, server: &Arc<str>, statement: &Statement) -> Outcome<Rows> {
    let columns = result.columns().unwrap_or_default();
    let mut rows = Vec::new();
    while let Some(row) = result.next().await? {
        rows.push(row);
    }
    let (affected_rows, last_insert_id) = (result.affected_rows(), result.last_insert_id());
    result.drop_result().await?;
    let (server, sql) = (Arc::clone(server), Arc::clone(&statement.sql));
    Ok(Rows { set: Set::MySql { columns, rows }, server, sql, affected_rows, last_insert_id })
}

/// Reads one batch; true when there are no more rows.
async fn fill<P: Protocol>(result: &mut QueryResult<'_, '_, P>, rows: &mut Vec<mysql_async::Row>) -> Outcome<bool> {
    while rows.len() < BATCH_ROWS {
        match result.next().await? {
            Some(row) => rows.push(row),
            None => return Ok(true),
        }
    }
    Ok(false)
}

async fn connect(settings: &Settings) -> Outcome<Conn> {
    match Conn::new(options(settings, settings.tls_mode)).await {
        Err(mysql_async::Error::Driver(DriverError::NoClientSslFlagFromServer)) if settings.tls_mode == TlsMode::Prefer => {
            Conn::new(options(settings, TlsMode::Disable)).await
        }
        connected => connected,
    }
}

fn options(settings: &Settings, tls_mode: TlsMode) -> Opts {
    let tls = match tls_mode {
        TlsMode::Disable => None,
        TlsMode::Prefer | TlsMode::Require => Some(SslOpts::default().with_danger_accept_invalid_certs(true)),
        TlsMode::VerifyFull => {
            let authorities = settings.ca_file.iter().cloned().map(Into::into).collect();
            Some(SslOpts::default().with_root_certs(authorities).with_disable_built_in_roots(true))
        }
    };
    OptsBuilder::default()
        .ip_or_hostname(settings.hosts[0].name.clone())
        .tcp_port(settings.hosts[0].port)
        .socket(settings.socket.as_ref().map(|path| path.display().to_string()))
        .user(Some(settings.user.clone()))
        .pass(settings.password.clone().map(|Password(password)| password))
        .db_name(Some(settings.database.clone()))
        .prefer_socket(false)
        .stmt_cache_size(settings.bounds.statements_max)
        // Given both, the crate does not ask the server for them: `Connection::open` asks, and the crate's pool is not used.
        .max_allowed_packet(Some(usize::MAX))
        .wait_timeout(Some(usize::MAX))
        // An UPDATE counts the rows that it found, as on PostgreSQL.
        .client_found_rows(true)
        .init(vec!["SET time_zone = '+00:00'"])
        .ssl_opts(tls)
        .into()
}

fn number(cause: &mysql_async::Error) -> Option<u16> {
    match cause {
        mysql_async::Error::Server(refusal) => Some(refusal.code),
        _ => None,
    }
}

fn error(server: &Arc<str>, statement: Option<&Statement>, cause: mysql_async::Error) -> Error {
    let server = Arc::clone(server);
    let sql = statement.map(|statement| Arc::clone(&statement.sql));
    match cause {
        mysql_async::Error::Server(refusal) if LOST_NUMBERS.contains(&refusal.code) => {
            Error::Lost { server, statement: sql, cause: refusal.message }
        }
        mysql_async::Error::Server(refusal) => {
            let message = without_entry(&refusal.message);
            let message = statement.map_or_else(|| message.clone(), |statement| statement.redacted(message.clone()));
            refused(server, sql, &refusal, message)
        }
        mysql_async::Error::Driver(DriverError::StmtParamsMismatch { required, supplied }) => Error::Unusable {
            server,
            statement: sql,
            reason: format!("The statement needs {required} parameters, but got {supplied}"),
        },
        mysql_async::Error::Driver(DriverError::MixedParams) => Error::Unusable {
            server,
            statement: sql,
            reason: "The statement has parameters by name, which are written ? here".to_owned(),
        },
        other => Error::Lost { server, statement: sql, cause: plain(&other) },
    }
}

fn connect_error(server: &Arc<str>, cause: &mysql_async::Error) -> Error {
    let server = Arc::clone(server);
    match cause {
        mysql_async::Error::Server(refusal) if Kind::of(&refusal.state, Some(refusal.code)) == Kind::Authentication => {
            refused(server, None, refusal, refusal.message.clone())
        }
        other => Error::Unreachable { server, cause: plain(other) },
    }
}

fn refused(server: Arc<str>, statement: Option<Arc<str>>, refusal: &ServerError, message: String) -> Error {
    Error::Refused(Box::new(Refusal {
        kind: Kind::of(&refusal.state, Some(refusal.code)),
        server,
        statement,
        sqlstate: refusal.state.clone(),
        number: Some(refusal.code),
        message,
    }))
}

/// `Duplicate entry 'a-b' for key 'k'` contains the values of a row.
fn without_entry(message: &str) -> String {
    match (message.strip_prefix("Duplicate entry "), message.rfind(" for key ")) {
        (Some(_), Some(key)) => format!("Duplicate entry{}", &message[key..]),
        _ => message.to_owned(),
    }
}

/// A cause without the crate's layers of names.
fn plain(cause: &mysql_async::Error) -> String {
    match cause {
        mysql_async::Error::Io(IoError::Io(cause)) => cause.to_string(),
        mysql_async::Error::Io(IoError::Tls(cause)) => cause.to_string(),
        mysql_async::Error::Driver(cause) => cause.to_string(),
        mysql_async::Error::Server(refusal) => refusal.message.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicate_entries_are_not_shown() {
        assert_eq!(without_entry("Duplicate entry 'a' for key 'b' for key 'PRIMARY'"), "Duplicate entry for key 'PRIMARY'");
        assert_eq!(without_entry("Table 'x' doesn't exist"), "Table 'x' doesn't exist");
    }
}
