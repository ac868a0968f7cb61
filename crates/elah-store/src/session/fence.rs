//! What entities store, let through only under the epoch of their shard; see [`claim`](crate::claim).

use std::cmp::Ordering;

use crate::batch::{Batch, Packed};
use crate::claim::{
    Claim, SHARDS_MAX, Takeover, claim_key, encode_claim, shards_key, stored_epoch, stored_shards, stored_takeovers,
    takeovers_key,
};
use crate::env::NewRows;
use crate::error::Error;
use crate::layout::{FullKey, Kind, TableId, Value};
use crate::session::{Session, leaves_the_rest_alone};
use crate::write::Outcome;

/// After this many rows that nobody waits for the loop may have the core, else a request may wait for it a scheduler's whole slice.
const ROWS_AT_ONCE: usize = 32;

impl Session<'_> {
    /// Raises the epochs of shards, and says what they are now.
    pub(super) fn claim(&mut self, takeover: &Takeover) -> Result<Vec<Outcome>, Error> {
        self.check_shards(takeover.of)?;
        let mut outcomes = Vec::with_capacity(takeover.shards.len());
        for &shard in &takeover.shards {
            let epoch = self.epoch(shard)? + 1;
            self.tree.put(&mut self.txn, &claim_key(shard), &encode_claim(epoch, takeover.generation))?;
            self.epochs.insert(shard, epoch);
            outcomes.push(Outcome::Claimed(epoch));
        }
        let takeovers = stored_takeovers(self.tree.get(&self.txn, takeovers_key())?) + 1;
        self.tree.put(&mut self.txn, takeovers_key(), &takeovers.to_le_bytes())?;
        Ok(outcomes)
    }

    fn check_shards(&mut self, asked: u32) -> Result<(), Error> {
        let stored = self.tree.get(&self.txn, shards_key())?.map(stored_shards).transpose()?;
        match stored {
            Some(stored) if stored == asked => Ok(()),
            None if (1..=SHARDS_MAX).contains(&asked) => Ok(self.tree.put(&mut self.txn, shards_key(), &asked.to_le_bytes())?),
            stored => Err(Error::OtherShards { stored: stored.unwrap_or(0), asked }),
        }
    }

    /// Stores what the calls of batches have gathered, and says what became of each batch. A call whose shard has another owner, or that may
    /// build on what was not stored, is left out, and its claim says so.
    ///
    /// All writes go in the order of their keys, so that those of one page meet it once; of several to a key only the last one does.
    ///
    /// As long as it `is_patient` it lets others have the core between some rows and the next.
    pub(crate) fn store(&mut self, batches: &[&Batch], is_patient: &dyn Fn() -> bool) -> Result<Vec<Result<(), Error>>, Error> {
        let mut writes = Vec::new();
        let stored = batches.iter().map(|batch| self.admit(batch, &mut writes)).collect::<Result<_, _>>()?;
        for write in self.put_new(&in_order(&writes), is_patient)? {
            match write.value {
                Some(bytes) => drop(self.put(write.id, write.key, Value { bytes, expires_at_ms: write.expires_at_ms }, false)?),
                None => drop(self.delete(Kind::Table, write.id, write.key)?),
            }
        }
        Ok(stored)
    }

    /// Stores the values whose keys are new, as most are that entities write, and gives back the other writes.
    fn put_new<'w>(&mut self, writes: &[Admitted<'w>], is_patient: &dyn Fn() -> bool) -> Result<Vec<Admitted<'w>>, Error> {
        let mut others = Vec::new();
        let mut rows = NewRows::new(self.tree, &mut self.txn)?;
        let mut stored = Vec::new();
        for of_table in writes.chunk_by(|write, other| write.id == other.id) {
            let mut added = 0;
            for (index, write) in of_table.iter().enumerate() {
                if index % ROWS_AT_ONCE == ROWS_AT_ONCE - 1 && is_patient() {
                    std::thread::yield_now();
                }
                let is_new = match write.value {
                    Some(bytes) if write.expires_at_ms.is_none() => {
                        Value { bytes, expires_at_ms: None }.encode_into(&mut stored);
                        rows.put(FullKey::new(write.id, write.key)?.as_bytes(), &stored)?
                    }
                    _ => false,
                };
                if is_new {
                    added += 1;
                } else {
                    others.push(*write);
                }
            }
            self.registry.count_added(of_table[0].id, added);
        }
        Ok(others)
    }

    /// Takes the writes of a batch's calls that may be stored.
    fn admit<'b>(&mut self, batch: &'b Batch, writes: &mut Vec<Admitted<'b>>) -> Result<Result<(), Error>, Error> {
        let ids: Result<Vec<_>, _> = batch.tables.iter().map(|table| self.registry.id_or_create(table)).collect();
        let ids = match ids.inspect_err(|error| batch.fail(error)) {
            Ok(ids) => ids,
            Err(error) if leaves_the_rest_alone(&error) => return Ok(Err(error)),
            Err(error) => return Err(error),
        };
        for (claim, gathered) in batch.calls() {
            if claim.failure(batch.number).is_none() && self.admits(claim, batch.number)? {
                writes.extend(gathered.filter_map(|write| Some(Admitted::new(*ids.get(usize::from(write.table))?, write))));
            }
        }
        Ok(Ok(()))
    }

    fn admits(&mut self, claim: &Claim, number: u64) -> Result<bool, Error> {
        let stored = self.epoch(claim.shard())?;
        if stored != claim.epoch() {
            claim.fail(number, &Error::Fenced { shard: claim.shard(), epoch: claim.epoch(), stored });
        }
        Ok(stored == claim.epoch())
    }

    /// The epoch of a shard, 0 before its first claim. Looked up once in a transaction.
    fn epoch(&mut self, shard: u16) -> Result<u64, Error> {
        if let Some(&epoch) = self.epochs.get(&shard) {
            return Ok(epoch);
        }
        let epoch = self.tree.get(&self.txn, &claim_key(shard))?.map_or(Ok(0), stored_epoch)?;
        self.epochs.insert(shard, epoch);
        Ok(epoch)
    }
}

/// Bytes of a key that are compared at once.
const HEAD_BYTES: usize = 24;

/// A write whose call is let through, and what its place among the others is found by.
#[derive(Clone, Copy)]
struct Admitted<'a> {
    id: TableId,
    /// What the key begins with, filled up with zeros: numbers in the order of the bytes, so that most keys are compared without a look at
    /// where they lie.
    head: [u64; HEAD_BYTES / 8],
    key: &'a [u8],
    value: Option<&'a [u8]>,
    expires_at_ms: Option<u64>,
}

impl<'a> Admitted<'a> {
    fn new(id: TableId, write: Packed<'a>) -> Self {
        let mut bytes = [0; HEAD_BYTES];
        let length = write.key.len().min(HEAD_BYTES);
        bytes[..length].copy_from_slice(&write.key[..length]);
        let (words, _) = bytes.as_chunks::<8>();
        let head = [words[0], words[1], words[2]].map(u64::from_be_bytes);
        Admitted { id, head, key: write.key, value: write.value, expires_at_ms: write.expires_at_ms }
    }

    fn order(&self, other: &Self) -> Ordering {
        (self.id, self.head).cmp(&(other.id, other.head)).then_with(|| self.key.cmp(other.key))
    }
}

/// Writes in the order of their tables and keys; of several to one key the last.
fn in_order<'a>(writes: &[Admitted<'a>]) -> Vec<Admitted<'a>> {
    let mut places: Vec<u32> = (0..writes.len() as u32).collect();
    let at = |place: &u32| &writes[*place as usize];
    places.sort_unstable_by(|place, other| at(place).order(at(other)).then(place.cmp(other)));
    let same_key = places.chunk_by(|place, other| at(place).order(at(other)).is_eq());
    same_key.filter_map(|places| places.last()).map(|place| *at(place)).collect()
}
