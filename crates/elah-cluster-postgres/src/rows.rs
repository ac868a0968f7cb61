//! The rows of several batches as the parameters of one statement.

use std::collections::BTreeMap;
use std::sync::Arc;

use elah_clock::Clock;
use elah_store::{Batch, Claim, Packed};

/// The most bytes of one statement, but for a single batch that is longer.
const BYTES_MAX: usize = 4 * 1024 * 1024;

/// A batch and whom to tell that it is settled.
pub(crate) struct Waiting {
    pub(crate) batch: Batch,
    pub(crate) done: elah_store::Told,
}

/// Batches that share a statement.
#[derive(Default)]
pub(crate) struct Group {
    batches: Vec<Waiting>,
}

/// The columns of a statement.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Columns {
    pub(crate) gone_tables: Vec<i32>,
    pub(crate) gone_keys: Vec<Vec<u8>>,
    pub(crate) tables: Vec<i32>,
    pub(crate) keys: Vec<Vec<u8>>,
    pub(crate) values: Vec<Vec<u8>>,
    pub(crate) lifetimes_ms: Vec<Option<i64>>,
}

impl Columns {
    pub(crate) fn is_empty(&self) -> bool {
        self.tables.is_empty() && self.gone_tables.is_empty()
    }
}

impl Group {
    /// Takes batches from the front of the queue, up to the bound.
    pub(crate) fn take(queue: &mut std::collections::VecDeque<Waiting>) -> Group {
        let mut group = Group::default();
        let mut bytes = 0;
        while let Some(waiting) = queue.front() {
            bytes += waiting.batch.bytes();
            if bytes > BYTES_MAX && !group.batches.is_empty() {
                break;
            }
            group.batches.extend(queue.pop_front());
        }
        group
    }

    /// The names of its tables.
    pub(crate) fn tables(&self) -> impl Iterator<Item = &str> {
        self.batches.iter().flat_map(|waiting| waiting.batch.tables.iter().map(|table| table.name()))
    }

    /// The last write to each key, sorted, of the calls whose claims hold. A call that does not count fails nothing but itself.
    pub(crate) fn columns(&self, number_of: impl Fn(&str) -> i32, holds: impl Fn(&Claim) -> bool, clock: &Clock) -> Columns {
        let mut last: BTreeMap<(i32, &[u8]), Packed<'_>> = BTreeMap::new();
        for Waiting { batch, .. } in &self.batches {
            let numbers: Vec<i32> = batch.tables.iter().map(|table| number_of(table.name())).collect();
            for (claim, writes) in batch.calls() {
                if claim.has_lost_writes() {
                    continue;
                }
                if !holds(claim) {
                    claim.fail(batch.number, &fenced(claim));
                    continue;
                }
                for write in writes {
                    if let Some(table) = numbers.get(usize::from(write.table)) {
                        last.insert((*table, write.key), write);
                    }
                }
            }
        }
        let now_ms = clock.now_ms();
        let mut columns = Columns::default();
        for ((table, key), write) in last {
            let Some(value) = write.value else {
                columns.gone_tables.push(table);
                columns.gone_keys.push(key.to_vec());
                continue;
            };
            columns.tables.push(table);
            columns.keys.push(key.to_vec());
            columns.values.push(value.to_vec());
            let lifetime = |at: u64| i64::try_from(at.saturating_sub(now_ms)).unwrap_or(i64::MAX / 2);
            columns.lifetimes_ms.push(write.expires_at_ms.map(lifetime));
        }
        columns
    }

    /// Everything is stored, or has failed its claims.
    pub(crate) fn settle(self) {
        for waiting in self.batches {
            (waiting.done)(());
        }
    }

    /// Nothing of it is stored.
    pub(crate) fn fail(self, error: &elah_store::Error) {
        for waiting in &self.batches {
            waiting.batch.fail(error);
        }
        self.settle();
    }

    /// Nothing of it is stored, because its writer has lost the shards.
    pub(crate) fn fail_fenced(self) {
        for Waiting { batch, .. } in &self.batches {
            for (claim, _) in batch.calls() {
                claim.fail(batch.number, &fenced(claim));
            }
        }
        self.settle();
    }
}

fn fenced(claim: &Arc<Claim>) -> elah_store::Error {
    elah_store::Error::Fenced { shard: claim.shard(), epoch: claim.epoch(), stored: claim.epoch() + 1 }
}
