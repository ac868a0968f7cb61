//! The part of Elah that knows no Ruby: listeners, connections, HTTP, router, limits, the embedded store and ranked sets.

mod admission;
pub mod background;
pub mod board;
mod broken_peers;
mod clock;
mod connection;
mod descriptor_watch;
mod exchange;
pub mod form;
mod guard;
mod guarded_socket;
pub mod json_text;
pub mod limits;
pub mod link;
pub mod listener;
mod metrics;
pub mod multipart;
pub mod percent;
pub mod problem;
pub mod ranked_set;
mod reply;
pub mod request;
mod request_body;
pub mod response;
mod response_stream;
mod route_cache;
pub mod router;
mod shared;
pub mod sink_log;
pub mod store;
pub mod task;
mod timers;
pub mod wake;
pub mod worker;

pub use metrics::Counts;
pub use response_stream::{StreamEnd, Written};
