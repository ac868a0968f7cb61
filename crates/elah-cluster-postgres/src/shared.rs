//! What the writer's thread and the threads that use the cluster both see.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use elah_store::{Claim, Told};

use crate::members::Members;

/// Told which shards the process should hand over; `None` when the cluster is closed.
pub type ReleaseTold = Told<Option<Vec<u16>>>;

pub(crate) struct Shared {
    /// The number of this process's writer; 0 while it has none.
    writer: AtomicU64,
    /// Changes with the owners, the members, or the writer.
    version: AtomicU64,
    /// When the lease ends, in nanoseconds since the machine's start.
    lease_end: AtomicU64,
    /// The epoch under which this process owns each shard; 0 for those that it does not own.
    epochs: Box<[AtomicU64]>,
    members: RwLock<Arc<Members>>,
    releases: Mutex<Releases>,
    /// Why the database accepts nothing at the moment.
    trouble: Mutex<Option<String>>,
}

#[derive(Default)]
struct Releases {
    due: Vec<u16>,
    waiting: Option<ReleaseTold>,
    is_closed: bool,
}

impl Shared {
    pub(crate) fn new(shards: usize) -> Shared {
        Shared {
            writer: AtomicU64::new(0),
            version: AtomicU64::new(1),
            lease_end: AtomicU64::new(0),
            epochs: (0..shards).map(|_| AtomicU64::new(0)).collect(),
            members: RwLock::default(),
            releases: Mutex::default(),
            trouble: Mutex::default(),
        }
    }

    pub(crate) fn writer(&self) -> u64 {
        self.writer.load(Ordering::Acquire)
    }

    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    pub(crate) fn changed(&self) {
        self.version.fetch_add(1, Ordering::AcqRel);
    }

    pub(crate) fn members(&self) -> Arc<Members> {
        Arc::clone(&self.members.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn set_members(&self, members: Members) {
        *self.members.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(members);
        self.changed();
    }

    /// Begins as another writer, without shards.
    pub(crate) fn set_writer(&self, writer: u64) {
        self.drop_all();
        self.writer.store(writer, Ordering::Release);
        self.changed();
    }

    pub(crate) fn own(&self, shard: u16, epoch: u64) {
        if let Some(own) = self.epochs.get(usize::from(shard)) {
            own.store(epoch, Ordering::Release);
        }
    }

    pub(crate) fn drop_all(&self) {
        self.lease_end.store(0, Ordering::Release);
        self.epochs.iter().for_each(|epoch| epoch.store(0, Ordering::Release));
        self.changed();
    }

    /// The epoch under which this process owns the shard; 0 if it does not.
    pub(crate) fn epoch(&self, shard: u16) -> u64 {
        self.epochs.get(usize::from(shard)).map_or(0, |epoch| epoch.load(Ordering::Acquire))
    }

    pub(crate) fn owned(&self) -> Vec<u16> {
        (0..=u16::MAX).take(self.epochs.len()).filter(|shard| self.epoch(*shard) != 0).collect()
    }

    /// Whether batches under the claim may be sent.
    pub(crate) fn holds(&self, claim: &Claim) -> bool {
        self.epoch(claim.shard()) == claim.epoch()
    }

    pub(crate) fn extend_lease(&self, end: Duration) {
        self.lease_end.store(u64::try_from(end.as_nanos()).unwrap_or(u64::MAX), Ordering::Release);
    }

    /// Whether nobody else can own its shards yet.
    pub(crate) fn is_leased(&self) -> bool {
        now().as_nanos() < u128::from(self.lease_end.load(Ordering::Acquire))
    }

    pub(crate) fn set_trouble(&self, trouble: Option<String>) {
        *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = trouble;
    }

    pub(crate) fn trouble(&self) -> Option<String> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Asks the process to hand shards over. `false` if nobody there does.
    pub(crate) fn ask_release(&self, shards: &[u16]) -> bool {
        let told = {
            let mut releases = self.releases.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(told) = releases.waiting.take() else {
                releases.due.extend(shards);
                return false;
            };
            told
        };
        told(Some(shards.to_vec()));
        true
    }

    /// Tells `told` when shards should be handed over, at once if some should.
    pub(crate) fn when_released(&self, told: ReleaseTold) {
        let now = {
            let mut releases = self.releases.lock().unwrap_or_else(PoisonError::into_inner);
            if releases.is_closed {
                None
            } else if releases.due.is_empty() {
                releases.waiting = Some(told);
                return;
            } else {
                Some(std::mem::take(&mut releases.due))
            }
        };
        told(now);
    }

    pub(crate) fn close_releases(&self) {
        let told = {
            let mut releases = self.releases.lock().unwrap_or_else(PoisonError::into_inner);
            releases.is_closed = true;
            releases.waiting.take()
        };
        if let Some(told) = told {
            told(None);
        }
    }
}

/// The time since the machine's start, with the time of its sleep: a lease must end while the machine sleeps.
pub(crate) fn now() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes into the struct that it is given.
    unsafe { libc::clock_gettime(libc::CLOCK_BOOTTIME, &raw mut time) };
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}
