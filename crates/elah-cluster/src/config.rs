//! The settings of a machine.

/// How its process can be called, and so whether a writer wants shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// A worker of a server: it wants shards.
    Server,
    /// A script with a loop: it wants shards while no server does.
    Script,
    /// A process without a loop, which no other can call: it claims shards while nobody wants any, and gives them to whoever does.
    Idle,
}

/// The settings of a machine. All times are in milliseconds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Config {
    /// The writer's number: random, positive, never used before. A sequence of the database is not enough, since a failover may
    /// set it back.
    pub writer: u64,
    /// The number of shards, the same for all writers.
    pub shards: u32,
    /// How long this writer may be silent before others fence it.
    pub lease: u64,
    /// The version of the protocol and of the stored rows. Writers whose versions differ by one run together.
    pub version: u32,
    /// How many statements may be in flight on the writer's connection, at least 1.
    pub in_flight_max: usize,
    /// How many shards may be without an owner, or on the way there, when this writer begins to hand over another one.
    pub moves_max: usize,
    /// How long the members must have been the same before this writer hands over shards for balance.
    pub calm: u64,
    /// Its role at first; [`Event::Role`](crate::Event::Role) changes it.
    pub role: Role,
}

impl Config {
    /// A server with one statement in flight, at most 8 moves at once, after 10 seconds without a change.
    pub fn new(writer: u64, shards: u32, lease: u64) -> Self {
        Config { writer, shards, lease, version: 1, in_flight_max: 1, moves_max: 8, calm: 10_000, role: Role::Server }
    }
}
