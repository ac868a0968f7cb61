//! Entities: shards, their commits, the links between workers, and the cluster.

#[cfg(feature = "sql")]
pub(crate) mod cluster;
pub(crate) mod peer_links;
pub(crate) mod shards;
