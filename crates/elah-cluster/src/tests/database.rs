//! The model of the database: what the statements do to the rows of writers, shards and entities, in plain Rust.

use super::rules::{LEASE, Omission, Rules};
use crate::{Board, Claimed, Opened, Reply, Seen, ShardRow, Statement, WriterRow};

/// What a shard's rows say: the writes that they contain, oldest first.
pub(super) type Writes = Vec<u8>;

/// The rows that a batch stores, and what they were when its writer changed them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Payload {
    pub(super) shard: u32,
    pub(super) before: Writes,
    pub(super) write: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Sent {
    pub(super) serial: u64,
    pub(super) statement: Statement,
    pub(super) payload: Option<Payload>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Database {
    /// By writer, from 1.
    writers: Vec<Option<Row>>,
    pub(super) shards: Vec<Shard>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Row {
    seen: Seen,
    is_ready: bool,
    is_fenced: bool,
    version: u32,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Shard {
    epoch: u64,
    pub(super) writer: Option<u64>,
    pub(super) writes: Writes,
}

impl Database {
    pub(super) fn new(writers: usize, shards: usize) -> Self {
        Database { writers: vec![None; writers], shards: vec![Shard::default(); shards] }
    }

    fn row(&self, writer: u64) -> Option<&Row> {
        self.writers[writer as usize - 1].as_ref()
    }

    fn row_mut(&mut self, writer: u64) -> Option<&mut Row> {
        self.writers[writer as usize - 1].as_mut()
    }

    pub(super) fn is_fenced(&self, writer: u64) -> bool {
        self.row(writer).is_some_and(|row| row.is_fenced)
    }

    pub(super) fn sequence(&self, writer: u64) -> u64 {
        self.row(writer).map_or(0, |row| row.seen.sequence)
    }

    /// Whether a read finds what its writer knows of itself.
    pub(super) fn shows(&self, writer: u64, witness: Seen) -> bool {
        let seen = self.row(writer).map(|row| row.seen);
        seen.is_some_and(|seen| seen.session == witness.session && seen.sequence >= witness.sequence)
    }

    pub(super) fn board(&self) -> Board {
        let writers = (1..).zip(&self.writers).filter_map(|(writer, row)| {
            let Row { seen, is_ready, is_fenced, version } = row.clone()?;
            Some(WriterRow { writer, version, lease: LEASE, is_ready, is_server: true, seen, is_fenced })
        });
        let shards = (0..).zip(&self.shards).map(|(shard, row)| ShardRow { shard, epoch: row.epoch, writer: row.writer });
        Board { writers: writers.collect(), shards: shards.collect() }
    }

    pub(super) fn fence(&mut self, writer: u64, seen: Option<Seen>, omission: Omission) -> bool {
        let Some(row) = self.row_mut(writer) else { return false };
        let is_as_seen = seen.is_none_or(|seen| row.seen == seen) || omission == Omission::SignsOfLife;
        let fences = is_as_seen && !row.is_fenced;
        row.is_fenced |= fences;
        fences
    }

    /// Executes a statement. `true` besides the reply if a batch was stored.
    pub(super) fn execute(&mut self, rules: &Rules, writer: u64, sent: &Sent) -> (Reply, bool) {
        let (omission, numbers_claims) = (rules.omission, rules.safeguards.numbers_claims);
        let version = rules.versions[writer as usize - 1];
        let (session, after) = match sent.statement {
            Statement::Open { register } => return (Reply::Opened(self.open(writer, version, sent.serial, register)), false),
            Statement::Batch { session, after, .. }
            | Statement::Beat { session, after, .. }
            | Statement::Claim { session, after, .. }
            | Statement::Release { session, after, .. } => (session, after),
        };
        let is_claim = matches!(sent.statement, Statement::Claim { .. });
        let counts = self.row_mut(writer).is_some_and(|row| {
            let is_next = row.seen.sequence == after || omission == Omission::Order;
            let counts = (row.seen.session == session || omission == Omission::Session)
                && is_next
                && (!row.is_fenced || omission == Omission::Fence);
            if counts && (numbers_claims || !is_claim) {
                row.seen.sequence = sent.serial;
            }
            counts
        });
        if !counts {
            return (if is_claim { Reply::Claims(None) } else { Reply::Done(false) }, false);
        }
        match &sent.statement {
            Statement::Claim { shards, .. } => {
                let claims = shards.iter().filter_map(|shard| self.claim(writer, *shard, omission));
                return (Reply::Claims(Some(claims.collect())), false);
            }
            Statement::Beat { ready, .. } => {
                if let Some(row) = self.row_mut(writer) {
                    row.is_ready = *ready;
                }
            }
            Statement::Release { shards, .. } => {
                for shard in shards {
                    let row = &mut self.shards[*shard as usize];
                    row.writer = row.writer.filter(|owner| *owner != writer);
                }
            }
            Statement::Open { .. } | Statement::Batch { .. } => {}
        }
        if let Some(payload) = &sent.payload {
            let shard = &mut self.shards[payload.shard as usize];
            shard.writes = payload.before.clone();
            shard.writes.push(payload.write);
        }
        (Reply::Done(true), sent.payload.is_some())
    }

    fn open(&mut self, writer: u64, version: u32, serial: u64, register: bool) -> Opened {
        let place = &mut self.writers[writer as usize - 1];
        if register && place.is_none() {
            let seen = Seen { sequence: 0, session: 0 };
            *place = Some(Row { seen, is_ready: false, is_fenced: false, version });
        }
        let Some(row) = place else { return Opened::Missing };
        let sequence = row.seen.sequence;
        if row.is_fenced {
            return Opened::Fenced { sequence };
        }
        if row.seen.session >= serial {
            return Opened::Missing;
        }
        row.seen.session = serial;
        let own = (0..).zip(&self.shards).filter(|(_, row)| row.writer == Some(writer));
        Opened::Session { sequence, shards: own.map(|(shard, row)| Claimed { shard, epoch: row.epoch }).collect() }
    }

    fn claim(&mut self, writer: u64, shard: u32, omission: Omission) -> Option<Claimed> {
        let owner = self.shards[shard as usize].writer;
        let is_owned = owner.is_some_and(|owner| self.row(owner).is_some_and(|row| !row.is_fenced));
        if is_owned && omission != Omission::Owner {
            return None;
        }
        let row = &mut self.shards[shard as usize];
        row.writer = Some(writer);
        row.epoch += 1;
        Some(Claimed { shard, epoch: row.epoch })
    }
}
