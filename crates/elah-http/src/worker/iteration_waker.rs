//! The waker of the loop's iterations. Between two iterations, a wake-up from the loop's own thread is dropped, because the next
//! iteration begins by checking everything. tokio's own waker makes a system call whenever its runtime is not running.

use std::cell::{Cell, OnceCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Wake, Waker};

static LOOPS: AtomicU64 = AtomicU64::new(1);

thread_local! {
    /// The loop of this thread while it is between two iterations; 0 during an iteration, and on a thread without a loop.
    static BETWEEN_ITERATIONS: Cell<u64> = const { Cell::new(0) };
}

struct Woken {
    /// Unique in this process: no other loop ever has the same number.
    event_loop: u64,
    runtime: Waker,
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if BETWEEN_ITERATIONS.get() != self.event_loop {
            self.runtime.wake_by_ref();
        }
    }
}

/// The waker of one loop's iterations. It belongs to the loop's thread; its wakers may be sent to others.
pub(super) struct IterationWaker {
    event_loop: u64,
    waker: OnceCell<Waker>,
}

impl IterationWaker {
    pub(super) fn new() -> Self {
        IterationWaker { event_loop: LOOPS.fetch_add(1, Ordering::Relaxed), waker: OnceCell::new() }
    }

    /// Begins an iteration: from now on every wake-up counts.
    pub(super) fn begin(&self) {
        BETWEEN_ITERATIONS.set(0);
    }

    /// The iteration has ended.
    pub(super) fn end(&self) {
        BETWEEN_ITERATIONS.set(self.event_loop);
    }

    /// The waker of all iterations. It wakes `runtime`, which must be the same every time.
    pub(super) fn waker(&self, runtime: &Waker) -> &Waker {
        self.waker.get_or_init(|| Waker::from(Arc::new(Woken { event_loop: self.event_loop, runtime: runtime.clone() })))
    }
}

impl Drop for IterationWaker {
    fn drop(&mut self) {
        BETWEEN_ITERATIONS.set(0);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn only_a_wake_by_the_own_thread_between_two_turns_is_dropped() {
        let count = Arc::new(Count::default());
        let of_runtime = Waker::from(Arc::clone(&count));
        let wakes = || count.0.load(Ordering::Relaxed);
        let (one, other) = (IterationWaker::new(), IterationWaker::new());
        let waker = one.waker(&of_runtime).clone();
        waker.wake_by_ref();
        assert_eq!(wakes(), 1, "before the first iteration");
        one.begin();
        waker.wake_by_ref();
        assert_eq!(wakes(), 2, "in an iteration");
        one.end();
        waker.wake_by_ref();
        assert_eq!(wakes(), 2, "between two iterations");
        other.waker(&of_runtime).wake_by_ref();
        assert_eq!(wakes(), 3, "of another loop");
        std::thread::scope(|scope| {
            scope.spawn(|| waker.wake_by_ref());
        });
        assert_eq!(wakes(), 4, "by another thread");
        drop(one);
        waker.wake();
        assert_eq!(wakes(), 5, "after the loop has ended");
    }
}
