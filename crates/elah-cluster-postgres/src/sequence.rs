//! The writer's connection. It never cancels a statement and sets no time limit in the database: both would end the wait for the
//! standby and leave a local commit. Only the wait for the row of the writer, which a statement of the last connection may hold, is
//! limited: otherwise each connection would leave one more behind. A connection without a reply is given up, and the next one
//! begins a new session, after which nothing of the old one can be stored.

use std::cell::RefCell;
use std::collections::HashMap;
use std::time::Duration;

use elah_clients::sql::{Settings, connect_postgres};
use elah_cluster::{Claimed, Opened, Reply, Statement as Step};
use tokio_postgres::config::TargetSessionAttrs;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Config, Row, Statement};

use crate::error::Error;
use crate::rows::Columns;
use crate::statements;

pub(crate) struct Sequence {
    client: Client,
    /// When its server was started, which tells servers apart; `None` where it does not say.
    pub(crate) server: Option<i64>,
    patience: Duration,
    batch: Statement,
    batch_put: Statement,
    batch_empty: Statement,
    beat: Statement,
    claim: Statement,
    release: Statement,
    /// The numbers of tables by their names, as this session has seen them: a failover or a restored dump can lose one.
    tables: RefCell<HashMap<String, i32>>,
}

/// What a new writer tells of itself.
#[derive(Clone, Debug)]
pub(crate) struct Registration {
    pub(crate) writer: u64,
    pub(crate) node: String,
    pub(crate) address: String,
    pub(crate) socket: String,
    pub(crate) version: u32,
    pub(crate) lease_ms: u64,
}

impl Sequence {
    pub(crate) async fn open(settings: &Settings, patience: Duration) -> Result<Sequence, Error> {
        let adjust = |config: &mut Config| {
            config.application_name("elah writer").tcp_user_timeout(patience).keepalives_idle(patience);
            config.target_session_attrs(TargetSessionAttrs::ReadWrite).connect_timeout(patience);
        };
        let (client, ..) = connect_postgres(settings, adjust, || ()).await?;
        let server = client.query_one(statements::SERVER, &[]).await.ok().and_then(|row| row.try_get(0).ok());
        let batch = client.prepare(statements::BATCH).await?;
        let batch_put = client.prepare(statements::BATCH_PUT).await?;
        let batch_empty = client.prepare(statements::BATCH_EMPTY).await?;
        let beat = client.prepare(statements::BEAT).await?;
        let claim = client.prepare(statements::CLAIM).await?;
        let release = client.prepare(statements::RELEASE).await?;
        Ok(Sequence { client, server, patience, batch, batch_put, batch_empty, beat, claim, release, tables: RefCell::default() })
    }

    /// Writes the tables' numbers in the rows of a batch. A table gets a number at its first use.
    pub(crate) async fn number(&self, rows: &mut Columns) -> Result<(), Error> {
        let mut numbers = Vec::with_capacity(rows.names.len());
        for name in &rows.names {
            numbers.push(self.table(name).await?);
        }
        rows.number(&numbers);
        Ok(())
    }

    async fn table(&self, name: &str) -> Result<i32, Error> {
        let known = self.tables.borrow().get(name).copied();
        if let Some(number) = known {
            return Ok(number);
        }
        loop {
            // Of two who make the number at the same moment, one sees none: the other's is there at the next look.
            if let Some(row) = self.client.query_opt(statements::TABLE, &[&name]).await? {
                let number = row.try_get(0)?;
                self.tables.borrow_mut().insert(name.to_owned(), number);
                return Ok(number);
            }
        }
    }

    /// Runs a statement of the writer; `rows` are those of a batch.
    pub(crate) async fn run(&self, own: &Registration, serial: u64, step: &Step, rows: Option<&Columns>) -> Result<Reply, Error> {
        let (writer, number) = (signed(own.writer), signed(serial));
        match step {
            Step::Open { register } => self.begin(own, number, *register).await.map(Reply::Opened),
            Step::Batch { session, after, .. } => {
                let (session, after) = (signed(*session), signed(*after));
                let nothing = Columns::default();
                let rows = rows.unwrap_or(&nothing);
                let params: [&(dyn ToSql + Sync); 10] = [
                    &writer,
                    &number,
                    &session,
                    &after,
                    &rows.tables,
                    &rows.keys,
                    &rows.values,
                    &rows.lifetimes_ms,
                    &rows.gone_tables,
                    &rows.gone_keys,
                ];
                // Most batches delete nothing, and each part of a statement takes its time in the database.
                let (statement, params) = match (rows.keys.is_empty(), rows.gone_keys.is_empty()) {
                    (_, false) => (&self.batch, &params[..]),
                    (false, true) => (&self.batch_put, &params[..8]),
                    (true, true) => (&self.batch_empty, &params[..4]),
                };
                Ok(Reply::Done(passed(&self.client.query_one(statement, params).await?)?))
            }
            Step::Beat { session, after, ready } => {
                let params: [&(dyn ToSql + Sync); 5] = [&writer, &number, &signed(*session), &signed(*after), ready];
                Ok(Reply::Done(passed(&self.client.query_one(&self.beat, &params).await?)?))
            }
            Step::Claim { session, after, shards } => {
                let params: [&(dyn ToSql + Sync); 5] = [&writer, &number, &signed(*session), &signed(*after), &numbers(shards)];
                let row = self.client.query_one(&self.claim, &params).await?;
                let shards: Option<Vec<i32>> = row.try_get(1)?;
                let epochs: Option<Vec<i64>> = row.try_get(2)?;
                let claims = shards.unwrap_or_default().into_iter().zip(epochs.unwrap_or_default()).map(claimed).collect();
                Ok(Reply::Claims(passed(&row)?.then_some(claims)))
            }
            Step::Release { session, after, shards } => {
                let params: [&(dyn ToSql + Sync); 5] = [&writer, &number, &signed(*session), &signed(*after), &numbers(shards)];
                Ok(Reply::Done(passed(&self.client.query_one(&self.release, &params).await?)?))
            }
        }
    }

    async fn open_session(&self, writer: i64, serial: i64) -> Result<Option<Row>, Error> {
        self.client.batch_execute(&format!("SET lock_timeout = {}", self.patience.as_millis() / 2)).await?;
        let opened = self.client.query_opt(statements::OPEN, &[&writer, &serial]).await?;
        self.client.batch_execute("RESET lock_timeout").await?;
        Ok(opened)
    }

    async fn begin(&self, own: &Registration, serial: i64, register: bool) -> Result<Opened, Error> {
        let writer = signed(own.writer);
        self.tables.borrow_mut().clear();
        if register {
            self.client.execute(statements::SWEEP_WRITERS, &[]).await?;
            let version = i32::try_from(own.version).unwrap_or(i32::MAX);
            let lease_ms = signed(own.lease_ms);
            let params: [&(dyn ToSql + Sync); 6] = [&writer, &own.node, &own.address, &own.socket, &version, &lease_ms];
            self.client.execute(statements::REGISTER, &params).await?;
            let spoken: i32 = self.client.query_one(statements::SPOKEN, &[]).await?.try_get(0)?;
            if spoken > version {
                return Err(Error::Later { spoken: spoken.unsigned_abs(), own: own.version });
            }
        }
        let Some(row) = self.open_session(writer, serial).await? else {
            return Ok(match self.client.query_opt(statements::FATE, &[&writer]).await? {
                Some(row) if row.try_get(1)? => Opened::Fenced { sequence: unsigned(row.try_get(0)?) },
                _ => Opened::Missing,
            });
        };
        // In a statement of its own: one that has waited for a lock still reads what there was before.
        let shards = self.client.query(statements::OWN_SHARDS, &[&writer]).await?;
        let shards = shards.iter().map(|row| claimed((row.get(0), row.get(1)))).collect();
        Ok(Opened::Session { sequence: unsigned(row.try_get(0)?), shards })
    }
}

fn claimed((shard, epoch): (i32, i64)) -> Claimed {
    Claimed { shard: shard.unsigned_abs(), epoch: unsigned(epoch) }
}

fn numbers(shards: &[u32]) -> Vec<i32> {
    shards.iter().map(|shard| i32::try_from(*shard).unwrap_or(i32::MAX)).collect()
}

fn passed(row: &Row) -> Result<bool, Error> {
    Ok(row.try_get::<_, i64>(0)? == 1)
}

pub(crate) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(crate) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
