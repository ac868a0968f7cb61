//! The client of Redis: one connection that many callers share, so that what waits leaves in one write; a subscription; a cluster.
//!
//! One server is spoken to by this module's own multiplexer, because a command then costs no task and no channel. A cluster is the
//! affair of the crate `redis`, which knows slots, moves and failovers.

mod client;
mod cluster;
mod command;
mod connection;
mod error;
mod handshake;
mod reply;
mod settings;
mod subscription;

pub use client::{Client, Driver, Waiter};
pub use cluster::ClusterClient;
pub use command::{Commands, Name, UnshareableCommand};
pub use error::{Error, Refusal};
pub use reply::{Item, Replies};
pub use settings::{Settings, Times};
pub use subscription::{Message, Next, Subscription};
