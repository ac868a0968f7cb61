//! A worker's HTTP server: listeners, connections, guard, router, admission, requests and responses.

pub mod accept;
mod admission;
mod audience;
mod connection;
mod connection_state;
mod exchange;
mod guard;
mod guarded_socket;
pub mod limits;
pub mod listener;
mod metrics;
pub mod peers;
pub mod problem;
mod reply;
pub mod request;
mod request_body;
pub mod response;
mod response_stream;
mod route_cache;
pub mod router;
mod service;
mod shared;
mod socket;
pub mod worker;

pub use audience::Pushed;
pub use metrics::Counts;
pub use response_stream::{StreamEnd, Written};
