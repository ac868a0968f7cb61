//! The writer's queue: bounded, and closed for good when the store is closed or the disk has failed.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::error::Error;
use super::write::{Outcome, Work};

/// The most waiting jobs.
pub const WAITING_MAX: usize = 65_536;
/// The most bytes of waiting keys and values; a single job may exceed it if nothing else waits.
pub const WAITING_BYTES_MAX: usize = 64 * 1024 * 1024;

/// The most bytes that may wait to share a commit; beyond it the writer begins.
pub const DELAYED_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Called with the result of a job.
pub(super) type Done<T = Vec<Outcome>> = Box<dyn FnOnce(Result<T, Error>) + Send>;

pub(super) enum Job {
    Change(Work, Done),
    /// Takes the store's lock and keeps it for who is told, until the reservation ends.
    Reserve(Done<()>),
    /// Removes what has expired; told how many entries there were.
    Sweep(Done<usize>),
    /// Folds what this process has counted in memory; told when it is on disk.
    Flush(Done<()>),
    /// Looks whether the store takes writes; told when that is known.
    Look(Done<()>),
}

impl Job {
    pub(super) fn refuse(self, error: Error) {
        match self {
            Job::Change(work, done) => {
                work.fail(&error);
                done(Err(error));
            }
            Job::Sweep(done) => done(Err(error)),
            Job::Reserve(done) | Job::Flush(done) | Job::Look(done) => done(Err(error)),
        }
    }

    /// How long it may wait for others before it has to be begun with; `None` when that is up to the iteration in which it comes.
    pub(super) fn delay(&self) -> Option<Duration> {
        match self {
            Job::Change(Work::Changes(_), _) => None,
            Job::Change(Work::Batch(batch), _) => Some(batch.commit_delay),
            Job::Change(Work::Claim(_), _) | Job::Reserve(_) | Job::Sweep(_) | Job::Flush(_) | Job::Look(_) => {
                Some(Duration::ZERO)
            }
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Job::Change(work, _) => work.bytes(),
            Job::Reserve(_) | Job::Sweep(_) | Job::Flush(_) | Job::Look(_) => 0,
        }
    }
}

#[derive(Default)]
struct Waiting {
    jobs: Vec<Job>,
    /// When the first of them has to be begun with; `None` when there is none.
    due: Option<Instant>,
    bytes: usize,
    /// Reservations that were granted and have not ended.
    reservations: usize,
    has_gathered: bool,
    is_closing: bool,
    failure: Option<Error>,
}

#[derive(Default)]
pub(super) struct Queue {
    waiting: Mutex<Waiting>,
    changed: Condvar,
    has_failed: AtomicBool,
}

/// The reason of a wake-up.
pub(super) struct Woken {
    pub(super) jobs: Vec<Job>,
    /// The first increment of a generation of the journal has come.
    pub(super) has_gathered: bool,
    pub(super) is_closing: bool,
}

impl Queue {
    pub(super) fn new() -> Self {
        Queue::default()
    }

    /// Takes a job that has to be begun with after `delay`.
    pub(super) fn push(&self, job: Job, delay: Duration) {
        let mut waiting = self.lock();
        let bytes = waiting.bytes + job.bytes();
        let refusal = match &waiting.failure {
            Some(failure) => Some(failure.clone()),
            None if waiting.is_closing => Some(Error::Closed),
            None if waiting.jobs.len() >= WAITING_MAX || (bytes > WAITING_BYTES_MAX && !waiting.jobs.is_empty()) => {
                Some(Error::Overloaded { waiting: waiting.jobs.len(), bytes: waiting.bytes })
            }
            None => None,
        };
        match refusal {
            Some(error) => {
                drop(waiting);
                job.refuse(error);
            }
            None => {
                let delay = if bytes > DELAYED_BYTES_MAX { Duration::ZERO } else { delay };
                let due = Instant::now() + delay;
                let is_first = waiting.due.is_none_or(|first| due < first);
                if is_first {
                    waiting.due = Some(due);
                }
                waiting.bytes = bytes;
                waiting.jobs.push(job);
                drop(waiting);
                if is_first {
                    self.changed.notify_one();
                }
            }
        }
    }

    /// Has the writer begin at once with what waits, because somebody waits for it.
    pub(super) fn hurry(&self) {
        let mut waiting = self.lock();
        if waiting.due.is_some() {
            waiting.due = Some(Instant::now());
            drop(waiting);
            self.changed.notify_one();
        }
    }

    /// Tells the writer that there is something to fold.
    pub(super) fn note_gathered(&self) {
        self.lock().has_gathered = true;
        self.changed.notify_one();
    }

    /// `Failed` after the disk has failed.
    pub(super) fn check(&self) -> Result<(), Error> {
        if self.has_failed.load(Ordering::Acquire)
            && let Some(failure) = &self.lock().failure
        {
            return Err(failure.clone());
        }
        Ok(())
    }

    /// True when nobody waits for a commit.
    pub(super) fn is_idle(&self) -> bool {
        let waiting = self.lock();
        waiting.jobs.is_empty() && !waiting.is_closing
    }

    /// True if waiting work is due.
    pub(super) fn is_awaited(&self) -> bool {
        let waiting = self.lock();
        waiting.is_closing || waiting.due.is_some_and(|due| due <= Instant::now())
    }

    pub(super) fn close(&self) {
        self.lock().is_closing = true;
        self.changed.notify_one();
    }

    /// Refuses all waiting work, and all later work.
    pub(super) fn fail(&self, error: &Error) {
        let mut waiting = self.lock();
        waiting.failure.get_or_insert_with(|| error.clone());
        waiting.bytes = 0;
        waiting.due = None;
        let jobs = std::mem::take(&mut waiting.jobs);
        drop(waiting);
        self.has_failed.store(true, Ordering::Release);
        for job in jobs {
            job.refuse(error.clone());
        }
    }

    /// All waiting work, as soon as some of it is due or `until` has come.
    pub(super) fn take(&self, until: Option<Instant>) -> Woken {
        let mut waiting = self.lock();
        loop {
            let now = Instant::now();
            let until = [until, waiting.due].into_iter().flatten().min();
            if waiting.has_gathered || waiting.is_closing || until.is_some_and(|until| until <= now) {
                waiting.bytes = 0;
                waiting.due = None;
                return Woken {
                    jobs: std::mem::take(&mut waiting.jobs),
                    has_gathered: std::mem::take(&mut waiting.has_gathered),
                    is_closing: waiting.is_closing,
                };
            }
            waiting = match until {
                None => self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner),
                Some(until) => self.changed.wait_timeout(waiting, until - now).unwrap_or_else(PoisonError::into_inner).0,
            };
        }
    }

    /// Notes a reservation that the writer has granted.
    pub(super) fn reserve(&self) {
        self.lock().reservations += 1;
    }

    /// What a reservation was for has been pushed, or will not be.
    pub(super) fn end_reservation(&self) {
        self.lock().reservations -= 1;
        self.changed.notify_one();
    }

    /// All that waits but the wish for another reservation, as soon as those that were granted have ended or `until` has come.
    pub(super) fn take_reserved(&self, until: Instant) -> Vec<Job> {
        let mut waiting = self.lock();
        loop {
            let now = Instant::now();
            if waiting.reservations == 0 || waiting.is_closing || until <= now {
                break;
            }
            waiting = self.changed.wait_timeout(waiting, until - now).unwrap_or_else(PoisonError::into_inner).0;
        }
        let jobs = std::mem::take(&mut waiting.jobs);
        let (wishes, jobs): (Vec<_>, Vec<_>) = jobs.into_iter().partition(|job| matches!(job, Job::Reserve(_)));
        waiting.bytes = 0;
        waiting.due = (!wishes.is_empty()).then(Instant::now);
        waiting.jobs = wishes;
        jobs
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(queue: &Queue, delay: Duration) {
        queue.push(Job::Flush(Box::new(|_| {})), delay);
    }

    #[test]
    fn what_may_wait_is_not_awaited_until_somebody_waits_for_it() {
        let queue = Queue::new();
        assert!(!queue.is_awaited());
        push(&queue, Duration::from_secs(600));
        assert!(!queue.is_awaited());
        queue.hurry();
        assert!(queue.is_awaited());
        assert_eq!(queue.take(None).jobs.len(), 1);
        assert!(!queue.is_awaited());
        push(&queue, Duration::from_secs(600));
        push(&queue, Duration::ZERO);
        assert!(queue.is_awaited());
    }
}
