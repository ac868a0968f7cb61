//! Waits for a point in time to some microseconds, where tokio's own timer ticks in milliseconds.

use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec};
use tokio::io::unix::AsyncFd;

/// The shortest wait: sends that are closer together leave in one batch, so that pacing costs at most 20,000
/// wake-ups per second.
const WAIT_MIN: Duration = Duration::from_micros(50);

/// A kernel timer that the runtime polls like a socket.
#[derive(Debug)]
pub(crate) struct Pacer {
    timer: AsyncFd<OwnedFd>,
}

impl Pacer {
    pub(crate) fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = rustix::time::timerfd_create(TimerfdClockId::Monotonic, flags)?;
        // SAFETY: the descriptor is owned by the AsyncFd alone, so it stays open and the same for as long as that lives.
        let timer = unsafe { AsyncFd::register(timer) }?;
        Ok(Self { timer })
    }

    /// Returns at `instant`, or `WAIT_MIN` from now if that is later.
    pub(crate) async fn wait_until(&self, instant: Instant) -> io::Result<()> {
        let wait = instant.saturating_duration_since(Instant::now()).max(WAIT_MIN);
        let value = Timespec::try_from(wait).map_err(|_| io::Error::other("the wait is too long for a timer"))?;
        let interval = Timespec { tv_sec: 0, tv_nsec: 0 };
        // Setting the timer also forgets its last expiry, so it never has to be read.
        rustix::time::timerfd_settime(
            &self.timer,
            TimerfdTimerFlags::empty(),
            &Itimerspec { it_interval: interval, it_value: value },
        )?;
        self.timer.readable().await?.clear_ready();
        Ok(())
    }
}
