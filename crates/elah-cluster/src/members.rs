//! What a writer knows of the others: who lives, who is silent, and who owns what.

use crate::action::Action;
use crate::balance::Balance;
use crate::board::{Board, ShardRow, WriterRow};
use crate::config::Config;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Member {
    row: WriterRow,
    /// Since when the signs of life have been the same, by this writer's clock.
    since: u64,
    /// Whether the writer is fenced, by its row or since that was read.
    is_fenced: bool,
}

/// The other writers and all shards, as last read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Members {
    members: Vec<Member>,
    shards: Vec<ShardRow>,
    /// When the board was last read, unless a read has failed since.
    read_at: Option<u64>,
    /// When the database last replied to a statement of this writer; `None` before the first reply.
    confirmed_at: Option<u64>,
    /// When an active writer last appeared, left, or changed whether it is ready.
    changed_at: u64,
    reaped: Vec<u64>,
    /// Whether this writer has met no incompatible one, and so belongs to the cluster.
    pub(crate) has_joined: bool,
}

impl Members {
    /// Reads a board, and asks for the fences that are due.
    pub(crate) fn read(&mut self, now: u64, config: &Config, board: Board, actions: &mut Vec<Action>) {
        // Silence counts only while the own reads and signs of life succeed: otherwise all would seem dead after an outage of the database,
        // or after a time in which it was read-only. The others' last signs may be a fifth of a lease older than the last reply.
        let is_recent = |at: Option<u64>| at.is_some_and(|at| now - at <= config.lease * 3 / 4);
        let is_counting = is_recent(self.read_at) && is_recent(self.confirmed_at);
        let before = self.composition();
        let is_listed = board.writers.iter().any(|row| row.writer == config.writer && !row.is_fenced);
        for member in &self.members {
            let row = board.writers.iter().find(|row| row.writer == member.row.writer);
            if went_back(&member.row, row) {
                actions.push(Action::Lost { writer: member.row.writer });
            }
        }
        let others = board.writers.into_iter().filter(|row| row.writer != config.writer);
        self.members = others
            .map(|row| {
                let known = self.members.iter().find(|member| member.row.writer == row.writer && member.row.seen == row.seen);
                let since = known.filter(|_| is_counting).map_or(now, |member| member.since);
                Member { is_fenced: row.is_fenced, row, since }
            })
            .collect();
        self.members.sort_by_key(|member| member.row.writer);
        self.shards = board.shards;
        if before != self.composition() || self.read_at.is_none() {
            self.changed_at = now;
        }
        self.read_at = Some(now);
        if is_listed && !self.has_joined {
            self.join(config, actions);
        }
        self.fence(now, actions);
    }

    /// A read has failed: everybody's silence counts anew.
    pub(crate) fn reads_failed(&mut self) {
        self.read_at = None;
    }

    /// The database has replied to a statement of this writer.
    pub(crate) fn confirmed(&mut self, now: u64) {
        self.confirmed_at = Some(now);
    }

    /// Whoever is there first stays.
    fn join(&mut self, config: &Config, actions: &mut Vec<Action>) {
        let incompatible = self.active().find(|row| row.version.abs_diff(config.version) > 1);
        let report = incompatible.map(|row| Action::Incompatible { writer: row.writer, version: row.version });
        self.has_joined = report.is_none();
        actions.extend(report);
    }

    fn fence(&mut self, now: u64, actions: &mut Vec<Action>) {
        for member in self.members.iter().filter(|member| !member.is_fenced) {
            let writer = member.row.writer;
            if self.reaped.contains(&writer) {
                actions.push(Action::Fence { writer, seen: None });
            } else if now - member.since >= member.row.lease {
                actions.push(Action::Fence { writer, seen: Some(member.row.seen) });
            }
        }
        let members = &self.members;
        self.reaped.retain(|writer| members.iter().any(|member| member.row.writer == *writer && !member.is_fenced));
    }

    pub(crate) fn fenced(&mut self, now: u64, writer: u64) {
        self.reaped.retain(|reaped| *reaped != writer);
        if let Some(member) = self.members.iter_mut().find(|member| member.row.writer == writer) {
            member.is_fenced = true;
            self.changed_at = now;
        }
    }

    pub(crate) fn reaped(&mut self, writer: u64, actions: &mut Vec<Action>) {
        self.reaped.push(writer);
        actions.push(Action::Fence { writer, seen: None });
    }

    /// Records a change of an owner that this writer has made itself.
    pub(crate) fn set_owner(&mut self, shard: u32, writer: Option<u64>) {
        if let Some(row) = self.shards.iter_mut().find(|row| row.shard == shard) {
            row.writer = writer;
        }
    }

    /// Since when the members have been the same; `None` while nothing is known of them.
    pub(crate) fn same_since(&self) -> Option<u64> {
        self.read_at.map(|_| self.changed_at)
    }

    /// The shard map. `owns` says which shards are this writer's, since boards are late; `is_ready` whether it wants some.
    pub(crate) fn balance(&self, config: &Config, is_ready: bool, owns: impl Fn(u32) -> bool) -> Balance {
        let mut ready: Vec<u64> = self.active().filter(|row| row.is_ready).map(|row| row.writer).collect();
        if is_ready {
            ready.push(config.writer);
        }
        let owners: Vec<_> = self.shards.iter().map(|row| (row.shard, self.owner(config, row, &owns))).collect();
        Balance::new(&owners, &ready)
    }

    /// How many shards nobody owns.
    pub(crate) fn free(&self, config: &Config, owns: impl Fn(u32) -> bool) -> usize {
        self.shards.iter().filter(|row| self.owner(config, row, &owns).is_none()).count()
    }

    fn owner(&self, config: &Config, row: &ShardRow, owns: impl Fn(u32) -> bool) -> Option<u64> {
        if owns(row.shard) {
            return Some(config.writer);
        }
        row.writer.filter(|writer| self.members.iter().any(|member| member.row.writer == *writer && !member.is_fenced))
    }

    /// Whether another writer wants shards.
    pub(crate) fn has_ready(&self) -> bool {
        self.active().any(|row| row.is_ready)
    }

    /// Whether a server wants shards.
    pub(crate) fn has_server(&self) -> bool {
        self.active().any(|row| row.is_ready && row.is_server)
    }

    fn active(&self) -> impl Iterator<Item = &WriterRow> {
        self.members.iter().filter(|member| !member.is_fenced).map(|member| &member.row)
    }

    /// The other writers that are not fenced, and whether they are ready.
    fn composition(&self) -> Vec<(u64, bool)> {
        self.active().map(|row| (row.writer, row.is_ready)).collect()
    }
}

/// Whether the database has lost something that was read of a writer. Rows of fenced writers may be missing.
fn went_back(before: &WriterRow, row: Option<&WriterRow>) -> bool {
    row.is_some_and(|row| {
        row.seen.sequence < before.seen.sequence || row.seen.session < before.seen.session || (before.is_fenced && !row.is_fenced)
    })
}
