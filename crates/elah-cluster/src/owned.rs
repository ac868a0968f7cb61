//! The shards of a writer, with the term of their memory.

use crate::action::Action;
use crate::statement::{Claimed, Held};

/// How far a shard is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Phase {
    /// Its memory is read.
    Restoring,
    /// Calls run.
    Serving,
    /// The last calls run.
    Stopping,
    /// No call runs.
    Stopped,
    /// Its release is in flight, or its fate is not known.
    Releasing,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Owned {
    held: Held,
    epoch: u64,
    phase: Phase,
}

/// All shards of a writer, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct OwnedShards {
    shards: Vec<Owned>,
    last_term: u64,
}

impl OwnedShards {
    pub(crate) fn len(&self) -> usize {
        self.shards.len()
    }

    pub(crate) fn phase(&self, shard: u32) -> Option<Phase> {
        self.find(shard).map(|index| self.shards[index].phase)
    }

    pub(crate) fn in_phase(&self, phase: Phase) -> impl Iterator<Item = u32> {
        self.shards.iter().filter(move |owned| owned.phase == phase).map(|owned| owned.held.shard)
    }

    /// How many shards are on their way to another writer.
    pub(crate) fn moving(&self) -> usize {
        self.shards.iter().filter(|owned| !matches!(owned.phase, Phase::Restoring | Phase::Serving)).count()
    }

    /// Whether the memory of the term may still change rows.
    pub(crate) fn allows(&self, held: Held) -> bool {
        let owned = self.find(held.shard).map(|index| &self.shards[index]);
        owned.is_some_and(|owned| owned.held == held && matches!(owned.phase, Phase::Serving | Phase::Stopping | Phase::Stopped))
    }

    /// Moves a shard on, if the term is current and it is in that phase.
    pub(crate) fn advance(&mut self, held: Held, from: Phase, to: Phase) {
        if let Some(index) = self.find(held.shard)
            && self.shards[index].held == held
            && self.shards[index].phase == from
        {
            self.shards[index].phase = to;
        }
    }

    pub(crate) fn stop(&mut self, shard: u32, actions: &mut Vec<Action>) {
        if let Some(index) = self.find(shard) {
            self.shards[index].phase = Phase::Stopping;
            actions.push(Action::Stop(self.shards[index].held));
        }
    }

    pub(crate) fn begin_release(&mut self, shard: u32) {
        if let Some(index) = self.find(shard) {
            self.shards[index].phase = Phase::Releasing;
        }
    }

    /// The database says that the shard is still this writer's.
    pub(crate) fn release_again(&mut self) {
        for owned in self.shards.iter_mut().filter(|owned| owned.phase == Phase::Releasing) {
            owned.phase = Phase::Stopped;
        }
    }

    /// Takes a shard that the database says is this writer's. Known ones stay as they are.
    pub(crate) fn adopt(&mut self, claimed: Claimed, actions: &mut Vec<Action>) {
        match self.shards.binary_search_by_key(&claimed.shard, |owned| owned.held.shard) {
            Ok(index) if self.shards[index].epoch == claimed.epoch => {}
            Ok(index) => {
                actions.push(Action::Drop(self.shards[index].held));
                self.shards[index] = self.restoring(claimed, actions);
            }
            Err(index) => {
                let owned = self.restoring(claimed, actions);
                self.shards.insert(index, owned);
            }
        }
    }

    fn restoring(&mut self, claimed: Claimed, actions: &mut Vec<Action>) -> Owned {
        self.last_term += 1;
        let held = Held { shard: claimed.shard, term: self.last_term };
        actions.push(Action::Restore(held));
        Owned { held, epoch: claimed.epoch, phase: Phase::Restoring }
    }

    /// Ends the term of a shard's memory. A shard that stays is restored; one on its way to another writer goes.
    pub(crate) fn renew(&mut self, held: Held, actions: &mut Vec<Action>) {
        let Some(index) = self.find(held.shard).filter(|index| self.shards[*index].held == held) else { return };
        actions.push(Action::Drop(held));
        match self.shards[index].phase {
            Phase::Restoring | Phase::Serving => {
                let claimed = Claimed { shard: held.shard, epoch: self.shards[index].epoch };
                self.shards[index] = self.restoring(claimed, actions);
            }
            Phase::Stopping | Phase::Stopped | Phase::Releasing => {
                self.last_term += 1;
                self.shards[index].held.term = self.last_term;
                self.shards[index].phase = Phase::Stopped;
            }
        }
    }

    /// Drops the shards that are not among these, and returns those of them that were to be released.
    pub(crate) fn retain(&mut self, claims: &[Claimed], actions: &mut Vec<Action>) -> Vec<u32> {
        let mut released = Vec::new();
        self.shards.retain(|owned| {
            let stays = claims.contains(&Claimed { shard: owned.held.shard, epoch: owned.epoch });
            if !stays {
                actions.push(Action::Drop(owned.held));
                if owned.phase == Phase::Releasing {
                    released.push(owned.held.shard);
                }
            }
            stays
        });
        released
    }

    /// Drops a released shard.
    pub(crate) fn remove(&mut self, shard: u32, actions: &mut Vec<Action>) {
        if let Some(index) = self.find(shard) {
            actions.push(Action::Drop(self.shards.remove(index).held));
        }
    }

    fn find(&self, shard: u32) -> Option<usize> {
        self.shards.binary_search_by_key(&shard, |owned| owned.held.shard).ok()
    }
}
