//! What a writer's driver is to do.

use crate::statement::{Held, Seen, Statement};

/// What the driver is to do, in this order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Send the statement on the writer's connection. Serial numbers ascend over all connections.
    Send { serial: u64, statement: Statement },
    /// Send on another connection: `UPDATE elah_writers SET fenced = true WHERE writer = $writer AND NOT fenced`, and with `seen` also
    /// `AND sequence = $sequence AND session = $session`. Report [`Event::FenceReply`](crate::Event::FenceReply); no report is needed
    /// when it fails, since the machine asks again.
    Fence { writer: u64, seen: Option<Seen> },
    /// The batch is stored: send the responses that wait for it.
    Stored { id: u64 },
    /// The batch is not stored and never will be.
    NotStored { id: u64 },
    /// Nobody can say any more whether the batch was stored: the database has lost this writer.
    Unknown { id: u64 },
    /// Responses of calls that only read may leave before this time. A later one replaces it.
    LeaseUntil { time: u64 },
    /// This writer owns the shard. Read its memory, in whole or as it is asked for; the crate's page says what such a read checks.
    /// Report [`Event::Restored`](crate::Event::Restored) when calls can be accepted.
    Restore(Held),
    /// The term is over. Forget the memory of the shard, and end its calls with `Moved`. An [`Action::Restore`] of the same shard
    /// follows when this writer still owns it.
    Drop(Held),
    /// Let the calls of the shard end, and accept no more.
    Stop(Held),
    /// The database has lost commits of the writer, for example by a failover to an asynchronous standby: log it and count it. For
    /// other writers than this one it is reported by each observer.
    Lost { writer: u64 },
    /// This writer joins nobody and claims nothing, since the version of an active one differs from its own by more than one.
    Incompatible { writer: u64, version: u32 },
    /// This writer is fenced, or the database has lost it. All of its shards have been dropped, all batches reported.
    Fenced,
}
