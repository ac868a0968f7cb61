//! Reads of stored rows, on a connection of their own, so that they wait for no batch. Many run at a time. The one for the board listens to
//! what other processes announce, too.

use std::cell::RefCell;
use std::collections::HashMap;
use std::future::pending;
use std::ops::Bound;
use std::rc::Rc;
use std::sync::Arc;

use elah_clients::sql::{Settings, connect_postgres};
use elah_cluster::Seen;
use elah_store::{Entry, Range};
use futures_util::lock::Mutex;
use tokio::sync::Notify;
use tokio::time::timeout;
use tokio_postgres::config::TargetSessionAttrs;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Config, Row, Statement};

use crate::error::Error;
use crate::sequence::signed;
use crate::statements;

pub(crate) struct Reader {
    settings: Arc<Settings>,
    open: Mutex<Option<Rc<Open>>>,
    /// Told when a process announces that it has come, or that shards have other owners; `None` for a connection that does not listen.
    announced: Option<Arc<Notify>>,
}

/// A connection and its prepared statements, by their texts.
struct Open {
    client: Client,
    prepared: RefCell<HashMap<String, Statement>>,
}

impl Reader {
    pub(crate) fn new(settings: Arc<Settings>) -> Reader {
        Reader { settings, open: Mutex::new(None), announced: None }
    }

    pub(crate) fn listening(settings: Arc<Settings>) -> Reader {
        Reader { announced: Some(Arc::default()), ..Reader::new(settings) }
    }

    /// Waits until a process has announced a change, unless one has since the last time.
    pub(crate) async fn announcement(&self) {
        match &self.announced {
            Some(announced) => announced.notified().await,
            None => pending().await,
        }
    }

    /// Announces a change of the board. It may get lost: others look at the board anyway.
    pub(crate) async fn announce(&self) {
        let _ = self.rows(statements::ANNOUNCE, &[]).await;
    }

    /// The rows of a statement, within the time limit of a query. A connection that was lost is opened again once: a read may be
    /// repeated.
    pub(crate) async fn rows(&self, sql: &str, params: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>, Error> {
        let limit = self.settings.bounds.query;
        let attempt = async {
            match self.rows_once(sql, params).await {
                Err(_) if self.is_closed().await => self.rows_once(sql, params).await,
                outcome => outcome,
            }
        };
        match timeout(limit, attempt).await {
            Ok(outcome) => outcome,
            Err(_) => {
                *self.open.lock().await = None;
                Err(Error::silent(&self.settings.server, limit))
            }
        }
    }

    async fn rows_once(&self, sql: &str, params: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>, Error> {
        let open = self.connection().await?;
        let known = open.prepared.borrow().get(sql).cloned();
        let statement = match known {
            Some(statement) => statement,
            None => {
                let statement = open.client.prepare(sql).await?;
                open.prepared.borrow_mut().insert(sql.to_owned(), statement.clone());
                statement
            }
        };
        Ok(open.client.query(&statement, params).await?)
    }

    async fn connection(&self) -> Result<Rc<Open>, Error> {
        let mut open = self.open.lock().await;
        if let Some(open) = open.as_ref().filter(|open| !open.client.is_closed()) {
            return Ok(Rc::clone(open));
        }
        // A primary that has vanished must not hold the next board until a query's time is over.
        let patience = self.settings.bounds.connect;
        let adjust = |config: &mut Config| {
            config.tcp_user_timeout(patience).keepalives_idle(patience);
            if self.announced.is_some() {
                config.target_session_attrs(TargetSessionAttrs::ReadWrite); // the connection for the board also declares others dead
            }
        };
        let announced = self.announced.clone();
        let told = move || announced.iter().for_each(|announced| announced.notify_one());
        let (client, ..) = connect_postgres(&self.settings, adjust, told).await?;
        if self.announced.is_some() {
            client.batch_execute(statements::LISTEN).await?;
        }
        let new = Rc::new(Open { client, prepared: RefCell::default() });
        *open = Some(Rc::clone(&new));
        Ok(new)
    }

    async fn is_closed(&self) -> bool {
        self.open.lock().await.as_ref().is_none_or(|open| open.client.is_closed())
    }

    /// A range of live rows, for a writer that has seen the database like this; `None` if the database is another, or the session is
    /// over.
    pub(crate) async fn range(
        &self,
        writer: u64,
        witness: Seen,
        table: &str,
        range: &Range,
    ) -> Result<Option<Vec<Entry>>, Error> {
        let Some((lower, upper)) = range.bounds().ok().flatten().filter(|_| range.limit > 0) else { return Ok(Some(Vec::new())) };
        let (writer, session, sequence) = (signed(writer), signed(witness.session), signed(witness.sequence));
        let (from, has_from) = end(lower).unwrap_or((Vec::new(), true));
        let limit = i64::try_from(range.limit).unwrap_or(i64::MAX);
        let upper = end(upper);
        let sql = statements::range(upper.is_some(), range.is_reverse);
        let mut params: Vec<&(dyn ToSql + Sync)> = vec![&writer, &session, &sequence, &table, &from, &has_from, &limit];
        if let Some((to, has_to)) = &upper {
            params.extend([to as &(dyn ToSql + Sync), has_to]);
        }
        let rows = self.rows(&sql, &params).await?;
        if rows.first().is_none_or(|row| !row.get::<_, bool>(0)) {
            *self.open.lock().await = None;
            return Ok(None);
        }
        let entry = |row: &Row| Some((row.get::<_, Option<Vec<u8>>>(1)?, row.get::<_, Option<Vec<u8>>>(2)?));
        Ok(Some(rows.iter().filter_map(entry).collect()))
    }
}

/// An end of a range, and whether it is part of it.
fn end(bound: Bound<Vec<u8>>) -> Option<(Vec<u8>, bool)> {
    match bound {
        Bound::Unbounded => None,
        Bound::Included(key) => Some((key, true)),
        Bound::Excluded(key) => Some((key, false)),
    }
}
