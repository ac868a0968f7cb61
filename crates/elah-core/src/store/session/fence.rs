//! What entities store, let through only under the epoch of their shard; see [`claim`](crate::store::claim).

use crate::store::batch::Batch;
use crate::store::claim::{Claim, SHARDS_MAX, Takeover, claim_key, encode_claim, shards_key, stored_epoch, stored_shards};
use crate::store::error::Error;
use crate::store::layout::{Kind, Value};
use crate::store::session::Session;
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

    /// Stores what calls have gathered. A call whose shard has another owner, or that may build on what was not stored, is left out,
    /// and its claim says so.
    pub(super) fn store(&mut self, batch: &Batch) -> Result<(), Error> {
        let ids: Result<Vec<_>, _> = batch.tables.iter().map(|table| self.registry.id_or_create(table)).collect();
        let ids = ids.inspect_err(|error| batch.fail(error))?;
        for (claim, writes) in batch.calls() {
            if claim.has_failed() || !self.admits(claim, batch.number)? {
                continue;
            }
            for write in writes {
                let Some(&id) = ids.get(usize::from(write.table)) else { continue };
                match write.value {
                    Some(bytes) => drop(self.put(id, write.key, Value { bytes, expires_at_ms: write.expires_at_ms }, false)?),
                    None => drop(self.delete(Kind::Table, id, write.key)?),
                }
            }
        }
        Ok(())
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
