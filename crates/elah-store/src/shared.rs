//! The openings of this process: one per directory, shared by all its stores, and none across a fork.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};

use super::Options;
use super::engine::Engine;
use super::error::Error;
use super::queue::Job;
use elah_clock::Clock;

static OPENED: Mutex<Option<HashMap<PathBuf, Weak<Shared>>>> = Mutex::new(None);

fn opened() -> MutexGuard<'static, Option<HashMap<PathBuf, Weak<Shared>>>> {
    OPENED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Closes every opening of this process: finishes waiting work, ends the writers and closes the files. Stores reopen their
/// directory at their next use. Call it before a fork, so that the child inherits nothing of LMDB.
pub fn release_all() {
    let all: Vec<_> = opened().iter().flatten().filter_map(|(_, shared)| shared.upgrade()).collect();
    for shared in all {
        shared.release();
    }
}

/// Known reasons why open stores of this process accept no writes, by directory.
pub fn troubles() -> Vec<(PathBuf, Error)> {
    engines().into_iter().filter_map(|engine| Some((engine.dir.clone(), engine.trouble()?))).collect()
}

/// Checks whether the open stores of this process accept writes; `done` gets the result of `troubles` afterwards.
pub fn check_all(done: impl FnOnce(Vec<(PathBuf, Error)>) + Send + 'static) {
    let last = Arc::new(AtLast(Mutex::new(Some(done))));
    for engine in engines() {
        let last = Arc::clone(&last);
        engine.submit(Job::Look(Box::new(move |_| drop(last))));
    }
}

/// Calls its function when its last owner drops it.
struct AtLast<F: FnOnce(Vec<(PathBuf, Error)>)>(Mutex<Option<F>>);

impl<F: FnOnce(Vec<(PathBuf, Error)>)> Drop for AtLast<F> {
    fn drop(&mut self) {
        if let Some(done) = self.0.get_mut().unwrap_or_else(PoisonError::into_inner).take() {
            done(troubles());
        }
    }
}

/// The openings in use.
fn engines() -> Vec<Arc<Engine>> {
    let all: Vec<_> = opened().iter().flatten().filter_map(|(_, shared)| shared.upgrade()).collect();
    let engine = |shared: &Arc<Shared>| shared.engine.read().unwrap_or_else(PoisonError::into_inner).clone();
    all.iter().filter_map(engine).filter(|engine| engine.is_of_this_process()).collect()
}

/// A directory in use.
struct Shared {
    dir: PathBuf,
    options: Options,
    /// `None` before the first use, after a fork, and when all handles are closed.
    engine: RwLock<Option<Arc<Engine>>>,
    handles: AtomicUsize,
}

impl Shared {
    fn release(&self) {
        let mut engine = self.engine.write().unwrap_or_else(PoisonError::into_inner);
        match engine.take() {
            Some(engine) if engine.is_of_this_process() => engine.shut_down(),
            Some(inherited) => inherited.forget_kept(),
            None => {}
        }
    }

    /// Opens the directory, unless another thread has done so.
    fn reopen(&self) -> Result<Arc<Engine>, Error> {
        let mut engine = self.engine.write().unwrap_or_else(PoisonError::into_inner);
        match &*engine {
            Some(engine) if engine.is_of_this_process() => Ok(Arc::clone(engine)),
            _ => {
                // An inherited engine must be dropped before LMDB reopens the directory.
                if let Some(inherited) = engine.take() {
                    inherited.forget_kept();
                }
                let opened = Arc::new(Engine::open(&self.dir, &self.options)?);
                *engine = Some(Arc::clone(&opened));
                Ok(opened)
            }
        }
    }
}

/// A user's handle to a directory.
pub(super) struct Handle {
    shared: Arc<Shared>,
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
            match known {
                Some(shared) if shared.options.bytes_max != options.bytes_max => {
                    let why = format!(
                        "this process has it open with a bytes_max of {}, not {}",
                        shared.options.bytes_max, options.bytes_max
                    );
                    return Err(Error::cannot_open(dir, why));
                }
                Some(shared) => shared,
                None => {
                    let shared = Arc::new(Shared {
                        dir: path.clone(),
                        options: options.clone(),
                        engine: RwLock::new(None),
                        handles: AtomicUsize::new(0),
                    });
                    opened.insert(path, Arc::downgrade(&shared));
                    shared
                }
            }
        };
        shared.reopen()?;
        shared.handles.fetch_add(1, Ordering::AcqRel);
        Ok(Handle { shared, is_closed: AtomicBool::new(false) })
    }

    /// Calls `work` with this process's opening, and creates one if there is none or a fork has inherited it.
    pub(super) fn with<R>(&self, work: impl FnOnce(&Arc<Engine>) -> Result<R, Error>) -> Result<R, Error> {
        if self.is_closed() {
            return Err(Error::Closed);
        }
        {
            let engine = self.shared.engine.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(engine) = engine.as_ref().filter(|engine| engine.is_of_this_process()) {
                return work(engine);
            }
        }
        work(&self.shared.reopen()?)
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
        &self.shared.options.clock
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
            self.shared.release();
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.close();
    }
}
