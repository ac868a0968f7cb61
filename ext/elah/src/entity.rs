//! Entities: shards, their commits, and the links between workers.

pub(crate) mod peer_links;
pub(crate) mod shards;
