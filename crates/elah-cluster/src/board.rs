//! What a writer knows of all the others: the rows of writers and shards, as last read.

use crate::statement::Seen;

/// The rows of `elah_writers` and `elah_shards`, read in one statement or in two. Fenced writers without shards may be left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Board {
    pub writers: Vec<WriterRow>,
    pub shards: Vec<ShardRow>,
}

/// A row of `elah_writers`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WriterRow {
    pub writer: u64,
    pub version: u32,
    /// How long it may be silent, in milliseconds.
    pub lease: u64,
    /// Whether the writer wants shards.
    pub is_ready: bool,
    /// Whether it is a worker of a server.
    pub is_server: bool,
    pub seen: Seen,
    pub is_fenced: bool,
}

/// A row of `elah_shards`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ShardRow {
    pub shard: u32,
    pub epoch: u64,
    pub writer: Option<u64>,
}
