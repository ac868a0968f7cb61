//! What group commits need of a store: the embedded store has it, and so has the database of a cluster.

use std::sync::Arc;
use std::time::Duration;

use super::batch::Batch;
use super::claim::{Claim, Takeover};
use super::error::Error;
use super::merge::{Keys, Pending};
use super::queue::{Done, Job};
use super::range::{Entry, Range};
use super::shared::Handle;
use super::table::TableName;
use super::write::{Outcome, Work};

/// Called once, from any thread.
pub type Told<T = ()> = Box<dyn FnOnce(T) + Send>;

/// Stores batches in the order in which it gets them.
pub trait BatchStore: Send + Sync {
    /// Stores a batch. When `done` is called, whatever could not be stored has failed its claims.
    fn store(&self, batch: Batch, done: Told);

    /// Claims shards; `done` gets those that were granted, once no other owner can write to them.
    fn claim(&self, takeover: Takeover, done: Told<Result<Vec<Arc<Claim>>, Error>>);

    /// Whether what the owner of the claim has in memory is still the truth, as far as this process can know.
    fn still_owns(&self, claim: &Claim) -> bool;

    /// Somebody waits for a batch that was allowed to wait for others.
    fn hurry(&self);

    /// The expiry of something with the lifetime `ttl` from now, in milliseconds since 1970 by the store's clock.
    fn expiry(&self, ttl: Duration) -> u64;

    /// Appends a value to `into`, and says whether there is one. `None` if rows cannot be read without waiting.
    fn get_now(&self, table: &TableName, key: &[u8], into: &mut Vec<u8>) -> Option<Result<bool, Error>>;

    /// A range of stored rows, changed by `own`. `None` if rows cannot be read without waiting.
    fn range_now(&self, table: &TableName, range: &Range, own: &Own) -> Option<Result<Vec<Entry>, Error>>;

    /// A range of stored rows, for the owner of the claim.
    fn range_later(&self, claim: &Arc<Claim>, table: &Arc<TableName>, range: Range, done: Told<Result<Vec<Entry>, Error>>);
}

/// Writes of a call that are not stored yet, by key.
pub struct Own(pub(super) Keys<Pending>);

impl BatchStore for Handle {
    fn store(&self, batch: Batch, done: Told) {
        let done: Done = Box::new(move |_| done(()));
        self.submit(Job::Change(Work::Batch(batch), done));
    }

    fn claim(&self, takeover: Takeover, done: Told<Result<Vec<Arc<Claim>>, Error>>) {
        let shards = takeover.shards.clone();
        let done: Done = Box::new(move |outcomes| {
            done(outcomes.map(|outcomes| {
                let claim = |(shard, outcome): (u16, Outcome)| match outcome {
                    Outcome::Claimed(epoch) => Some(Claim::new(shard, epoch)),
                    _ => None,
                };
                shards.into_iter().zip(outcomes).filter_map(claim).collect()
            }));
        });
        self.submit(Job::Change(Work::Claim(takeover), done));
    }

    fn still_owns(&self, claim: &Claim) -> bool {
        self.with(|engine| engine.still_owns(claim)).unwrap_or(true)
    }

    fn hurry(&self) {
        Handle::hurry(self);
    }

    fn expiry(&self, ttl: Duration) -> u64 {
        self.clock().expiry(ttl)
    }

    fn get_now(&self, table: &TableName, key: &[u8], into: &mut Vec<u8>) -> Option<Result<bool, Error>> {
        Some(self.with(|engine| engine.get(table, key, into)))
    }

    fn range_now(&self, table: &TableName, range: &Range, own: &Own) -> Option<Result<Vec<Entry>, Error>> {
        Some(self.with(|engine| engine.range_with(table, range, &own.0)))
    }

    fn range_later(&self, _: &Arc<Claim>, table: &Arc<TableName>, range: Range, done: Told<Result<Vec<Entry>, Error>>) {
        done(self.with(|engine| engine.range_with(table, &range, &Keys::default())));
    }
}
