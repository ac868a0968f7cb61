//! What the writer's thread and the threads that use the cluster both see.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use elah_store::{Claim, Told};

use crate::figures::{Counts, Figures};
use crate::members::Members;

/// Notes that wait to be logged.
const NOTES_MAX: usize = 100;

/// Told which shards the process should hand over; `None` when the cluster is closed.
pub type ReleaseTold = Told<Option<Vec<(u16, u64)>>>;

pub(crate) struct Shared {
    /// The number of this process's writer; 0 while it has none.
    writer: AtomicU64,
    /// Changes with the owners, the members, or the writer.
    version: AtomicU64,
    /// When the lease ends, in milliseconds since the machine's start.
    lease_end_ms: AtomicU64,
    /// Of each shard the term of what this process has in memory of it; 0 if it does not own it.
    terms: Box<[AtomicU64]>,
    members: RwLock<Arc<Members>>,
    releases: Mutex<Releases>,
    /// Why the database accepts nothing at the moment.
    trouble: Mutex<Option<String>>,
    /// Whether a batch was refused for want of room since it was last asked.
    was_full: AtomicBool,
    notes: Mutex<Vec<String>>,
    /// When the process last came back, in milliseconds since the machine's start; 0 if it never did.
    came_back_ms: AtomicU64,
    /// The version by which all work; 0 while it is not known.
    spoken: AtomicU32,
    shown: Mutex<Shown>,
    pub(crate) counts: Counts,
}

/// What the process tells others of itself while it runs.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Shown {
    /// Where processes of other machines call it; empty for nowhere.
    pub(crate) address: String,
    /// Whether it is a worker of a server.
    pub(crate) is_server: bool,
}

#[derive(Default)]
struct Releases {
    /// Shards, and the terms that end.
    due: Vec<(u16, u64)>,
    waiting: Option<ReleaseTold>,
    is_closed: bool,
}

impl Shared {
    pub(crate) fn new(shards: usize) -> Shared {
        Shared {
            writer: AtomicU64::new(0),
            version: AtomicU64::new(1),
            lease_end_ms: AtomicU64::new(0),
            terms: (0..shards).map(|_| AtomicU64::new(0)).collect(),
            members: RwLock::default(),
            releases: Mutex::default(),
            trouble: Mutex::default(),
            was_full: AtomicBool::new(false),
            notes: Mutex::default(),
            came_back_ms: AtomicU64::new(0),
            spoken: AtomicU32::new(0),
            shown: Mutex::default(),
            counts: Counts::default(),
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

    pub(crate) fn spoken(&self) -> u32 {
        self.spoken.load(Ordering::Acquire)
    }

    pub(crate) fn set_spoken(&self, version: u32) {
        self.spoken.store(version, Ordering::Release);
    }

    pub(crate) fn shown(&self) -> Shown {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn show(&self, shown: Shown) {
        *self.shown.lock().unwrap_or_else(PoisonError::into_inner) = shown;
    }

    pub(crate) fn figures(&self) -> Figures {
        self.counts.figures(now_ms())
    }

    pub(crate) fn members(&self) -> Arc<Members> {
        Arc::clone(&self.members.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn set_members(&self, members: Members) {
        if members != *self.members() {
            *self.members.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(members);
            self.changed();
        }
    }

    /// Begins as another writer, without shards.
    pub(crate) fn set_writer(&self, writer: u64) {
        self.drop_all();
        self.writer.store(writer, Ordering::Release);
        self.changed();
    }

    pub(crate) fn own(&self, shard: u32, term: u64) {
        if let Some(own) = self.terms.get(shard as usize) {
            own.store(term, Ordering::Release);
            self.changed();
        }
    }

    /// Ends a term, if it is the current one.
    pub(crate) fn disown(&self, shard: u32, term: u64) {
        if let Some(own) = self.terms.get(shard as usize)
            && own.compare_exchange(term, 0, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        {
            self.changed();
        }
    }

    pub(crate) fn drop_all(&self) {
        self.lease_end_ms.store(0, Ordering::Release);
        self.terms.iter().for_each(|term| term.store(0, Ordering::Release));
        self.changed();
    }

    /// The term under which this process owns the shard; 0 if it does not.
    pub(crate) fn term(&self, shard: u32) -> u64 {
        self.terms.get(shard as usize).map_or(0, |term| term.load(Ordering::Acquire))
    }

    /// Whether batches under the claim may be sent.
    pub(crate) fn holds(&self, claim: &Claim) -> bool {
        self.term(u32::from(claim.shard())) == claim.epoch()
    }

    pub(crate) fn set_lease_end(&self, time_ms: u64) {
        self.lease_end_ms.store(time_ms, Ordering::Release);
    }

    /// Whether nobody else can own its shards yet.
    pub(crate) fn is_leased(&self) -> bool {
        now_ms() < self.lease_end_ms.load(Ordering::Acquire)
    }

    pub(crate) fn come_back(&self) {
        self.came_back_ms.store(now_ms(), Ordering::Release);
    }

    /// Whether the process has come back in this time, or has never promised to.
    pub(crate) fn is_alive(&self, hang: Duration) -> bool {
        match self.came_back_ms.load(Ordering::Acquire) {
            0 => true,
            last => u128::from(now_ms().saturating_sub(last)) < hang.as_millis(),
        }
    }

    pub(crate) fn note(&self, note: String) {
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        if notes.len() < NOTES_MAX {
            notes.push(note);
        }
    }

    pub(crate) fn take_notes(&self) -> Vec<String> {
        std::mem::take(&mut *self.notes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn set_trouble(&self, trouble: Option<String>) {
        *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = trouble;
    }

    pub(crate) fn found_full(&self) {
        self.was_full.store(true, Ordering::Release);
    }

    pub(crate) fn take_was_full(&self) -> bool {
        self.was_full.swap(false, Ordering::AcqRel)
    }

    pub(crate) fn trouble(&self) -> Option<String> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Asks the process to hand a shard over.
    pub(crate) fn ask_release(&self, shard: u16, term: u64) {
        let told = {
            let mut releases = self.releases.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(told) = releases.waiting.take() else {
                releases.due.push((shard, term));
                return;
            };
            told
        };
        told(Some(vec![(shard, term)]));
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

/// Milliseconds since the machine's start, with the time of its sleep: a lease must end while the machine sleeps.
pub(crate) fn now_ms() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes into the struct that it is given.
    unsafe { libc::clock_gettime(libc::CLOCK_BOOTTIME, &raw mut time) };
    u64::try_from(time.tv_sec).unwrap_or(0) * 1000 + u64::try_from(time.tv_nsec).unwrap_or(0) / 1_000_000
}
