//! Waits for a Rust future: on the worker's own loop, where only the calling fiber is suspended, or on a background thread if no
//! loop runs here. Native clients keep one connection or pool per such home.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use elah_loop::background::Background;
use elah_loop::task::Task;
use magnus::{Error, Ruby};

use crate::concurrency::current_worker::worker;
#[cfg(feature = "redis")]
use crate::concurrency::wait::{InFlight, in_flight};
use crate::concurrency::wait::{loop_life, park, running_loop_identity, suspend};

/// What a task runs. Were it a future of its own type, every operation of a client would bring the code of a task, twice.
type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The place where a future runs: a loop, or the background thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Home {
    process_id: u32,
    /// The loop's number in its process; `None` is the background thread.
    event_loop: Option<u32>,
}

impl Home {
    /// The loop of this thread in one of its fibers; otherwise the background thread.
    pub(crate) fn current(ruby: &Ruby) -> Result<Home, Error> {
        Ok(match running_loop_identity(ruby)? {
            Some((process_id, number)) => Home { process_id, event_loop: Some(number) },
            None => Home { process_id: std::process::id(), event_loop: None },
        })
    }

    /// Runs `future` here and waits for its result. If Ruby ends the wait by an exception (deadline, `Timeout`, `Thread#kill`),
    /// the future is dropped.
    pub(crate) fn wait_for<T: Send + 'static>(
        self,
        ruby: &Ruby,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, Error> {
        let future: Pin<Box<dyn Future<Output = T> + Send>> = Box::pin(future);
        match self.event_loop {
            Some(_) => wait_on_loop(ruby, future),
            None => wait_for_background(ruby, self.process_id, future),
        }
    }
}

impl Home {
    /// Whether it is a place in the parent of this process.
    pub(crate) fn is_inherited(self) -> bool {
        self.process_id != std::process::id()
    }

    /// Runs `future` here while the caller continues.
    #[cfg_attr(not(feature = "redis"), expect(dead_code))]
    pub(crate) fn start(self, ruby: &Ruby, future: impl Future<Output = ()> + Send + 'static) -> Result<Task, Error> {
        let work: Work = Box::pin(future);
        match self.event_loop {
            Some(_) => {
                let worker = worker(ruby)?;
                // Nobody waits with this wait, so its end wakes nobody.
                Ok(worker.spawn(worker.new_wait(), work))
            }
            None => Ok(background(ruby, self.process_id)?.spawn(work)),
        }
    }
}

#[cfg(feature = "redis")]
impl Home {
    /// The background thread of this process.
    pub(crate) fn background() -> Home {
        Home { process_id: std::process::id(), event_loop: None }
    }

    /// What has been started here while its caller continued, and holds a clone of this.
    pub(crate) fn in_flight(self) -> InFlight {
        static OF_BACKGROUND: Mutex<Option<(u32, InFlight)>> = Mutex::new(None);
        if self.event_loop.is_some() {
            return in_flight();
        }
        let mut kept = OF_BACKGROUND.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.as_ref().is_none_or(|(owner, _)| *owner != self.process_id) {
            *kept = Some((self.process_id, InFlight::default())); // a fork has none of its parent's
        }
        kept.as_ref().map(|(_, in_flight)| in_flight.clone()).unwrap_or_default()
    }
}

/// Aborts a future when nobody waits for it any more.
struct AbortOnDrop(Task);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn wait_on_loop<T: 'static>(ruby: &Ruby, future: Pin<Box<dyn Future<Output = T> + Send>>) -> Result<T, Error> {
    let worker = worker(ruby)?;
    let wait = worker.new_wait();
    let result = Rc::new(Cell::new(None));
    let filled = Rc::clone(&result);
    let work: Pin<Box<dyn Future<Output = ()>>> = Box::pin(async move { filled.set(Some(future.await)) });
    let _task = AbortOnDrop(worker.spawn(wait, work));
    park(ruby, wait)?;
    result
        .take()
        .ok_or_else(|| Error::new(crate::ruby::errors::class(ruby, "InternalError"), "The operation ended without a result."))
}

fn wait_for_background<T: Send + 'static>(
    ruby: &Ruby,
    process_id: u32,
    future: Pin<Box<dyn Future<Output = T> + Send>>,
) -> Result<T, Error> {
    let background = background(ruby, process_id)?;
    let mut task = None;
    suspend(ruby, |completer| {
        let work: Work = Box::pin(async move { completer.complete(future.await) });
        task = Some(AbortOnDrop(background.spawn(work)));
    })
}

/// Waits until the background thread of this process, if there is one, has dropped what was aborted before.
#[cfg(feature = "sql")]
pub(crate) fn drop_aborted(ruby: &Ruby) -> Result<(), Error> {
    let process_id = std::process::id();
    if !is_started(process_id) {
        return Ok(());
    }
    // The thread takes what others have sent in its order, but between what it has woken itself.
    for _ in 0..2 {
        wait_for_background(ruby, process_id, Box::pin(async {}))?;
    }
    Ok(())
}

static BACKGROUND: Mutex<Option<(u32, &'static Background)>> = Mutex::new(None);

#[cfg(feature = "sql")]
fn is_started(process_id: u32) -> bool {
    let started = BACKGROUND.lock().unwrap_or_else(PoisonError::into_inner);
    started.is_some_and(|(owner, _)| owner == process_id)
}

/// The background thread of this process. One inherited through a fork is forgotten, never dropped.
fn background(ruby: &Ruby, process_id: u32) -> Result<&'static Background, Error> {
    let mut started = BACKGROUND.lock().unwrap_or_else(PoisonError::into_inner);
    match *started {
        Some((owner, background)) if owner == process_id => Ok(background),
        _ => {
            let background = Background::start().map_err(|cause| {
                Error::new(
                    crate::ruby::errors::class(ruby, "Error"),
                    format!("The background thread could not be started: {cause}."),
                )
            })?;
            let background: &'static Background = Box::leak(Box::new(background));
            *started = Some((process_id, background));
            Ok(background)
        }
    }
}

/// One `C` per home: a client's connections belong to the runtime on which they were opened.
pub(crate) struct PerHome<C> {
    clients: Mutex<Vec<Entry<C>>>,
}

struct Entry<C> {
    home: Home,
    /// Of a loop; the background thread lives as long as its process.
    life: Option<Weak<()>>,
    client: Arc<C>,
}

impl<C> Entry<C> {
    /// Whether its runtime has ended, or belongs to the parent of this process.
    fn is_gone(&self) -> bool {
        self.home.is_inherited() || self.life.as_ref().is_some_and(|life| life.strong_count() == 0)
    }
}

impl<C> PerHome<C> {
    pub(crate) const fn new() -> Self {
        PerHome { clients: Mutex::new(Vec::new()) }
    }

    /// The client of the caller's `home`, created by `make` on first use. Drops the clients of homes that have ended.
    pub(crate) fn get(&self, home: Home, make: impl FnOnce() -> C) -> Arc<C> {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = clients.iter().find(|entry| entry.home == home) {
            return Arc::clone(&entry.client);
        }
        drop_own(clients.extract_if(.., |entry| entry.is_gone()));
        let client = Arc::new(make());
        let life = home.event_loop.and_then(|_| loop_life());
        clients.push(Entry { home, life, client: Arc::clone(&client) });
        client
    }

    /// Passes each client of this process.
    pub(crate) fn each(&self, work: impl Fn(&C)) {
        let clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        clients.iter().filter(|entry| !entry.home.is_inherited()).for_each(|entry| work(&entry.client));
    }

    /// Removes all clients, which closes their connections.
    pub(crate) fn close(&self) {
        drop_own(std::mem::take(&mut *self.clients.lock().unwrap_or_else(PoisonError::into_inner)));
    }
}

/// Drops the clients of this process, which closes their connections. Clients inherited through a fork share their sockets with
/// the parent and are forgotten.
fn drop_own<C>(entries: impl IntoIterator<Item = Entry<C>>) {
    for entry in entries {
        if entry.home.is_inherited() {
            std::mem::forget(entry.client);
        }
    }
}

impl<C> Drop for PerHome<C> {
    fn drop(&mut self) {
        self.close();
    }
}
