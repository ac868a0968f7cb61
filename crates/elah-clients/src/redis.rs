//! The client of Redis: one connection shared by all callers, so that waiting commands leave in one write; subscriptions;
//! clusters.
//!
//! One server is served by this module's own multiplexer, so a command costs no task and no channel. Clusters use the crate
//! `redis`, which handles slots, moves and failovers.

mod client;
mod cluster;
mod cluster_node;
mod command;
mod connection;
mod error;
mod handshake;
mod in_flight;
mod reply;
mod settings;
mod subscription;

pub use client::{Client, Driver};
pub use cluster::ClusterClient;
pub use command::{Commands, Name, SharingCheck, UnshareableCommand};
pub use error::{Error, Refusal};
pub use in_flight::Waiter;
pub use reply::{Item, Replies};
pub use settings::{Settings, Times};
pub use subscription::{Message, Next, Subscription};
