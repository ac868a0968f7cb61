//! Suspends the calling fiber, or blocks the calling thread when no loop runs on it, until another thread has a result.

use std::cell::RefCell;
use std::io;
use std::mem::ManuallyDrop;
#[cfg(any(feature = "redis", feature = "sql", feature = "mongo"))]
use std::sync::Weak;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use elah_loop::background::SIGNALS_SEEN_AFTER;
use elah_loop::wake::{RemoteWaker, WaitId};
use magnus::value::{BoxValue, LazyId, ReprValue};
use magnus::{Error, Object, RObject, Ruby, Value};

use crate::ruby::gvl::{is_main_thread, without_gvl};

/// Work that was started while its caller went on, and for which the end of the loop waits. Each one holds a clone.
#[derive(Clone, Default)]
pub(crate) struct InFlight(Arc<()>);

impl InFlight {
    pub(crate) fn count(&self) -> usize {
        Arc::strong_count(&self.0) - 1
    }
}

/// The parts of this thread's loop that a wait needs.
pub(crate) struct Parking {
    pub(crate) waker: RemoteWaker,
    pub(crate) next_wait: Box<dyn Fn() -> WaitId>,
    /// The `Elah::EventLoop`; kept alive and at its address until `close`.
    pub(crate) ruby_loop: BoxValue<RObject>,
    /// The process of the loop, and the loop's number in it; together they are unique.
    #[cfg_attr(not(any(feature = "redis", feature = "sql", feature = "mongo")), expect(dead_code))]
    pub(crate) identity: (u32, u32),
    pub(crate) in_flight: InFlight,
    /// Lives as long as the loop.
    #[cfg_attr(not(any(feature = "redis", feature = "sql", feature = "mongo")), expect(dead_code))]
    pub(crate) life: Arc<()>,
}

thread_local! {
    /// Never dropped with its thread, because Ruby may have ended by then.
    static PARKING: ManuallyDrop<RefCell<Option<Parking>>> = const { ManuallyDrop::new(RefCell::new(None)) };
}

/// Declares (or, with `None`, revokes) the loop on which this thread's fibers wait.
pub(crate) fn set_parking(parking: Option<Parking>) {
    PARKING.with(|cell| *cell.borrow_mut() = parking);
}

// Looked up once: every wait needs both.
static CURRENT: LazyId = LazyId::new("@current");
static PARK: LazyId = LazyId::new("park");

enum Filled<T> {
    Not,
    With(T),
    Abandoned,
}

struct Slot<T> {
    filled: Mutex<Filled<T>>,
    changed: Condvar,
    on_loop: Option<(RemoteWaker, WaitId)>,
}

impl<T> Slot<T> {
    fn fill(&self, filled: Filled<T>) {
        *self.filled.lock().unwrap_or_else(PoisonError::into_inner) = filled;
        match &self.on_loop {
            Some((waker, id)) => waker.end_wait(*id),
            None => self.changed.notify_all(),
        }
    }

    fn take(&self) -> Filled<T> {
        std::mem::replace(&mut *self.filled.lock().unwrap_or_else(PoisonError::into_inner), Filled::Not)
    }
}

/// The sending half of a wait. Any thread may complete it, once. Dropped without a result, it ends the wait with an error.
pub(crate) struct Completer<T> {
    slot: Option<Arc<Slot<T>>>,
}

impl<T> Completer<T> {
    pub(crate) fn complete(mut self, value: T) {
        if let Some(slot) = self.slot.take() {
            slot.fill(Filled::With(value));
        }
    }
}

impl<T> Drop for Completer<T> {
    fn drop(&mut self) {
        if let Some(slot) = self.slot.take() {
            slot.fill(Filled::Abandoned);
        }
    }
}

/// Calls `start` with a completer and waits until it is completed. In a fiber of a loop only that fiber waits; elsewhere the
/// thread does, without the GVL. If Ruby interrupts the wait (deadline, `Timeout`, `Thread#kill`), it ends with that exception,
/// and a later result is dropped.
pub(crate) fn suspend<T: Send + 'static>(ruby: &Ruby, start: impl FnOnce(Completer<T>)) -> Result<T, Error> {
    let ruby_loop = running_loop()?;
    let on_loop = PARKING.with(|cell| {
        let parking = cell.borrow();
        parking.as_ref().filter(|_| ruby_loop.is_some()).map(|parking| (parking.waker.clone(), (parking.next_wait)()))
    });
    let id = on_loop.as_ref().map(|(_, id)| *id);
    let slot = Arc::new(Slot { filled: Mutex::new(Filled::Not), changed: Condvar::new(), on_loop });
    start(Completer { slot: Some(Arc::clone(&slot)) });
    loop {
        match slot.take() {
            Filled::With(value) => return Ok(value),
            Filled::Abandoned => {
                return Err(Error::new(
                    crate::ruby::errors::class(ruby, "InternalError"),
                    "The operation ended without a result.",
                ));
            }
            Filled::Not => {}
        }
        match (ruby_loop, id) {
            (Some(ruby_loop), Some(id)) => {
                let _: Value = ruby_loop.funcall(*PARK, (id,))?;
            }
            _ => block_thread(ruby, &slot)?,
        }
    }
}

/// As [`suspend`], for work in a thread of its own. Returns the system's error if it refuses another thread.
pub(crate) fn in_thread<T: Send + 'static>(
    ruby: &Ruby,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<io::Result<T>, Error> {
    let mut refused = None;
    let done = suspend(ruby, |completer| {
        // Without a thread the completer is dropped with the closure, which ends the wait.
        refused = std::thread::Builder::new().spawn(move || completer.complete(work())).err();
    });
    refused.map_or_else(|| done.map(Ok), |error| Ok(Err(error)))
}

/// Suspends the fiber until `id`, a wait of this thread's loop, has ended.
pub(crate) fn park(ruby: &Ruby, id: WaitId) -> Result<(), Error> {
    match running_loop()? {
        Some(ruby_loop) => ruby_loop.funcall::<_, _, Value>(*PARK, (id,)).map(|_| ()),
        None => {
            Err(Error::new(crate::ruby::errors::class(ruby, "OutsideLoop"), "Only a fiber of the worker's loop can wait here."))
        }
    }
}

/// Whether a fiber of this thread's loop is running, rather than the loop itself or a thread without one.
pub(crate) fn is_in_fiber() -> Result<bool, Error> {
    running_loop().map(|ruby_loop| ruby_loop.is_some())
}

/// The process and the number of this thread's loop, if a fiber of it is running.
#[cfg(any(feature = "redis", feature = "sql", feature = "mongo"))]
pub(crate) fn running_loop_identity(_: &Ruby) -> Result<Option<(u32, u32)>, Error> {
    if running_loop()?.is_none() {
        return Ok(None);
    }
    Ok(PARKING.with(|cell| cell.borrow().as_ref().map(|parking| parking.identity)))
}

/// A reference that lives as long as the loop of this thread.
#[cfg(any(feature = "redis", feature = "sql", feature = "mongo"))]
pub(crate) fn loop_life() -> Option<Weak<()>> {
    PARKING.with(|cell| cell.borrow().as_ref().map(|parking| Arc::downgrade(&parking.life)))
}

/// What this thread's loop has in flight.
#[cfg(feature = "redis")]
pub(crate) fn in_flight() -> InFlight {
    PARKING.with(|cell| cell.borrow().as_ref().map(|parking| parking.in_flight.clone())).unwrap_or_default()
}

/// How much this thread's loop has in flight.
pub(crate) fn count_in_flight() -> usize {
    PARKING.with(|cell| cell.borrow().as_ref().map_or(0, |parking| parking.in_flight.count()))
}

/// The loop of this thread, if a fiber of it is running.
fn running_loop() -> Result<Option<RObject>, Error> {
    let Some(ruby_loop) = PARKING.with(|cell| cell.borrow().as_ref().map(|parking| *parking.ruby_loop)) else {
        return Ok(None);
    };
    // As `EventLoop#in_task?`, without a call.
    Ok((!ruby_loop.ivar_get::<_, Value>(*CURRENT)?.is_nil()).then_some(ruby_loop))
}

/// Returns when the slot may have changed, and from time to time.
fn block_thread<T: Send>(ruby: &Ruby, slot: &Slot<T>) -> Result<(), Error> {
    // Ends the iteration that this thread may be in. Otherwise the thread would wait for its own writes, which wait for the
    // iteration's end.
    elah_store::end_iteration();
    let interrupted = Mutex::new(false);
    let unblock = || {
        *interrupted.lock().unwrap_or_else(PoisonError::into_inner) = true;
        let _guard = slot.filled.lock().unwrap_or_else(PoisonError::into_inner);
        slot.changed.notify_all();
    };
    let wait_max = if is_main_thread() { SIGNALS_SEEN_AFTER } else { Duration::MAX };
    without_gvl(
        ruby,
        || {
            let filled = slot.filled.lock().unwrap_or_else(PoisonError::into_inner);
            let waits = |filled: &mut Filled<T>| {
                matches!(filled, Filled::Not) && !*interrupted.lock().unwrap_or_else(PoisonError::into_inner)
            };
            drop(slot.changed.wait_timeout_while(filled, wait_max, waits));
        },
        &unblock,
    )?;
    Ok(())
}
