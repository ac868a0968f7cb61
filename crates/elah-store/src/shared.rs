//! The openings of this process: one per directory, shared by all its stores, and none across a fork.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak};

use super::Options;
use super::engine::Engine;
use super::error::Error;
use super::queue::Job;
use elah_clock::Clock;

/// Why stores accept no writes, by directory.
type Troubles = Vec<(PathBuf, Error)>;

static OPENED: Mutex<Option<HashMap<PathBuf, Weak<Shared>>>> = Mutex::new(None);

fn opened() -> MutexGuard<'static, Option<HashMap<PathBuf, Weak<Shared>>>> {
    OPENED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Closes every opening of this process: finishes waiting work, ends the writers and closes the files. Stores reopen their
/// directory at their next use. Call it before a fork, so that the child inherits nothing of LMDB.
pub fn release_all() {
    let all: Vec<_> = opened().iter().flatten().filter_map(|(_, shared)| shared.upgrade()).collect();
    for shared in all {
        shared.write().release();
    }
}

/// Known reasons why open stores of this process accept no writes, by directory.
pub fn troubles() -> Troubles {
    engines().into_iter().filter_map(|engine| Some((engine.dir.clone(), engine.trouble()?))).collect()
}

/// Checks whether the open stores of this process accept writes; `done` gets the reasons of those that do not.
pub fn check_all(done: impl FnOnce(Troubles) + Send + 'static) {
    let looks = Arc::new(Looks(Mutex::new((Vec::new(), Some(done)))));
    for engine in engines() {
        let looks = Arc::clone(&looks);
        // A writer looks at its own opening only. Whoever holds the lock of another one may wait for this writer to end.
        let looked_at = Arc::downgrade(&engine);
        engine.submit(Job::Look(Box::new(move |_| looks.note(&looked_at))));
    }
}

/// What writers have found. Calls its function with it when the last owner drops it.
struct Looks<F: FnOnce(Troubles)>(Mutex<(Troubles, Option<F>)>);

impl<F: FnOnce(Troubles)> Looks<F> {
    fn note(&self, engine: &Weak<Engine>) {
        if let Some((engine, error)) = engine.upgrade().and_then(|engine| engine.trouble().map(|error| (engine, error))) {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).0.push((engine.dir.clone(), error));
        }
    }
}

impl<F: FnOnce(Troubles)> Drop for Looks<F> {
    fn drop(&mut self) {
        let (troubles, done) = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(done) = done.take() {
            done(std::mem::take(troubles));
        }
    }
}

/// The openings in use.
fn engines() -> Vec<Arc<Engine>> {
    let all: Vec<_> = opened().iter().flatten().filter_map(|(_, shared)| shared.upgrade()).collect();
    let engine = |shared: &Arc<Shared>| shared.read().engine.clone();
    all.iter().filter_map(engine).filter(|engine| engine.is_of_this_process()).collect()
}

/// A directory in use.
struct Shared {
    dir: PathBuf,
    /// The handles that are not closed. It grows only under the lock of `opening`.
    handles: AtomicUsize,
    opening: RwLock<Opening>,
}

struct Opening {
    /// Those of the handle that was opened while there was no other.
    options: Options,
    /// `None` before the first use, after a fork, and when all handles are closed.
    engine: Option<Arc<Engine>>,
}

impl Opening {
    fn release(&mut self) {
        match self.engine.take() {
            Some(engine) if engine.is_of_this_process() => engine.shut_down(),
            Some(inherited) => inherited.forget_kept(),
            None => {}
        }
    }

    /// Opens the directory, unless another thread has done so.
    fn reopen(&mut self, dir: &Path) -> Result<Arc<Engine>, Error> {
        match &self.engine {
            Some(engine) if engine.is_of_this_process() => Ok(Arc::clone(engine)),
            _ => {
                // An inherited engine must be dropped before LMDB reopens the directory.
                if let Some(inherited) = self.engine.take() {
                    inherited.forget_kept();
                }
                let opened = Arc::new(Engine::open(dir, &self.options)?);
                self.engine = Some(Arc::clone(&opened));
                Ok(opened)
            }
        }
    }
}

impl Shared {
    fn read(&self) -> RwLockReadGuard<'_, Opening> {
        self.opening.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Opening> {
        self.opening.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_unused(&self) -> bool {
        self.handles.load(Ordering::Acquire) == 0
    }

    /// Opens the directory for one more handle, and returns the clock of the opening. The first handle decides the options.
    fn open(&self, options: &Options) -> Result<Clock, Error> {
        let mut opening = self.write();
        if self.is_unused() {
            opening.release();
            opening.options = options.clone();
        } else if opening.options.bytes_max != options.bytes_max {
            let (known, wanted) = (opening.options.bytes_max, options.bytes_max);
            let why = format!("this process has it open with a bytes_max of {known}, not {wanted}");
            return Err(Error::cannot_open(&self.dir, why));
        }
        opening.reopen(&self.dir)?;
        self.handles.fetch_add(1, Ordering::AcqRel);
        Ok(opening.options.clock.clone())
    }
}

/// A user's handle to a directory.
pub(super) struct Handle {
    shared: Arc<Shared>,
    clock: Clock,
    is_closed: AtomicBool,
}

impl Handle {
    pub(super) fn open(dir: &Path, options: &Options) -> Result<Self, Error> {
        std::fs::create_dir_all(dir).map_err(|error| Error::cannot_open(dir, error))?;
        let path = dir.canonicalize().map_err(|error| Error::cannot_open(dir, error))?;
        let shared = {
            let mut opened = opened();
            let opened = opened.get_or_insert_default();
            opened.retain(|_, shared| shared.strong_count() > 0);
            let known = opened.get(&path).and_then(Weak::upgrade);
            known.unwrap_or_else(|| {
                let opening = RwLock::new(Opening { options: options.clone(), engine: None });
                let shared = Arc::new(Shared { dir: path.clone(), handles: AtomicUsize::new(0), opening });
                opened.insert(path, Arc::downgrade(&shared));
                shared
            })
        };
        let clock = shared.open(options)?;
        Ok(Handle { shared, clock, is_closed: AtomicBool::new(false) })
    }

    /// Calls `work` with this process's opening, and creates one if there is none or a fork has inherited it.
    pub(super) fn with<R>(&self, work: impl FnOnce(&Arc<Engine>) -> Result<R, Error>) -> Result<R, Error> {
        if self.is_closed() {
            return Err(Error::Closed);
        }
        {
            let opening = self.shared.read();
            if let Some(engine) = opening.engine.as_ref().filter(|engine| engine.is_of_this_process()) {
                return work(engine);
            }
        }
        let engine = {
            let mut opening = self.shared.write();
            if self.shared.is_unused() {
                return Err(Error::Closed);
            }
            opening.reopen(&self.shared.dir)?
        };
        work(&engine)
    }

    pub(super) fn submit(&self, job: Job) {
        let mut job = Some(job);
        let submitted = self.with(|engine| {
            if let Some(job) = job.take() {
                engine.submit(job);
            }
            Ok(())
        });
        if let (Err(error), Some(job)) = (submitted, job) {
            job.refuse(error);
        }
    }

    /// Has the writer begin with what waits for it.
    pub(super) fn hurry(&self) {
        // A closed store has no waiting work.
        let _ = self.with(|engine| {
            engine.hurry();
            Ok(())
        });
    }

    pub(super) fn clock(&self) -> &Clock {
        &self.clock
    }

    pub(super) fn dir(&self) -> &Path {
        &self.shared.dir
    }

    pub(super) fn shares_opening_with(&self, other: &Handle) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    pub(super) fn close(&self) {
        if !self.is_closed.swap(true, Ordering::AcqRel) && self.shared.handles.fetch_sub(1, Ordering::AcqRel) == 1 {
            let mut opening = self.shared.write();
            // Another thread may have opened the directory again meanwhile.
            if self.shared.is_unused() {
                opening.release();
            }
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.close();
    }
}
