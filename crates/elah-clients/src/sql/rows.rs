//! The result of a statement. The rows stay in wire format; each value is decoded on access.

mod mysql;
mod postgres;

use std::sync::Arc;

use super::error::Error;
use super::value::Cell;

pub(super) enum Set {
    Postgres { statement: tokio_postgres::Statement, rows: Vec<tokio_postgres::Row> },
    MySql { columns: Arc<[mysql_async::Column]>, rows: Vec<mysql_async::Row> },
}

/// The rows and counts of one statement.
pub struct Rows {
    pub(super) set: Set,
    pub(super) server: Arc<str>,
    pub(super) sql: Arc<str>,
    /// The number of rows that an INSERT, UPDATE or DELETE changed.
    pub affected_rows: u64,
    /// The number that MySQL or MariaDB assigned to the new row.
    pub last_insert_id: Option<u64>,
}

impl Rows {
    /// The number of rows.
    pub fn len(&self) -> usize {
        match &self.set {
            Set::Postgres { rows, .. } => rows.len(),
            Set::MySql { rows, .. } => rows.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of columns.
    pub fn width(&self) -> usize {
        match &self.set {
            Set::Postgres { statement, .. } => statement.columns().len(),
            Set::MySql { columns, .. } => columns.len(),
        }
    }

    /// The name of a column; empty after the last.
    pub fn column_name(&self, column: usize) -> std::borrow::Cow<'_, str> {
        match &self.set {
            Set::Postgres { statement, .. } => statement.columns().get(column).map_or("", |column| column.name()).into(),
            Set::MySql { columns, .. } => columns.get(column).map_or("".into(), |column| column.name_str()),
        }
    }

    /// A value; null outside of the rows and columns.
    pub fn cell(&self, row: usize, column: usize) -> Result<Cell<'_>, Error> {
        let cell = match &self.set {
            Set::Postgres { rows, .. } => rows.get(row).map(|row| postgres::cell(row, column)),
            Set::MySql { rows, .. } => rows.get(row).map(|row| mysql::cell(row, column)),
        };
        cell.unwrap_or(Ok(Cell::Null)).map_err(|reason| Error::Unusable {
            server: Arc::clone(&self.server),
            statement: Some(Arc::clone(&self.sql)),
            reason: format!("Column {} {reason}", self.column_name(column)),
        })
    }
}
