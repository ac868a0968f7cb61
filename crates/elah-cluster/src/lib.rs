//! The state machine of a writer in a cluster: its numbered statements, its lease, its claims and its hand-overs.
//!
//! A *writer* is one worker process with a random number of 63 bits, used once. It owns shards, which is recorded in one SQL
//! database. [`Machine::step`] takes the time and an [`Event`], and appends the [`Action`]s that the *driver* carries out. The crate
//! does no I/O, reads no clock and starts no thread. `docs/decisions/cluster.md` has the protocol and its reasons.
//!
//! ```
//! use elah_cluster::{Action, Config, Event, Machine, Opened, Reply, Statement};
//!
//! let mut machine = Machine::new(Config::new(7, 256, 5_000));
//! let mut actions = Vec::new();
//! machine.step(1_000, Event::Connected, &mut actions);
//! assert_eq!(actions, [Action::Send { serial: 1, statement: Statement::Open { register: true } }]);
//! let opened = Opened::Session { sequence: 0, shards: vec![] };
//! actions.clear();
//! machine.step(1_003, Event::Reply { serial: 1, reply: Reply::Opened(opened) }, &mut actions);
//! assert_eq!(actions, [Action::LeaseUntil { time: 1_000 + 4_500 }]);
//! ```
//!
//! # Tables
//!
//! ```sql
//! elah_writers (writer bigint PRIMARY KEY, node, address, version, lease_ms, serves, ready,
//!               sequence bigint, session bigint, fenced boolean)
//! elah_shards  (shard int PRIMARY KEY, epoch bigint, writer bigint)   -- one row for each shard, made with the table
//! ```
//!
//! # What the driver does
//!
//! Times are milliseconds of one clock that never goes back and runs while the machine sleeps: `CLOCK_BOOTTIME`. Pass the time at
//! which the event was met, that is *after* a reply or a board has arrived. Carry out actions in their order, before the next
//! event. One thread owns the machine.
//!
//! **The writer's connection** carries the statements of [`Action::Send`], in their order and each in autocommit. The machine limits
//! how many are in flight ([`Config::in_flight_max`]); send them pipelined or one by one. Report:
//!
//! - [`Event::Connected`] when the connection is open, first or again. The machine sends [`Statement::Open`].
//! - [`Event::Reply`] for each reply, in order.
//! - [`Event::Failed`] for an SQL error. Keep the connection; later replies are still reported, and the machine ignores those that
//!   no longer matter.
//! - [`Event::Disconnected`] when the connection is lost, or was closed because nothing came for too long. Then connect again, with
//!   backoff. Report nothing of the old connection afterwards. Never cancel a statement and never set `statement_timeout`: both end
//!   the wait for a synchronous standby and leave a local commit. Set `tcp_user_timeout`.
//!
//! The connection goes to the primary (`target_session_attrs=read-write`). A pooler that can carry a statement over to another
//! primary must not stand in between.
//!
//! **Two other connections to the primary** carry all that is not numbered: one [`Action::Fence`] and the board twice a second, the
//! other the reads of [`Action::Restore`], which may take long. Read the board ([`Event::Board`]) when the previous read has been
//! answered, and report [`Event::BoardFailed`] when a read failed. One worker of each machine can read for all.
//!
//! Every read of rows, for a restore and later, checks in the same statement that it is not late: `EXISTS (SELECT FROM elah_writers
//! WHERE writer = $writer AND session = $session AND sequence >= $sequence)`, with [`Machine::witness`] as it was when the read was
//! sent. Where that does not hold, the connection leads to a deposed primary or the session is over: read again, on a new connection.
//!
//! **Writes.** A batch names the shards whose rows it changes, each with the *term* under which its memory was read
//! ([`Action::Restore`]). Exactly one of [`Action::Stored`], [`Action::NotStored`] and [`Action::Unknown`] follows for each batch, in
//! the order of the batches. A response leaves when its batch is stored. When [`Action::Drop`] ends a term, forget the memory of the
//! shard; batches that still name the term are not stored.
//!
//! **Reads.** The response of a call that only reads may leave when all of this holds after its evaluation: its shard's term is
//! current and restored, the batches that it saw are stored, and the clock is before the last [`Action::LeaseUntil`]. For
//! `reads :checked` want a batch that names the shard and has no rows instead, and send the response when it is stored.
//!
//! **Hand-over.** At [`Action::Stop`] accept no more calls of the shard, wait until those that run have ended and their batches are
//! wanted, then report [`Event::Stopped`]. When the database has confirmed a claim, a release or a fence, tell the other writers, which read
//! the board at once.
//!
//! **Scripts.** A process that is no server's worker has another [`Role`]: it leaves the shards to the servers. The row of a writer
//! says whether it serves; that needs no number, since it decides only who wants shards.
//!
//! **The end.** After [`Action::Fenced`] the machine does nothing more. The process continues, if it does, with a new machine and a
//! new writer's number.

mod action;
mod balance;
mod board;
mod config;
mod event;
mod machine;
mod members;
mod owned;
mod safeguards;
mod statement;

pub use action::Action;
pub use board::{Board, ShardRow, WriterRow};
pub use config::{Config, Role};
pub use event::Event;
pub use machine::Machine;
pub use statement::{Claimed, Held, Opened, Reply, Seen, Statement};

#[cfg(test)]
mod tests;
