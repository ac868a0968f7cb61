//! Who is in the cluster and who owns which shard, as far as this process has read it.

use std::collections::BTreeMap;

/// A writer: one process of the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The name of its machine.
    pub node: String,
    /// Where processes of other machines call it.
    pub address: String,
    /// Where processes of its machine call it.
    pub socket: String,
    /// The version of the protocol that it speaks.
    pub version: u32,
    /// Whether it takes shards.
    pub is_ready: bool,
    /// Whether it was declared dead, or has ended.
    pub is_fenced: bool,
    /// Whether it was declared dead for its silence: it replies to nothing.
    pub has_vanished: bool,
}

/// The cluster at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Members {
    /// The writers by their numbers.
    pub writers: BTreeMap<u64, Member>,
    /// The writer of each shard; 0 for none.
    pub owners: Vec<u64>,
}

impl Members {
    /// The writer of a shard, if it lives.
    pub fn owner_of(&self, shard: u16) -> Option<u64> {
        let owner = *self.owners.get(usize::from(shard))?;
        self.writers.get(&owner).filter(|member| !member.is_fenced).map(|_| owner)
    }
}
