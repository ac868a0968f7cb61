//! What happens to a writer.

use crate::board::Board;
use crate::config::Role;
use crate::statement::{Held, Reply};

/// What happens to a writer. The driver passes each event with the time at which it met it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// The writer's connection is open, for the first time or again.
    Connected,
    /// The writer's connection is lost. Statements in flight may be executed later, or never.
    Disconnected,
    /// The reply to the statement `serial`.
    Reply { serial: u64, reply: Reply },
    /// The statement `serial` ended with an SQL error.
    Failed { serial: u64 },
    /// Rows are to be stored. Numbers ascend. Every shard whose rows change is named, with the term of the memory that was changed.
    Batch { id: u64, shards: Vec<Held> },
    /// Time has passed; due a few times in `lease / 5`, or at [`Machine::tick_at`](crate::Machine::tick_at). `is_alive` says whether
    /// the worker does its work: a writer whose loop hangs sends no more signs of life.
    Tick { is_alive: bool },
    /// The memory of a shard is read, as [`Action::Restore`](crate::Action::Restore) asked, and the shard is served.
    Restored(Held),
    /// No call of the shard runs any more, and all batches with its rows are wanted, as [`Action::Stop`](crate::Action::Stop) asked.
    Stopped(Held),
    /// The writer is asked to hand over all shards and to claim no more.
    Drain,
    /// The process can be called in another way from now on.
    Role(Role),
    /// The board was read. The time is that after the read.
    Board(Board),
    /// The board could not be read.
    BoardFailed,
    /// An [`Action::Fence`](crate::Action::Fence) was executed: whether it changed the row.
    FenceReply { writer: u64, is_fenced: bool },
    /// A process of this machine that was the writer has ended for certain: its parent has waited for it.
    Reaped { writer: u64 },
}
