//! A client of servers that speak MongoDB's protocol, over the `mongodb` crate: documents are bytes of BSON on both sides.
//!
//! A client belongs to the runtime on which it is used first: the driver keeps its pool and its monitors in tasks of their own. A
//! future that is dropped in mid-operation closes the connection that it used, because the driver takes none back that still owes
//! an answer.

mod bulk;
mod client;
mod cursor;
mod decimal;
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
