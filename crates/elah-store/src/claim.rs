//! Who may write what belongs to a shard: the *fence* that keeps an owner out that was replaced while it was paused.
//!
//! Everything that entities store belongs to one of a fixed number of shards. Before its first write an owner *claims* the shard: the
//! writer raises the shard's epoch by one, durably, and notes by whom. Each later batch carries the epoch of its owner, and the writer
//! compares it with the stored one inside the transaction that would store the batch: an owner with an older epoch stores nothing.
//!
//! | key | value |
//! |---|---|
//! | 0, 4, shard (2, big endian) | epoch (8, little endian), generation of the owner (8, little endian) |
//! | 0, 5 | number of shards (4, little endian), set by the first claim and never changed |
//! | 0, 6 | number of takeovers (8, little endian), one more with each transaction that claims shards |
//!
//! An owner that only reads never meets the fence. It compares the number of takeovers, which it looks up once for each commit of the store,
//! and looks at its shard's epoch when that number has changed.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use super::error::Error;
use super::layout::{CLAIMS, SHARDS, TAKEOVERS};

/// The most shards that a store can be divided into.
pub const SHARDS_MAX: u32 = 65_536;

/// An owner's right to write to one shard, for as long as nobody else claims it.
///
/// It is also what the owner's batches have in common: the first that is not stored fails the claim and, with it, every later batch that
/// may build on what was lost, also those that wait already.
#[derive(Debug)]
pub struct Claim {
    shard: u16,
    epoch: u64,
    failure: OnceLock<(u64, Error)>,
    /// The number of takeovers at which the epoch was found to be the stored one.
    checked_at: AtomicU64,
    /// Whether it was found that another owner has claimed the shard.
    is_taken: AtomicBool,
}

impl Claim {
    pub(super) fn new(shard: u16, epoch: u64) -> Arc<Self> {
        Arc::new(Claim {
            shard,
            epoch,
            failure: OnceLock::new(),
            checked_at: AtomicU64::new(0),
            is_taken: AtomicBool::new(false),
        })
    }

    /// The shard that it is for.
    pub fn shard(&self) -> u16 {
        self.shard
    }

    /// The shard's epoch under this claim.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Why the batch `number`, or one before it, was not stored.
    pub fn failure(&self, number: u64) -> Option<&Error> {
        self.failure.get().filter(|(failed_at, _)| *failed_at <= number).map(|(_, error)| error)
    }

    /// Whether nothing can be stored under it any more.
    pub fn has_failed(&self) -> bool {
        self.has_lost_writes() || self.is_taken.load(Ordering::Acquire)
    }

    /// Whether a batch under it was not stored.
    pub(super) fn has_lost_writes(&self) -> bool {
        self.failure.get().is_some()
    }

    /// Whether nobody else had claimed the shard when there had been so many `takeovers`; `stored` looks up the shard's epoch.
    pub(super) fn check(&self, takeovers: u64, stored: impl FnOnce() -> Result<u64, Error>) -> Result<bool, Error> {
        if self.checked_at.load(Ordering::Acquire) != takeovers {
            if stored()? != self.epoch {
                self.is_taken.store(true, Ordering::Release);
            }
            self.checked_at.store(takeovers, Ordering::Release);
        }
        Ok(!self.is_taken.load(Ordering::Acquire))
    }

    /// The same right for batches that build on nothing that was lost. `None` when another owner has the shard.
    pub fn renewed(&self) -> Option<Arc<Self>> {
        match self.failure.get() {
            Some((_, Error::Fenced { .. })) => None,
            _ if self.is_taken.load(Ordering::Acquire) => None,
            _ => Some(Claim::new(self.shard, self.epoch)),
        }
    }

    pub(super) fn fail(&self, number: u64, error: &Error) {
        let _ = self.failure.set((number, error.clone()));
    }
}

/// What an owner asks for when it claims shards.
#[derive(Clone, Debug)]
pub(super) struct Takeover {
    pub(super) shards: Vec<u16>,
    /// How many there are; a store keeps the number of its first claim.
    pub(super) of: u32,
    pub(super) generation: u64,
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

/// The number of takeovers that is stored; 0 before the first.
pub(super) fn stored_takeovers(row: Option<&[u8]>) -> u64 {
    row.and_then(|row| Some(u64::from_le_bytes(row.try_into().ok()?))).unwrap_or(0)
}

pub(super) fn encode_claim(epoch: u64, generation: u64) -> [u8; 16] {
    let mut row = [0; 16];
    row[..8].copy_from_slice(&epoch.to_le_bytes());
    row[8..].copy_from_slice(&generation.to_le_bytes());
    row
}

/// The epoch that a stored claim says.
pub(super) fn stored_epoch(row: &[u8]) -> Result<u64, Error> {
    let epoch = row.first_chunk::<8>().ok_or_else(|| Error::Failed { why: "the claim of a shard is damaged".to_owned() })?;
    Ok(u64::from_le_bytes(*epoch))
}

pub(super) fn stored_shards(row: &[u8]) -> Result<u32, Error> {
    let shards = row.try_into().map_err(|_| Error::Failed { why: "the number of shards is damaged".to_owned() })?;
    Ok(u32::from_le_bytes(shards))
}
