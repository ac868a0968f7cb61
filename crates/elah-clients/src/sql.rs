//! A client of PostgreSQL, MySQL and MariaDB: one pool of connections, opened on demand, and a time limit for everything that a
//! server may delay.

mod calendar;
mod client;
mod connection;
mod control;
mod error;
mod held;
mod idle;
mod interrupts;
mod lease;
mod mysql;
mod outlet;
mod placeholders;
mod pool;
mod postgres;
mod rows;
mod settings;
mod statement;
mod stream;
mod tls;
mod transaction;
mod value;

pub use client::Client;
pub use error::{Error, Kind, Refusal};
pub use interrupts::interrupts;
pub use pool::Status;
pub use postgres::{chain, connect as connect_postgres};
pub use rows::Rows;
pub use settings::{Bounds, Engine, Settings, TlsMode};
pub use stream::RowStream;
pub use transaction::{Isolation, SavepointAction, Transaction};
pub use value::{Cell, Date, Param, Timestamp};
