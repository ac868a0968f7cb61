//! Looks at the writers and owners, a few times per lease: for the state machine, and for the calls that look for an owner.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use elah_cluster::{Board, Seen, ShardRow, WriterRow};
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::sleep;

use crate::error::Error;
use crate::input::Input;
use crate::life;
use crate::members::{Member, Members};
use crate::reader::Reader;
use crate::sequence::unsigned;
use crate::shared::Shared;
use crate::statements;

/// What is known of the last look.
pub(crate) struct Looks {
    node: String,
    reader: Rc<Reader>,
    shared: Arc<Shared>,
    shards: RefCell<((i64, i64), Vec<ShardRow>)>,
    seen: RefCell<HashMap<u64, Seen>>,
}

impl Looks {
    pub(crate) fn new(node: String, reader: Rc<Reader>, shared: Arc<Shared>) -> Looks {
        Looks { node, reader, shared, shards: RefCell::default(), seen: RefCell::default() }
    }

    /// Looks until nobody takes what is seen.
    pub(crate) async fn run(&self, pause: Duration, inputs: UnboundedSender<Input>) {
        while !inputs.is_closed() {
            let input = match self.look(&inputs).await {
                Ok(board) => Input::Board(board),
                Err(error) => Input::BoardFailed(error),
            };
            let _ = inputs.send(input);
            sleep(pause).await;
        }
    }

    async fn look(&self, inputs: &UnboundedSender<Input>) -> Result<Board, Error> {
        let mut board = Board::default();
        let mut members = Members::default();
        for row in self.reader.rows(statements::WRITERS, &[]).await? {
            let version: i32 = row.try_get(4)?;
            let writer = WriterRow {
                writer: unsigned(row.try_get(0)?),
                version: version.unsigned_abs(),
                is_ready: row.try_get(5)?,
                seen: Seen { sequence: unsigned(row.try_get(6)?), session: unsigned(row.try_get(7)?) },
                is_fenced: row.try_get(8)?,
            };
            let member = Member {
                node: row.try_get(1)?,
                address: row.try_get(2)?,
                socket: row.try_get(3)?,
                version: writer.version,
                is_ready: writer.is_ready,
                is_fenced: writer.is_fenced,
            };
            if writer.writer == self.shared.writer() && row.try_get(9)? {
                let _ = inputs.send(Input::Drain);
            }
            if self.has_ended(&writer, &member) {
                let _ = inputs.send(Input::Ended(writer.writer));
            }
            members.writers.insert(writer.writer, member);
            board.writers.push(writer);
        }
        self.seen.replace(board.writers.iter().map(|row| (row.writer, row.seen)).collect());
        board.shards = self.shards().await?;
        members.owners = board.shards.iter().map(|row| row.writer.unwrap_or(0)).collect();
        self.shared.set_members(members);
        Ok(board)
    }

    /// Whether a writer of this machine, silent since the last look, is known to have no process any more.
    fn has_ended(&self, row: &WriterRow, member: &Member) -> bool {
        let is_silent = self.seen.borrow().get(&row.writer) == Some(&row.seen);
        is_silent && !row.is_fenced && member.node == self.node && life::has_ended(&member.socket)
    }

    /// The owners; read again only when one has changed.
    async fn shards(&self) -> Result<Vec<ShardRow>, Error> {
        let version = match self.reader.rows(statements::SHARDS_VERSION, &[]).await?.first() {
            Some(row) => (row.try_get(0)?, row.try_get(1)?),
            None => (0, 0),
        };
        let known = self.shards.borrow().clone();
        if known.0 == version && !known.1.is_empty() {
            return Ok(known.1);
        }
        let mut shards = Vec::new();
        for row in self.reader.rows(statements::SHARDS, &[]).await? {
            let (shard, writer): (i32, Option<i64>) = (row.try_get(0)?, row.try_get(2)?);
            let row = ShardRow { shard: shard.unsigned_abs(), epoch: unsigned(row.try_get(1)?), writer: writer.map(unsigned) };
            shards.push(row);
        }
        self.shards.replace((version, shards.clone()));
        Ok(shards)
    }
}
