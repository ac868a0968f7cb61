//! A connection to PostgreSQL.

mod encode;
mod statements;

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt, TryStreamExt};
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_postgres::config::{SslMode, TargetSessionAttrs};
use tokio_postgres::error::Severity;
use tokio_postgres::{AsyncMessage, Client, Config, RowStream, SimpleQueryMessage};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::error::{Error, Kind, Refusal};
use super::outlet::{BATCH_ROWS, Outlet};
use super::rows::{Rows, Set};
use super::settings::{Password, Settings, Target, TlsMode};
use super::statement::Statement;
use super::tls;
use statements::Statements;

/// Connects to the first host that replies in its part of the time, and accepts writes if that is wanted, and signs in. The connection
/// is one that `adjust` may have set up further. Its work runs on the current runtime. It ends when the server closes, when the client
/// is dropped and the server has replied to all, or when it is aborted. It calls `notified` for each notification of a channel that the
/// connection listens to.
pub async fn connect(
    settings: &Settings,
    adjust: impl FnOnce(&mut Config),
    notified: impl Fn() + Clone + Send + 'static,
) -> Result<(Client, MakeRustlsConnect, AbortHandle), Error> {
    let tls = MakeRustlsConnect::new(tls::client_config(settings)?);
    let mut config = Config::new();
    config.user(&settings.user).dbname(&settings.database).connect_timeout(settings.bounds.connect);
    config.application_name("elah").ssl_mode(match settings.tls_mode {
        TlsMode::Disable => SslMode::Disable,
        TlsMode::Prefer => SslMode::Prefer,
        TlsMode::Require | TlsMode::VerifyFull => SslMode::Require,
    });
    if let Some(Password(password)) = &settings.password {
        config.password(password);
    }
    if settings.target == Target::ReadWrite {
        config.target_session_attrs(TargetSessionAttrs::ReadWrite);
    }
    adjust(&mut config);
    let limit = config.get_connect_timeout().copied().unwrap_or(settings.bounds.connect);
    // A host that accepts connections and then says nothing must not take the time of those that follow.
    let part = limit / u32::try_from(settings.hosts.len()).unwrap_or(u32::MAX);
    let mut causes = Vec::new();
    for host in &settings.hosts {
        let mut config = config.clone();
        match &settings.socket {
            Some(folder) => config.host_path(folder),
            None => config.host(&host.name),
        };
        config.port(host.port);
        let (opened_at, mut replaced_at) = (Instant::now(), settings.replaced_at.subscribe());
        let deadline = opened_at + part;
        let cause = match timeout_at(deadline, config.connect(tls.clone())).await {
            Ok(Ok((client, mut connection))) => {
                let notified = notified.clone();
                let work = async move {
                    while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
                        if matches!(message, AsyncMessage::Notification(_)) {
                            notified();
                        }
                    }
                };
                let work = tokio::spawn(async move {
                    tokio::select! {
                        () = work => {}
                        Ok(_) = replaced_at.wait_for(|at| opened_at.into_std() < *at) => {}
                    }
                });
                let work = Unsettled::of(work.abort_handle());
                match timeout_at(deadline, refuse_standby(&client, settings)).await {
                    Ok(Ok(())) => return Ok((client, tls, work.settled())),
                    Ok(Err(cause)) => cause,
                    Err(_) => format!("no reply within {} s", part.as_secs_f64()),
                }
            }
            Ok(Err(cause)) => match connect_error(&settings.server, &cause) {
                Error::Unreachable { cause, .. } => cause,
                refused => return Err(refused),
            },
            Err(_) => format!("no reply within {} s", part.as_secs_f64()),
        };
        causes.push(if settings.hosts.len() > 1 { format!("{}:{}: {cause}", host.name, host.port) } else { cause });
    }
    Err(Error::Unreachable { server: Arc::clone(&settings.server), cause: causes.join("; ") })
}

/// The work of a connection whose reply is waited for. Dropped, it ends: otherwise it would wait for the reply, and hold the connection,
/// for ever.
struct Unsettled {
    work: AbortHandle,
    has_reply: bool,
}

impl Unsettled {
    fn of(work: AbortHandle) -> Unsettled {
        Unsettled { work, has_reply: false }
    }

    fn settled(mut self) -> AbortHandle {
        self.has_reply = true;
        self.work.clone()
    }
}

impl Drop for Unsettled {
    fn drop(&mut self) {
        if !self.has_reply {
            self.work.abort();
        }
    }
}

/// Fails if the server is a standby and another one is wanted.
async fn refuse_standby(client: &Client, settings: &Settings) -> Result<(), String> {
    if settings.target != Target::Primary {
        return Ok(());
    }
    let reply = client.simple_query("SELECT pg_is_in_recovery()").await.map_err(|cause| chain(&cause))?;
    let is_standby = reply.iter().any(|part| matches!(part, SimpleQueryMessage::Row(row) if row.get(0) == Some("t")));
    if is_standby { Err("the server is a standby".to_owned()) } else { Ok(()) }
}

/// What the server may say of a statement that it prepared before a change of the schema: its rows have other columns, an
/// intermediate pooler has lost it, or the type of a parameter is gone.
const STALE_STATES: [&str; 3] = ["0A000", "26000", "XX000"];

/// Classes of errors that such a statement may cause: the server converts a parameter to the type that its column had then.
const STALE_CLASSES: [&str; 2] = ["22", "42"];

fn may_be_stale(sqlstate: &str) -> bool {
    STALE_STATES.contains(&sqlstate) || STALE_CLASSES.iter().any(|class| sqlstate.starts_with(class))
}

/// The most parameters of a statement; the protocol counts them in 16 bits.
const PARAMS_MAX: usize = 65_535;

pub(super) struct Connection {
    client: Client,
    statements: Statements,
    tls: MakeRustlsConnect,
    server: Arc<str>,
    work: AbortHandle,
}

impl Connection {
    pub(super) async fn open(settings: &Settings) -> Result<Connection, Error> {
        let server = Arc::clone(&settings.server);
        let (client, tls, work) = connect(settings, |_| (), || ()).await?;
        let unsettled = Unsettled::of(work.clone());
        let connection = Connection { client, statements: Statements::new(settings.bounds.statements_max), tls, server, work };
        connection.command(&"SET TIME ZONE 'UTC'".into()).await?;
        unsettled.settled();
        Ok(connection)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    pub(super) async fn ping(&self) -> Result<(), Error> {
        let unsettled = Unsettled::of(self.work.clone());
        self.client.check_connection().await.map_err(|cause| self.error(None, &cause))?;
        unsettled.settled();
        Ok(())
    }

    pub(super) async fn run(&mut self, statement: &Statement, may_repeat: bool) -> Result<Rows, Error> {
        let (prepared, stream) = self.send(statement, may_repeat).await?;
        let mut stream = pin!(stream);
        let mut rows = Vec::new();
        while let Some(row) = stream.try_next().await.map_err(|cause| self.error(Some(statement), &cause))? {
            rows.push(row);
        }
        Ok(self.rows(prepared, rows, stream.rows_affected(), statement))
    }

    pub(super) async fn command(&self, sql: &Arc<str>) -> Result<(), Error> {
        let statement = Statement { sql: Arc::clone(sql), params: Arc::new([]) };
        self.client.batch_execute(sql).await.map_err(|cause| self.error(Some(&statement), &cause))
    }

    pub(super) async fn stream(
        &mut self,
        statement: &Statement,
        may_repeat: bool,
        bound: Duration,
        outlet: &mut Outlet,
    ) -> Result<bool, Error> {
        let server = Arc::clone(&self.server);
        let overdue = |_| Error::QueryTimeout { server: Arc::clone(&server), statement: Arc::clone(&statement.sql), bound };
        let (prepared, stream) = timeout(bound, self.send(statement, may_repeat)).await.map_err(overdue)??;
        let mut batches = pin!(stream.try_ready_chunks(BATCH_ROWS));
        loop {
            let batch = timeout(bound, batches.next()).await.map_err(overdue)?;
            let Some(batch) = batch else { return Ok(true) };
            let batch = batch.map_err(|cause| self.error(Some(statement), &cause.1))?;
            if !outlet.deliver(self.rows(prepared.clone(), batch, None, statement)).await {
                return Ok(false);
            }
        }
    }

    /// Closes it without waiting for the replies that are due: in the middle of a COPY there will be none. The server rolls back.
    pub(super) fn abort(self) {
        self.work.abort();
    }

    /// Asks the server, on a separate connection, to end the statement of this one.
    pub(super) async fn interrupt(&self) {
        let _ = self.client.cancel_token().cancel_query(self.tls.clone()).await;
    }

    /// Sends a statement, and waits until the server has bound its parameters and planned it. A refusal before that has no effect:
    /// the statement has not begun to run. If an earlier call prepared it, it is then prepared again: now if `may_repeat`, otherwise
    /// by the next call. A statement that fails later is never repeated: a procedure may have committed a part.
    async fn send(&mut self, statement: &Statement, may_repeat: bool) -> Result<(tokio_postgres::Statement, RowStream), Error> {
        let was_kept = self.statements.has(&statement.sql);
        let sent = self.send_once(statement).await;
        match &sent {
            Err(Error::Refused(refusal)) if was_kept && may_be_stale(&refusal.sqlstate) => {
                self.statements.forget(&statement.sql);
                if may_repeat { Box::pin(self.send_once(statement)).await } else { sent }
            }
            _ => sent,
        }
    }

    async fn send_once(&mut self, statement: &Statement) -> Result<(tokio_postgres::Statement, RowStream), Error> {
        if statement.params.len() > PARAMS_MAX {
            return Err(
                self.unusable(statement, format!("A statement takes {PARAMS_MAX} parameters, not {}", statement.params.len()))
            );
        }
        if statement.sql.contains('\0') {
            return Err(self.unusable(statement, "A statement for PostgreSQL has no NUL".to_owned()));
        }
        let prepared = match self.statements.get(&statement.sql) {
            Some(prepared) => prepared,
            None => {
                let numbered = super::placeholders::numbered(&statement.sql);
                let prepared = Box::pin(self.client.prepare(&numbered)).await;
                let prepared = prepared.map_err(|cause| self.error(Some(&statement.unbound()), &cause))?;
                self.statements.keep(Arc::clone(&statement.sql), prepared.clone());
                prepared
            }
        };
        let (wanted, given) = (prepared.params().len(), statement.params.len());
        if wanted != given {
            return Err(self.unusable(statement, format!("The statement needs {wanted} parameters, but got {given}")));
        }
        // Returns when the server has bound the statement; errors of its run come with the rows.
        let sent = self.client.query_raw(&prepared, statement.params.iter()).await;
        Ok((prepared, sent.map_err(|cause| self.error(Some(statement), &cause))?))
    }

    fn rows(
        &self,
        prepared: tokio_postgres::Statement,
        rows: Vec<tokio_postgres::Row>,
        affected: Option<u64>,
        statement: &Statement,
    ) -> Rows {
        Rows {
            set: Set::Postgres { statement: prepared, rows },
            server: Arc::clone(&self.server),
            sql: Arc::clone(&statement.sql),
            affected_rows: affected.unwrap_or(0),
            last_insert_id: None,
        }
    }

    fn unusable(&self, statement: &Statement, reason: String) -> Error {
        Error::Unusable { server: Arc::clone(&self.server), statement: Some(Arc::clone(&statement.sql)), reason }
    }

    fn error(&self, statement: Option<&Statement>, cause: &tokio_postgres::Error) -> Error {
        let server = Arc::clone(&self.server);
        let sql = statement.map(|statement| Arc::clone(&statement.sql));
        match cause.as_db_error() {
            Some(refusal) if !ends_connection(refusal) => {
                let message = refusal.message().to_owned();
                let message = statement.map_or_else(|| message.clone(), |statement| statement.redacted(message.clone()));
                refused(server, sql, refusal, message)
            }
            Some(refusal) => Error::Lost { server, statement: sql, cause: refusal.message().to_owned() },
            None => Error::Lost { server, statement: sql, cause: chain(cause) },
        }
    }
}

/// Shutting down, crashed, not accepting yet, or disconnected: the statement is not the cause.
fn ends_connection(refusal: &tokio_postgres::error::DbError) -> bool {
    let state = refusal.code().code();
    state.starts_with("08") || matches!(state, "57P01" | "57P02" | "57P03" | "57P05" | "25P03") || is_fatal(refusal)
}

fn is_fatal(refusal: &tokio_postgres::error::DbError) -> bool {
    matches!(refusal.parsed_severity(), Some(Severity::Fatal | Severity::Panic))
}

fn connect_error(server: &Arc<str>, cause: &tokio_postgres::Error) -> Error {
    let server = Arc::clone(server);
    match cause.as_db_error() {
        Some(refusal) if Kind::of(refusal.code().code(), None) == Kind::Authentication => {
            refused(server, None, refusal, refusal.message().to_owned())
        }
        Some(refusal) => Error::Unreachable { server, cause: refusal.message().to_owned() },
        None => Error::Unreachable { server, cause: chain(cause) },
    }
}

fn refused(server: Arc<str>, statement: Option<Arc<str>>, refusal: &tokio_postgres::error::DbError, message: String) -> Error {
    let sqlstate = refusal.code().code().to_owned();
    Error::Refused(Box::new(Refusal { kind: Kind::of(&sqlstate, None), server, statement, sqlstate, number: None, message }))
}

/// An error with its causes, in one line.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}
