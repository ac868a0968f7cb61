//! A client of servers that speak MongoDB's protocol, over the `mongodb` crate. Documents are bytes of BSON on both sides.
//!
//! A client belongs to the runtime of its first use, because the driver runs its pool and monitors in tasks. A future dropped in
//! the middle of an operation closes its connection: the driver takes no connection back that has a reply outstanding.

mod bulk;
mod client;
mod cursor;
mod decimal;
mod driver;
mod error;
mod object_id;
mod operation;
mod settings;

pub use bulk::{Bulk, BulkKind, BulkOutcome};
pub use client::Client;
pub use cursor::{Batch, Cursor};
pub use decimal::{decimal_from_text, decimal_to_text};
pub use error::{Error, Kind, Refusal, WriteError};
pub use object_id::generate_object_id;
pub use operation::{Change, Updated};
pub use settings::{Plan, Settings};
