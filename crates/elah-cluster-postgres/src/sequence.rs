//! The connection of a writer's numbered statements: one at a time, each in autocommit. No statement is ever cancelled, and none has a
//! time limit in the database: both would end the wait for the standby and leave a local commit. A connection without a reply is
//! given up, and the next one begins a new session, after which nothing of the old one can be stored.

use std::time::Duration;

use elah_clients::sql::{Settings, connect_postgres};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Row, Statement};

use crate::error::Error;
use crate::rows::Columns;
use crate::statements;

pub(crate) struct Sequence {
    client: Client,
    batch: Statement,
    beat: Statement,
    claim: Statement,
    release: Statement,
}

/// The reply to a new session.
pub(crate) struct Resolved {
    /// Batches up to this one are stored; no later one ever will be.
    pub(crate) batch: u64,
    pub(crate) session: u64,
    /// Shards that the writer owns, with their epochs.
    pub(crate) shards: Vec<(u16, u64)>,
}

impl Sequence {
    pub(crate) async fn open(settings: &Settings, patience: Duration) -> Result<Sequence, Error> {
        let (client, _) = connect_postgres(settings, |config| {
            config.application_name("elah writer").tcp_user_timeout(patience).keepalives_idle(patience);
            config.target_session_attrs(tokio_postgres::config::TargetSessionAttrs::ReadWrite).connect_timeout(patience);
        })
        .await?;
        let batch = client.prepare(statements::BATCH).await?;
        let beat = client.prepare(statements::BEAT).await?;
        let claim = client.prepare(statements::CLAIM).await?;
        let release = client.prepare(statements::RELEASE).await?;
        Ok(Sequence { client, batch, beat, claim, release })
    }

    /// Makes a new writer.
    pub(crate) async fn register(&self, node: &str, address: &str, socket: &str, version: i32) -> Result<u64, Error> {
        self.client.execute(statements::SWEEP_WRITERS, &[]).await?;
        let row = self.client.query_one(statements::REGISTER, &[&node, &address, &socket, &version]).await?;
        Ok(unsigned(row.get(0)))
    }

    /// `None` if the writer is fenced.
    pub(crate) async fn new_session(&self, writer: u64) -> Result<Option<Resolved>, Error> {
        let writer = signed(writer);
        let Some(row) = self.client.query_opt(statements::NEW_SESSION, &[&writer]).await? else { return Ok(None) };
        let shards = self.client.query(statements::OWN_SHARDS, &[&writer]).await?;
        Ok(Some(Resolved {
            batch: unsigned(row.get(0)),
            session: unsigned(row.get(1)),
            shards: shards.iter().map(|row| (shard(row.get(0)), unsigned(row.get(1)))).collect(),
        }))
    }

    /// Whether the fence let the batch through.
    pub(crate) async fn batch(&self, writer: u64, number: u64, session: u64, rows: &Columns) -> Result<bool, Error> {
        let (writer, number, session) = (signed(writer), signed(number), signed(session));
        let params: [&(dyn ToSql + Sync); 9] = [
            &writer,
            &number,
            &session,
            &rows.gone_tables,
            &rows.gone_keys,
            &rows.tables,
            &rows.keys,
            &rows.values,
            &rows.lifetimes_ms,
        ];
        passed(&self.client.query_one(&self.batch, &params).await?)
    }

    /// Whether the writer still is one.
    pub(crate) async fn beat(&self, writer: u64, session: u64) -> Result<bool, Error> {
        passed(&self.client.query_one(&self.beat, &[&signed(writer), &signed(session)]).await?)
    }

    /// The shards that were granted, with their epochs; `None` if the fence did not let the claim through.
    pub(crate) async fn claim(
        &self,
        writer: u64,
        number: u64,
        session: u64,
        shards: &[u16],
    ) -> Result<Option<Vec<(u16, u64)>>, Error> {
        let wanted: Vec<i32> = shards.iter().map(|shard| i32::from(*shard)).collect();
        let (writer, number, session) = (signed(writer), signed(number), signed(session));
        let row = self.client.query_one(&self.claim, &[&writer, &number, &session, &wanted]).await?;
        let shards: Option<Vec<i32>> = row.get(1);
        let epochs: Option<Vec<i64>> = row.get(2);
        let granted = shards.unwrap_or_default().into_iter().map(shard).zip(epochs.unwrap_or_default().into_iter().map(unsigned));
        Ok(passed(&row)?.then(|| granted.collect()))
    }

    /// Gives shards up. Whether the fence let it through.
    pub(crate) async fn release(&self, writer: u64, number: u64, session: u64, shards: &[u16]) -> Result<bool, Error> {
        let given: Vec<i32> = shards.iter().map(|shard| i32::from(*shard)).collect();
        let (writer, number, session) = (signed(writer), signed(number), signed(session));
        passed(&self.client.query_one(&self.release, &[&writer, &number, &session, &given]).await?)
    }

    /// Ends the writer.
    pub(crate) async fn end(&self, writer: u64) -> Result<(), Error> {
        self.client.execute(statements::END, &[&signed(writer)]).await?;
        Ok(())
    }
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

pub(crate) fn shard(number: i32) -> u16 {
    u16::try_from(number).unwrap_or(u16::MAX)
}
