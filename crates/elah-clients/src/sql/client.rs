//! The client of one server on one runtime.

use std::sync::Arc;

use super::error::Error;
use super::pool::{Pool, Status};
use super::rows::Rows;
use super::settings::Settings;
use super::statement::Statement;
use super::stream::RowStream;
use super::transaction::{Isolation, Transaction};
use super::value::Param;
use crate::Work;

/// Connects at its first use. Its futures belong to that runtime; dropping one abandons its query.
pub struct Client {
    pool: Arc<Pool>,
}

impl Client {
    pub fn new(settings: Arc<Settings>) -> Client {
        Client { pool: Arc::new(Pool::new(settings)) }
    }

    /// Runs a statement and reads all its rows.
    pub fn query(&self, sql: String, params: Vec<Param>) -> Work<'_, Result<Rows, Error>> {
        Box::pin(async move { self.pool.lease().await?.run(&Statement::new(sql, params)).await })
    }

    /// Runs a statement whose rows are read in batches.
    pub fn stream(&self, sql: String, params: Vec<Param>) -> Work<'_, Result<RowStream, Error>> {
        Box::pin(async move { Ok(RowStream::of_lease(self.pool.lease().await?, Statement::new(sql, params))) })
    }

    /// `first` is sent together with the beginning, on PostgreSQL.
    pub fn begin(&self, isolation: Option<Isolation>, first: Option<String>) -> Work<'_, Result<Transaction, Error>> {
        Box::pin(
            async move { Transaction::begin(self.pool.lease().await?, &self.pool.settings, isolation, first.as_deref()).await },
        )
    }

    /// Closes idle connections now, and others when they return.
    pub fn close(&self) {
        self.pool.close();
    }

    pub fn status(&self) -> Status {
        self.pool.status()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.pool.close();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::sql::settings::Bounds;

    // Each query's future once had room for opening a connection: 4,856 bytes, which the surrounding futures doubled twice and
    // moved.
    #[test]
    fn a_query_is_small() {
        let second = Duration::from_secs(1);
        let bounds = Bounds {
            connections_max: 1,
            waiters_max: 1,
            pool: second,
            connect: second,
            query: second,
            idle: second,
            statements_max: 1,
        };
        let settings = Settings::parse("postgres://a:b@localhost/c", bounds).expect("settings");
        let client = Client::new(Arc::new(settings));
        let bytes = size_of_val(&*client.query("SELECT 1".to_owned(), Vec::new()));
        assert!(bytes <= 2048, "{bytes} bytes");
    }
}
