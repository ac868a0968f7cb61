//! What entities store, let through only under the epoch of their shard; see [`claim`](crate::store::claim).

use crate::store::batch::{Batch, Packed};
use crate::store::claim::{Claim, SHARDS_MAX, Takeover, claim_key, encode_claim, shards_key, stored_epoch, stored_shards};
use crate::store::error::Error;
use crate::store::layout::{Kind, TableId, Value};
use crate::store::session::{Session, leaves_the_rest_alone};
use crate::store::write::Outcome;

impl Session<'_> {
    /// Raises the epochs of shards, and says what they are now.
    pub(super) fn claim(&mut self, takeover: &Takeover) -> Result<Vec<Outcome>, Error> {
        self.check_shards(takeover.of)?;
        let mut outcomes = Vec::with_capacity(takeover.shards.len());
        for &shard in &takeover.shards {
            let epoch = self.epoch(shard)? + 1;
            self.tree.put(&mut self.txn, &claim_key(shard), &encode_claim(epoch, takeover.incarnation))?;
            self.epochs.insert(shard, epoch);
            outcomes.push(Outcome::Claimed(epoch));
        }
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
    pub(in crate::store) fn store(&mut self, batches: &[&Batch]) -> Result<Vec<Result<(), Error>>, Error> {
        let mut writes = Vec::new();
        let stored = batches.iter().map(|batch| self.admit(batch, &mut writes)).collect::<Result<_, _>>()?;
        writes.sort_by(|(id, write), (other_id, other)| (id, write.key).cmp(&(other_id, other.key)));
        for same_key in writes.chunk_by(|(id, write), (other_id, other)| (id, write.key) == (other_id, other.key)) {
            let Some((id, write)) = same_key.last() else { continue };
            match write.value {
                Some(bytes) => drop(self.put(*id, write.key, Value { bytes, expires_at_ms: write.expires_at_ms }, false)?),
                None => drop(self.delete(Kind::Table, *id, write.key)?),
            }
        }
        Ok(stored)
    }

    /// Takes the writes of a batch's calls that may be stored.
    fn admit<'b>(&mut self, batch: &'b Batch, writes: &mut Vec<(TableId, Packed<'b>)>) -> Result<Result<(), Error>, Error> {
        let ids: Result<Vec<_>, _> = batch.tables.iter().map(|table| self.registry.id_or_create(table)).collect();
        let ids = match ids.inspect_err(|error| batch.fail(error)) {
            Ok(ids) => ids,
            Err(error) if leaves_the_rest_alone(&error) => return Ok(Err(error)),
            Err(error) => return Err(error),
        };
        for (claim, gathered) in batch.calls() {
            if !claim.has_failed() && self.admits(claim, batch.number)? {
                writes.extend(gathered.filter_map(|write| Some((*ids.get(usize::from(write.table))?, write))));
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
