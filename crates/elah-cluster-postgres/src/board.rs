//! Looks at the writers and owners, a few times per lease and when a process announces a change: for the state machine, and for the calls
//! that look for an owner.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use elah_cluster::{Board, Seen, ShardRow, WriterRow};
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::sleep;

use crate::error::Error;
use crate::figures::Figures;
use crate::input::Input;
use crate::life;
use crate::members::{Member, Members};
use crate::reader::Reader;
use crate::sequence::{signed, unsigned};
use crate::shared::{Shared, Shown};
use crate::statements;

/// Looks between two reports of the figures.
const LOOKS_PER_FIGURES: u64 = 4;

/// The pause before a look at what was announced.
const ANNOUNCED_PAUSE: Duration = Duration::from_millis(5);

/// For how many times its silence a vanished writer is known as such.
const VANISHED_KEPT: u32 = 20;

/// What is known of the last look.
pub(crate) struct Looks {
    node: String,
    version: u32,
    /// One that was silent for so long when it was fenced has not left by itself.
    silence: Duration,
    reader: Rc<Reader>,
    shared: Arc<Shared>,
    shards: RefCell<((i64, i64), Vec<ShardRow>)>,
    /// The last sign of life of each writer, and when it was first seen.
    seen: RefCell<HashMap<u64, (Seen, Instant)>>,
}

impl Looks {
    pub(crate) fn new(node: String, version: u32, silence: Duration, reader: Rc<Reader>, shared: Arc<Shared>) -> Looks {
        Looks { node, version, silence, reader, shared, shards: RefCell::default(), seen: RefCell::default() }
    }

    /// Looks until nobody takes what is seen.
    pub(crate) async fn run(&self, pause: Duration, inputs: UnboundedSender<Input>) {
        let mut told = Figures::default();
        for number in 0_u64.. {
            if inputs.is_closed() {
                return;
            }
            let input = match self.look(&inputs).await {
                Ok(board) => Input::Board(board),
                Err(error) => Input::BoardFailed(error),
            };
            let _ = inputs.send(input);
            let figures = self.shared.figures();
            if number % LOOKS_PER_FIGURES == 0 && figures != told && self.tell(&figures).await.is_ok() {
                told = figures;
            }
            tokio::select! {
                () = sleep(pause) => {}
                // One look for all that is announced meanwhile.
                () = self.reader.announcement() => sleep(ANNOUNCED_PAUSE).await,
            }
        }
    }

    async fn look(&self, inputs: &UnboundedSender<Input>) -> Result<Board, Error> {
        let mut board = Board::default();
        let mut members = Members::default();
        let mut signs = HashMap::new();
        for row in self.reader.rows(statements::WRITERS, &[]).await? {
            let version: i32 = row.try_get(4)?;
            let writer = WriterRow {
                writer: unsigned(row.try_get(0)?),
                version: version.unsigned_abs(),
                lease: unsigned(row.try_get(10)?),
                is_ready: row.try_get(5)?,
                is_server: row.try_get(11)?,
                seen: Seen { sequence: unsigned(row.try_get(6)?), session: unsigned(row.try_get(7)?) },
                is_fenced: row.try_get(8)?,
            };
            let since = self.since(&writer);
            signs.insert(writer.writer, (writer.seen, since));
            let member = Member {
                node: row.try_get(1)?,
                address: row.try_get(2)?,
                socket: row.try_get(3)?,
                version: writer.version,
                is_ready: writer.is_ready,
                is_fenced: writer.is_fenced,
                has_vanished: writer.is_fenced && since.elapsed() >= self.silence,
            };
            if writer.writer == self.shared.writer() {
                if row.try_get(9)? {
                    let _ = inputs.send(Input::Drain);
                }
                self.show(&writer, &member).await?;
            }
            if self.has_ended(&writer, &member) {
                let _ = inputs.send(Input::Ended(writer.writer));
            }
            members.writers.insert(writer.writer, member);
            board.writers.push(writer);
        }
        let vanished = self.vanished(&signs);
        // Looks may follow each other before anybody asks who has vanished.
        let seen = self.seen.take();
        let is_kept =
            |writer: u64, since: Instant| since.elapsed() < VANISHED_KEPT * self.silence && vanished.contains_key(&writer);
        signs.extend(seen.into_iter().filter(|(writer, (_, since))| is_kept(*writer, *since)));
        members.writers.extend(vanished);
        self.seen.replace(signs);
        board.shards = self.shards().await?;
        self.raise_version(&board).await;
        members.owners = board.shards.iter().map(|row| row.writer.unwrap_or(0)).collect();
        self.shared.set_members(members);
        Ok(board)
    }

    /// All work by the highest version that each of them speaks. If it cannot be raised now, the next look tries again.
    async fn raise_version(&self, board: &Board) {
        let lowest = board.writers.iter().filter(|row| !row.is_fenced).map(|row| row.version).min();
        if let Some(lowest) = lowest.filter(|lowest| *lowest == self.version && self.shared.spoken() < *lowest) {
            let _ = self.reader.rows(&statements::raise(lowest), &[]).await;
        }
    }

    /// Tells others where to call this process, and whether it is a worker of a server: both change when its loop begins or ends.
    async fn show(&self, row: &WriterRow, member: &Member) -> Result<(), Error> {
        let Shown { address, is_server } = self.shared.shown();
        if row.is_server != is_server || member.address != address {
            self.reader.rows(statements::SHOW, &[&signed(row.writer), &is_server, &address]).await?;
            self.reader.announce().await;
        }
        Ok(())
    }

    /// Tells others what this process has counted: `elah cluster status` shows it.
    async fn tell(&self, figures: &Figures) -> Result<(), Error> {
        let writer = signed(self.shared.writer());
        let Figures { lag_ms, losses, restores, drops, moves } = figures;
        let [lag_ms, losses, restores, drops, moves] = [lag_ms, losses, restores, drops, moves].map(|number| signed(*number));
        self.reader.rows(statements::FIGURES, &[&writer, &lag_ms, &losses, &restores, &drops, &moves]).await?;
        Ok(())
    }

    /// Silent writers that are not listed any more: others have taken all their shards since the last look.
    fn vanished(&self, listed: &HashMap<u64, (Seen, Instant)>) -> HashMap<u64, Member> {
        let before = self.shared.members();
        let is_gone = |writer: u64, since: Instant| since.elapsed() >= self.silence && !listed.contains_key(&writer);
        let seen = self.seen.borrow();
        let gone = seen.iter().filter(|(writer, (_, since))| is_gone(**writer, *since)).map(|(writer, _)| *writer);
        gone.filter_map(|writer| {
            let member = before.writers.get(&writer)?.clone();
            Some((writer, Member { is_fenced: true, has_vanished: true, ..member }))
        })
        .collect()
    }

    fn since(&self, row: &WriterRow) -> Instant {
        let known = self.seen.borrow().get(&row.writer).filter(|(seen, _)| *seen == row.seen).map(|(_, since)| *since);
        known.unwrap_or_else(Instant::now)
    }

    /// Whether a writer of this machine, silent since the last look, is known to have no process any more.
    fn has_ended(&self, row: &WriterRow, member: &Member) -> bool {
        let is_silent = self.seen.borrow().get(&row.writer).is_some_and(|(seen, _)| *seen == row.seen);
        is_silent && !row.is_fenced && member.node == self.node && life::has_ended(&member.socket)
    }

    /// The owners; read again only when one has changed.
    async fn shards(&self) -> Result<Vec<ShardRow>, Error> {
        let version = match self.reader.rows(statements::SHARDS_VERSION, &[]).await?.first() {
            Some(row) => {
                self.shared.set_spoken(row.try_get::<_, i32>(2)?.unsigned_abs());
                (row.try_get(0)?, row.try_get(1)?)
            }
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
