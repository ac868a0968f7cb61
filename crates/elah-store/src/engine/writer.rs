//! The writer: one thread for each opening of a store, which commits everything that waits in one LMDB transaction.
//!
//! While one transaction is on its way to the disk, the next ones gather. What a fiber of a loop waits for is begun with when the loop's iteration
//! ends, since no fiber goes on before; see `iteration`. What others wait for is begun with at once.

mod upkeep;

use std::time::{Duration, Instant};

use super::Engine;
use crate::error::Error;
use crate::journal::{Journal, Sealed};
use crate::queue::{Done, Job};
use crate::session::{Session, leaves_the_rest_alone};
use crate::write::{Outcome, Work};

/// Folding may use this part of the time; with many keys it is done less often.
const FOLD_SHARE: u32 = 50;
/// After this many keys a fold lets the loop have the core, unless a commit waits for it: else a request may wait a scheduler's
/// whole slice for it, some milliseconds.
const FOLD_KEYS_AT_ONCE: usize = 32;
/// For so long a transaction that nobody waits for lets others have the core first, and for so long the lock is kept for one that was reserved
/// for. It is the lock for which other processes may wait.
pub(crate) const PATIENCE_MAX: Duration = Duration::from_millis(20);
const FOLD_PAUSE_MAX: Duration = Duration::from_secs(2);
/// Between two attempts to fold into a store that is full, or to sweep it.
const FULL_PAUSE: Duration = Duration::from_secs(1);
/// Between two looks for what dead processes have left.
const RECOVERY_PAUSE: Duration = Duration::from_secs(10);

type Change = (Work, Done);

/// The body of the writer's thread. Returns when the queue is closed and everything is done.
pub(super) fn run(engine: &Engine) {
    let _fail = FailOnPanic(engine);
    let mut writer = Writer {
        engine,
        fold_at: None,
        fold_pause: engine.options.fold_pause,
        sweep_at: None,
        look_at: None,
        recover_at: Instant::now() + RECOVERY_PAUSE,
        has_unripe_pages: true,
        kept: None,
    };
    writer.plan_sweep();
    loop {
        let woken = engine.queue.take([writer.fold_at, writer.sweep_at, writer.look_at].into_iter().flatten().min());
        if woken.has_gathered && writer.fold_at.is_none() {
            writer.fold_at = Some(Instant::now() + writer.fold_pause);
        }
        writer.iteration(woken.jobs, woken.is_closing);
        if woken.is_closing {
            return writer.finish();
        }
    }
}

/// What an iteration of the writer has to do.
#[derive(Default)]
struct Todo {
    changes: Vec<Change>,
    reservations: Vec<Done<()>>,
    sweeps: Vec<Done<usize>>,
    flushes: Vec<Done<()>>,
    looks: Vec<Done<()>>,
}

impl Todo {
    fn add(&mut self, job: Job) {
        match job {
            Job::Change(work, done) => self.changes.push((work, done)),
            Job::Reserve(done) => self.reservations.push(done),
            Job::Sweep(done) => self.sweeps.push(done),
            Job::Flush(done) => self.flushes.push(done),
            Job::Look(done) => self.looks.push(done),
        }
    }
}

struct Writer<'e> {
    engine: &'e Engine,
    /// Set while the journal holds something.
    fold_at: Option<Instant>,
    fold_pause: Duration,
    /// Set while something waits for its expiry.
    sweep_at: Option<Instant>,
    /// Set while the store is full.
    look_at: Option<Instant>,
    recover_at: Instant,
    /// Set by each commit: LMDB hands out the pages that a transaction has freed to the one after the next.
    has_unripe_pages: bool,
    /// Begun for a reservation, and what is committed next.
    kept: Option<Session<'e>>,
}

impl<'e> Writer<'e> {
    fn iteration(&mut self, jobs: Vec<Job>, is_closing: bool) {
        let now = Instant::now();
        let mut todo = Todo::default();
        jobs.into_iter().for_each(|job| todo.add(job));
        if !todo.reservations.is_empty() {
            self.grant(std::mem::take(&mut todo.reservations));
            let until = Instant::now() + PATIENCE_MAX;
            self.engine.queue.take_reserved(until).into_iter().for_each(|job| todo.add(job));
            todo.changes.sort_by_key(|(work, _)| !work.is_reserved());
        }
        let Todo { changes, sweeps, flushes, looks, .. } = todo;
        let is_fold_due = self.fold_at.is_some_and(|at| at <= now);
        let must_fold =
            is_closing || is_fold_due || !flushes.is_empty() || changes.iter().any(|(work, _)| work.touches_counters());
        if must_fold && self.engine.journal().as_ref().is_some_and(Journal::has_sealed) {
            // What could not be folded before goes first, and what has come since goes with the changes.
            let _ = self.commit(Vec::new(), true);
        }
        let folded = self.commit(changes, must_fold);
        self.kept = None;
        for done in flushes {
            done(folded.clone());
        }
        if self.sweep_at.is_some_and(|at| at <= now) {
            self.sweep();
        }
        for done in sweeps {
            done(self.sweep_all());
        }
        self.plan_sweep();
        if !looks.is_empty() || self.look_at.is_some_and(|at| at <= now) {
            self.engine.look();
            self.look_at = self.engine.is_full().then(|| Instant::now() + FULL_PAUSE);
            looks.into_iter().for_each(|done| done(Ok(())));
        }
        if self.recover_at <= now {
            self.recover();
        }
    }

    /// Takes the lock, which is kept for the next commit, and tells who has asked for that.
    fn grant(&mut self, reservations: Vec<Done<()>>) {
        let granted = self.engine.queue.check().and_then(|()| self.begin()).map(|session| self.kept = Some(session));
        for done in reservations {
            done(granted.clone());
        }
    }

    /// Commits `changes` and, if asked, what the journal holds; tells each waiter. Returns what became of the fold.
    fn commit(&mut self, changes: Vec<Change>, must_fold: bool) -> Result<(), Error> {
        if let Err(error) = self.engine.queue.check() {
            self.fold_at = None;
            refuse(changes, &error);
            return Err(error);
        }
        let sealed = if must_fold { self.engine.journal().as_mut().and_then(|journal| journal.seal()) } else { None };
        if must_fold && sealed.is_none() {
            self.fold_at = None;
        }
        if changes.is_empty() && sealed.is_none() {
            return Ok(());
        }
        match self.engine.place.check().and_then(|()| self.transact(&changes, sealed.as_ref())) {
            Ok(outcomes) => {
                self.has_unripe_pages = true;
                self.settle_fold(sealed);
                tell(changes, outcomes);
                Ok(())
            }
            Err(Error::Full { .. }) if self.free_dead_readers() || self.ripen_free_pages() => {
                drop(sealed);
                self.commit(changes, must_fold)
            }
            Err(error @ Error::Full { .. }) if changes.len() + usize::from(sealed.is_some()) > 1 => {
                self.commit_in_parts(changes, sealed, error)
            }
            Err(error @ Error::Full { .. }) => {
                self.postpone_fold(sealed.is_some());
                self.engine.look_anew();
                self.look_at = Some(Instant::now() + FULL_PAUSE);
                refuse(changes, &error);
                Err(error)
            }
            Err(error @ Error::Replaced) => {
                self.postpone_fold(sealed.is_some());
                refuse(changes, &error);
                Err(error)
            }
            Err(error) => {
                self.engine.queue.fail(&error);
                refuse(changes, &error);
                Err(error)
            }
        }
    }

    /// After a transaction that did not fit: halves it until what fits is stored, and only what does not is refused.
    fn commit_in_parts(&mut self, mut changes: Vec<Change>, sealed: Option<Sealed>, full: Error) -> Result<(), Error> {
        let mut folded = Ok(());
        if sealed.is_some() {
            drop(sealed);
            folded = self.commit(Vec::new(), true);
        }
        if folded.is_err() {
            // An increment is exact only over a folded journal; while that does not fit, neither do increments.
            let (waiting_for_the_fold, others) = changes.into_iter().partition(|(work, _)| work.touches_counters());
            refuse(waiting_for_the_fold, &full);
            changes = others;
        }
        let second_half = changes.split_off(changes.len() / 2);
        for half in [changes, second_half] {
            // Each of its waiters is told.
            let _ = self.commit(half, false);
        }
        folded
    }

    fn transact(&mut self, changes: &[Change], sealed: Option<&Sealed>) -> Result<Vec<Result<Vec<Outcome>, Error>>, Error> {
        let engine = self.engine;
        let mut session = self.kept.take().map_or_else(|| self.begin(), Ok)?;
        let started = Instant::now();
        if let Some(sealed) = sealed {
            for (index, sum) in sealed.sums().into_iter().enumerate() {
                session.add(sum.table, sum.key, sum.total)?;
                if index % FOLD_KEYS_AT_ONCE == FOLD_KEYS_AT_ONCE - 1 && changes.is_empty() && self.engine.queue.is_idle() {
                    std::thread::yield_now();
                }
            }
            if let Some(name) = engine.journal().as_ref().map(|journal| journal.name().to_owned()) {
                session.set_folded_generation(&name, sealed.generation())?;
            }
            let pause = (started.elapsed() * FOLD_SHARE).min(FOLD_PAUSE_MAX);
            self.fold_pause = engine.options.fold_pause.max(pause);
        }
        let mut outcomes = Vec::with_capacity(changes.len());
        for run in changes.chunk_by(|(work, _), (next, _)| work.batch().is_some() && next.batch().is_some()) {
            let batches: Vec<_> = run.iter().filter_map(|(work, _)| work.batch()).collect();
            if batches.len() == run.len() {
                let delay = batches.iter().map(|batch| batch.commit_delay).min().unwrap_or_default();
                let is_patient = || started.elapsed() < delay.min(PATIENCE_MAX) && !engine.queue.is_awaited();
                outcomes.extend(session.store(&batches, &is_patient)?.into_iter().map(|stored| stored.map(|()| Vec::new())));
                continue;
            }
            for (work, _) in run {
                match session.apply(work) {
                    Err(error) if !leaves_the_rest_alone(&error) => return Err(error),
                    outcome => outcomes.push(outcome),
                }
            }
        }
        session.commit()?;
        Ok(outcomes)
    }

    fn begin(&self) -> Result<Session<'e>, Error> {
        Session::begin(&self.engine.env, self.engine.tree, self.engine.options.clock.now_ms())
    }

    fn settle_fold(&mut self, sealed: Option<Sealed>) {
        let Some(sealed) = sealed else { return };
        let mut journal = self.engine.journal();
        let Some(journal) = journal.as_mut() else { return };
        journal.release(sealed);
        self.fold_at = (!journal.is_empty()).then(|| Instant::now() + self.fold_pause);
    }

    fn postpone_fold(&mut self, was_folding: bool) {
        if was_folding {
            self.fold_at = Some(Instant::now() + FULL_PAUSE);
        }
    }

    /// Stops all writes after an error that says that the disk cannot be trusted.
    fn poison<T>(&self, result: Result<T, Error>) -> Result<T, Error> {
        if let Err(error @ Error::Failed { .. }) = &result {
            self.engine.queue.fail(error);
        }
        result
    }

    /// A journal that has been folded to the end goes; one that has not stays for the next opening.
    fn finish(self) {
        let mut journal = self.engine.journal();
        if journal.as_ref().is_some_and(|journal| journal.is_empty())
            && let Some(journal) = journal.take()
        {
            // A file that stays is recovered by the next opening, which finds nothing new in it.
            let _ = journal.remove();
        }
    }
}

fn tell(changes: Vec<Change>, outcomes: Vec<Result<Vec<Outcome>, Error>>) {
    for ((_, done), outcome) in changes.into_iter().zip(outcomes) {
        done(outcome);
    }
}

fn refuse(changes: Vec<Change>, error: &Error) {
    for (work, done) in changes {
        work.fail(error);
        done(Err(error.clone()));
    }
}

/// A writer that panics leaves nobody waiting.
struct FailOnPanic<'e>(&'e Engine);

impl Drop for FailOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.queue.fail(&Error::Failed { why: "the writer's thread panicked, which is a bug in Elah".to_owned() });
        }
    }
}
