//! The client of Redis: one connection shared by all callers, so that waiting commands leave in one write; subscriptions;
//! clusters.
//!
//! The multiplexer is this module's own, so a command to one server costs no task and no channel. A cluster has one for each node:
//! the crate `redis` repeats commands that may have run, and its cluster stood still for good after lost connections.

mod client;
mod cluster;
mod command;
mod connection;
mod error;
mod handshake;
mod in_flight;
mod key_slot;
mod reply;
mod settings;
mod slot_map;
mod subscription;

pub use client::{Client, Driver};
pub use cluster::ClusterClient;
pub use command::{Commands, Name, SharingCheck, UnshareableCommand};
pub use error::{Error, Refusal};
pub use in_flight::Waiter;
pub use reply::{Item, Replies};
pub use settings::{Settings, Times};
pub use subscription::{Message, Next, Subscription};
