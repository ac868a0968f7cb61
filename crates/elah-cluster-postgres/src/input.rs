//! What the tasks of the writer's thread report to it.

use std::rc::Rc;

use elah_cluster::{Board, Held, Reply};

use crate::error::Error;
use crate::sequence::Sequence;

/// What the tasks of the thread report.
pub(crate) enum Input {
    Connected(u64, Rc<Sequence>),
    /// The connection with this number failed, or was lost.
    Lost(u64, Error),
    Reply(u64, u64, Reply),
    /// The statement was refused with an SQL error; the connection goes on.
    Refused(u64, u64, Error),
    Board(Board),
    BoardFailed(Error),
    Fenced(u64, bool),
    /// The process of a writer of this machine has ended.
    Ended(u64),
    /// Somebody wants this process to own nothing.
    Drain,
    /// The hand-over of these shards should be done by now.
    Late(Vec<Held>),
}
