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
    /// When it came, in milliseconds since the machine's start.
    pub(crate) since_ms: u64,
}

/// Batches that share a statement.
#[derive(Default)]
pub(crate) struct Group {
    batches: Vec<Waiting>,
    /// The statement in which it was sent, if it was.
    pub(crate) serial: Option<u64>,
    /// Why the database refuses it, if it does.
    refusal: Option<elah_store::Error>,
}

/// The columns of a statement. Tables are places in the list of names, until they are numbered.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Columns {
    pub(crate) names: Vec<String>,
    pub(crate) gone_tables: Vec<i32>,
    pub(crate) gone_keys: Vec<Vec<u8>>,
    pub(crate) tables: Vec<i32>,
    pub(crate) keys: Vec<Vec<u8>>,
    pub(crate) values: Vec<Vec<u8>>,
    pub(crate) lifetimes_ms: Vec<Option<i64>>,
}

impl Columns {
    /// The place of a table's name; names come sorted.
    fn place_of(&mut self, name: &str) -> i32 {
        if self.names.last().is_none_or(|last| last != name) {
            self.names.push(name.to_owned());
        }
        i32::try_from(self.names.len() - 1).unwrap_or(i32::MAX)
    }

    /// Writes the tables' numbers, in the order of their names, in the places.
    pub(crate) fn number(&mut self, numbers: &[i32]) {
        for table in self.tables.iter_mut().chain(&mut self.gone_tables) {
            *table = usize::try_from(*table).ok().and_then(|place| numbers.get(place)).copied().unwrap_or(0);
        }
    }
}

impl From<Waiting> for Group {
    fn from(waiting: Waiting) -> Group {
        Group { batches: vec![waiting], ..Group::default() }
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

    /// When its first batch came.
    pub(crate) fn since_ms(&self) -> Option<u64> {
        self.batches.first().map(|waiting| waiting.since_ms)
    }

    /// The claims of the calls that count.
    pub(crate) fn claims(&self) -> impl Iterator<Item = &Arc<Claim>> {
        self.batches
            .iter()
            .flat_map(|Waiting { batch, .. }| batch.calls().map(|(claim, _)| claim).filter(|claim| counts(claim, batch)))
    }

    /// Leaves out the calls whose claims do not hold. They fail nothing but themselves.
    pub(crate) fn leave_out(&self, holds: impl Fn(&Claim) -> bool) {
        for Waiting { batch, .. } in &self.batches {
            for (claim, _) in batch.calls().filter(|(claim, _)| counts(claim, batch) && !holds(claim)) {
                claim.fail(batch.number, &claim.fenced());
            }
        }
    }

    /// The database will not store it.
    pub(crate) fn refuse(&mut self, error: elah_store::Error) {
        self.refusal = Some(error);
    }

    /// The last write to each key of the calls that count, sorted by the tables' names and the keys, as all writers sort theirs.
    pub(crate) fn columns(&self, clock: &Clock) -> Columns {
        let mut last: BTreeMap<(&str, &[u8]), Packed<'_>> = BTreeMap::new();
        for Waiting { batch, .. } in &self.batches {
            for (_, writes) in batch.calls().filter(|(claim, _)| counts(claim, batch)) {
                for write in writes {
                    if let Some(table) = batch.tables.get(usize::from(write.table)) {
                        last.insert((table.name(), write.key), write);
                    }
                }
            }
        }
        let now_ms = clock.now_ms();
        let mut columns = Columns::default();
        for ((name, key), write) in last {
            let table = columns.place_of(name);
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

    /// Nothing of it is stored: the database has refused it, or its writer has lost the shards, so that other owners may do it again.
    pub(crate) fn fail_not_stored(self) {
        if let Some(refusal) = self.refusal.clone() {
            return self.fail(&refusal);
        }
        for Waiting { batch, .. } in &self.batches {
            batch.calls().for_each(|(claim, _)| claim.fail(batch.number, &claim.fenced()));
        }
        self.settle();
    }
}

/// Whether calls of the batch under the claim build on no lost one.
fn counts(claim: &Claim, batch: &Batch) -> bool {
    claim.failure(batch.number).is_none()
}
