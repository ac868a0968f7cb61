//! The *fence*: it keeps a paused and replaced owner from writing to its former shards.
//!
//! Everything that entities store belongs to one of a fixed number of shards. Before its first write an owner *claims* the shard:
//! the writer raises the shard's epoch by one, durably, and records the owner. Each later batch carries its owner's epoch. The
//! writer compares it with the stored one inside the transaction that would store the batch, and stores nothing of an owner with
//! an older epoch.
//!
//! | key | value |
//! |---|---|
//! | 0, 4, shard (2, big endian) | epoch (8, little endian), generation of the owner (8, little endian) |
//! | 0, 5 | number of shards (4, little endian), set by the first claim and never changed |
//! | 0, 6 | number of takeovers (8, little endian), one more with each transaction that claims shards |
//!
//! A read does not pass the fence. Instead its owner compares the number of takeovers, which it looks up once for each commit of
//! the store. When the number has changed, it checks its shard's epoch.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::error::Error;
use super::layout::{CLAIMS, SHARDS, TAKEOVERS};

/// The most shards of a store.
pub const SHARDS_MAX: u32 = 65_536;

/// An owner's right to write to one shard, until somebody else claims it.
///
/// The owner's batches share it. The first batch that is not stored fails the claim, and with it every later batch that may build
/// on it, including waiting ones.
#[derive(Debug)]
pub struct Claim {
    shard: u16,
    epoch: u64,
    /// The number of the earliest batch that was not stored; `u64::MAX` while all are.
    failed_at: AtomicU64,
    /// Why that batch was not stored.
    failure: Mutex<Option<Error>>,
    /// The number of takeovers at the last check that found the epoch valid.
    checked_at: AtomicU64,
    /// Whether another owner is known to have claimed the shard.
    is_taken: AtomicBool,
    /// Whether it replaces a failed one, and nothing is known to be stored under it.
    is_on_trial: AtomicBool,
}

impl Claim {
    /// The right to write to `shard` under `epoch`, which whoever stores its batches has granted.
    pub fn new(shard: u16, epoch: u64) -> Arc<Self> {
        Self::with(shard, epoch, false)
    }

    fn with(shard: u16, epoch: u64, is_on_trial: bool) -> Arc<Self> {
        Arc::new(Claim {
            shard,
            epoch,
            failed_at: AtomicU64::new(u64::MAX),
            failure: Mutex::new(None),
            checked_at: AtomicU64::new(0),
            is_taken: AtomicBool::new(false),
            is_on_trial: AtomicBool::new(is_on_trial),
        })
    }

    /// The shard of the claim.
    pub fn shard(&self) -> u16 {
        self.shard
    }

    /// The shard's epoch under this claim.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Why the batch `number`, or the earliest one that it may build on, was not stored.
    pub fn failure(&self, number: u64) -> Option<Error> {
        if self.failed_at.load(Ordering::Acquire) > number {
            return None;
        }
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Another owner has the shard, or soon does: nothing is stored.
    pub fn fenced(&self) -> Error {
        Error::Fenced { shard: self.shard, epoch: self.epoch, stored: self.epoch + 1 }
    }

    /// Why nothing can be stored under the claim any more.
    pub fn loss(&self) -> Option<Error> {
        if self.is_taken.load(Ordering::Acquire) { Some(self.fenced()) } else { self.failure(u64::MAX) }
    }

    /// Whether nothing can be stored under the claim any more.
    pub fn has_failed(&self) -> bool {
        self.failed_at.load(Ordering::Acquire) < u64::MAX || self.is_taken.load(Ordering::Acquire)
    }

    /// Records that another owner has the shard.
    pub fn take_away(&self) {
        self.is_taken.store(true, Ordering::Release);
    }

    /// Whether nobody else had claimed the shard at this number of `takeovers`; `stored` looks up the shard's epoch.
    pub(super) fn check(&self, takeovers: u64, stored: impl FnOnce() -> Result<u64, Error>) -> Result<bool, Error> {
        if self.checked_at.load(Ordering::Acquire) != takeovers {
            if stored()? != self.epoch {
                self.take_away();
            }
            self.checked_at.store(takeovers, Ordering::Release);
        }
        Ok(!self.is_taken.load(Ordering::Acquire))
    }

    /// The same right for batches that do not build on lost ones. `None` if another owner has the shard.
    pub fn renewed(&self) -> Option<Arc<Self>> {
        (!self.is_taken.load(Ordering::Acquire)).then(|| Self::with(self.shard, self.epoch, self.has_failed()))
    }

    /// Whether it replaces a failed claim, and nothing is known to be stored under it: the next batch may fail for the same reason.
    pub fn is_on_trial(&self) -> bool {
        self.is_on_trial.load(Ordering::Relaxed)
    }

    /// Records that a batch was stored under it.
    pub fn end_trial(&self) {
        self.is_on_trial.store(false, Ordering::Relaxed);
    }

    /// Records that the batch `number` was not stored, in whatever order batches fail.
    pub fn fail(&self, number: u64, error: &Error) {
        if matches!(error, Error::Fenced { .. }) {
            self.take_away();
        }
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        if self.failed_at.fetch_min(number, Ordering::AcqRel) > number {
            *failure = Some(error.clone());
        }
    }
}

/// An owner's request for shards.
#[derive(Clone, Debug)]
pub struct Takeover {
    /// The wanted shards.
    pub shards: Vec<u16>,
    /// The number of shards; a store keeps that of its first claim.
    pub of: u32,
    /// The owner.
    pub generation: u64,
}

pub(super) fn claim_key(shard: u16) -> [u8; 4] {
    let [high, low] = shard.to_be_bytes();
    [CLAIMS[0], CLAIMS[1], high, low]
}

pub(super) fn shards_key() -> &'static [u8] {
    &SHARDS
}

pub(super) fn takeovers_key() -> &'static [u8] {
    &TAKEOVERS
}

/// The stored number of takeovers; 0 before the first.
pub(super) fn stored_takeovers(row: Option<&[u8]>) -> u64 {
    row.and_then(|row| Some(u64::from_le_bytes(row.try_into().ok()?))).unwrap_or(0)
}

pub(super) fn encode_claim(epoch: u64, generation: u64) -> [u8; 16] {
    let mut row = [0; 16];
    row[..8].copy_from_slice(&epoch.to_le_bytes());
    row[8..].copy_from_slice(&generation.to_le_bytes());
    row
}

/// The epoch in a stored claim.
pub(super) fn stored_epoch(row: &[u8]) -> Result<u64, Error> {
    let epoch = row.first_chunk::<8>().ok_or_else(|| Error::Failed { why: "the claim of a shard is damaged".to_owned() })?;
    Ok(u64::from_le_bytes(*epoch))
}

pub(super) fn stored_shards(row: &[u8]) -> Result<u32, Error> {
    let shards = row.try_into().map_err(|_| Error::Failed { why: "the number of shards is damaged".to_owned() })?;
    Ok(u32::from_le_bytes(shards))
}
