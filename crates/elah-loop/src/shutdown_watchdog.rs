//! The shutdown watchdog: a thread that ends the process if its server does not. It does not need Ruby's lock. It notices signals
//! by its own handlers, which call the handlers that they replace. So it works while Ruby code, or native code that keeps Ruby's
//! lock, loops.

use std::ffi::c_void;
use std::fmt;
use std::io::{self, Read};
use std::os::fd::IntoRawFd;
use std::os::unix::net::UnixStream;
use std::process;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU8, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How often a worker checks whether its supervisor is alive.
const PARENT_CHECK: Duration = Duration::from_secs(1);

/// Bits of `EVENTS`.
const STOPPED: u8 = 1;
const DRAINING: u8 = 2;
const INTERRUPTED_AGAIN: u8 = 4;

/// Events since the start.
static EVENTS: AtomicU8 = AtomicU8::new(0);

/// TERM and INT since the start.
static SIGNALS: AtomicUsize = AtomicUsize::new(0);

/// A descriptor that wakes the thread. It is never closed, because a signal handler may be about to write to it.
static WAKE: AtomicI32 = AtomicI32::new(-1);

/// The handlers that this module replaced.
static REPLACED_TERM: Replaced = Replaced::new();
static REPLACED_INT: Replaced = Replaced::new();

/// The thread and the process that owns it: a fork has none.
static THREAD: Mutex<Option<(u32, JoinHandle<()>)>> = Mutex::new(None);

/// When and how the process is ended.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// The time limit of a drain.
    pub drain: Duration,
    /// How long the server may take to exit by itself after that time, or after the second INT.
    pub grace: Duration,
    /// The exit status.
    pub status: i32,
    /// Whether the process is a worker. Its supervisor handles INT, and its drain also begins when the supervisor dies.
    pub is_worker: bool,
}

/// Starts the thread, which from now on notices signals. Call it after Ruby's handlers of TERM and INT are set. A process has one
/// watchdog; a running one is stopped first.
///
/// # Errors
/// If the system has no room for a thread or a socket.
pub fn start(settings: Settings) -> io::Result<()> {
    stop();
    EVENTS.store(0, Ordering::SeqCst);
    SIGNALS.store(0, Ordering::SeqCst);
    let (wake, inbox) = UnixStream::pair()?;
    wake.set_nonblocking(true)?;
    let watch = Watch::new(settings);
    let thread = thread::Builder::new().name("elah-watchdog".to_owned()).spawn(move || watch.run(inbox))?;
    *THREAD.lock().unwrap_or_else(PoisonError::into_inner) = Some((process::id(), thread));
    WAKE.store(wake.into_raw_fd(), Ordering::SeqCst);
    handle(libc::SIGTERM);
    if !settings.is_worker {
        handle(libc::SIGINT);
    }
    Ok(())
}

/// Records that a drain has begun.
pub fn note_drain() {
    note(DRAINING);
}

/// Stops the thread, because the server has ended.
pub fn stop() {
    let thread = THREAD.lock().unwrap_or_else(PoisonError::into_inner).take();
    match thread {
        Some((process_id, thread)) if process_id == process::id() => {
            note(STOPPED);
            let _ = thread.join();
        }
        // The handle belongs to the parent. Dropping it would detach a thread that does not exist here.
        Some(inherited) => std::mem::forget(inherited),
        None => {}
    }
}

#[derive(Debug, Clone, Copy)]
enum Reason {
    DrainedTooLong(Duration),
    InterruptedAgain,
}

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::DrainedTooLong(bound) => write!(formatter, "The drain took longer than {} s", bound.as_secs_f64()),
            Reason::InterruptedAgain => write!(formatter, "INT came again"),
        }
    }
}

/// The address of a signal handler; 0 while there is none.
struct Replaced {
    address: AtomicUsize,
    /// Whether it takes three parameters, as SA_SIGINFO says.
    takes_info: AtomicBool,
}

impl Replaced {
    const fn new() -> Self {
        Replaced { address: AtomicUsize::new(0), takes_info: AtomicBool::new(false) }
    }

    fn of(signal: i32) -> &'static Replaced {
        if signal == libc::SIGINT { &REPLACED_INT } else { &REPLACED_TERM }
    }
}

/// The state of the thread.
struct Watch {
    settings: Settings,
    parent: u32,
    drain_due: Option<Instant>,
    interrupt_due: Option<Instant>,
}

impl Watch {
    fn new(settings: Settings) -> Self {
        Watch { settings, parent: std::os::unix::process::parent_id(), drain_due: None, interrupt_due: None }
    }

    fn run(mut self, mut inbox: UnixStream) {
        loop {
            let events = EVENTS.load(Ordering::SeqCst);
            if events & STOPPED != 0 {
                return;
            }
            let now = Instant::now();
            self.take_note(events, now);
            let due =
                [(self.drain_due, Reason::DrainedTooLong(self.settings.drain)), (self.interrupt_due, Reason::InterruptedAgain)];
            let due = due.into_iter().filter_map(|(due, reason)| Some((due?, reason))).min_by_key(|(due, _)| *due);
            if let Some((due, reason)) = due
                && due <= now
            {
                end_process(&self.settings, reason);
            }
            let left = due.map(|(due, _)| due - now);
            let check = (self.settings.is_worker && self.drain_due.is_none()).then_some(PARENT_CHECK);
            let pause = left.into_iter().chain(check).min().map(|pause| pause.max(Duration::from_millis(1)));
            if inbox.set_read_timeout(pause).is_err() {
                return;
            }
            let _ = inbox.read(&mut [0; 64]);
        }
    }

    fn take_note(&mut self, events: u8, now: Instant) {
        let Settings { drain, grace, is_worker, .. } = self.settings;
        let is_orphan = is_worker && std::os::unix::process::parent_id() != self.parent;
        if is_orphan || events & DRAINING != 0 || SIGNALS.load(Ordering::SeqCst) > 0 {
            self.drain_due.get_or_insert(now + drain + grace);
        }
        if events & INTERRUPTED_AGAIN != 0 {
            self.interrupt_due.get_or_insert(now + grace);
        }
    }
}

/// Records an event and wakes the thread. A signal handler may call it.
#[expect(unsafe_code, reason = "a system call that a signal handler may make")]
fn note(event: u8) {
    EVENTS.fetch_or(event, Ordering::SeqCst);
    // SAFETY: the byte outlives the call. The descriptor is open, or -1, which fails.
    unsafe { libc::write(WAKE.load(Ordering::SeqCst), [0_u8].as_ptr().cast(), 1) };
}

/// Installs `notice` in front of the handler of a signal. Leaves a signal without a handler alone.
#[expect(unsafe_code, reason = "sigaction has no safe form")]
fn handle(signal: i32) {
    let replaced = Replaced::of(signal);
    let ours = notice as extern "C" fn(i32, *mut libc::siginfo_t, *mut c_void) as usize;
    // SAFETY: `sigaction` is a plain struct for which zeros are valid. Both calls read and write such structs on this stack.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        let is_known = libc::sigaction(signal, std::ptr::null(), &raw mut action) == 0;
        if is_known && ![libc::SIG_DFL, libc::SIG_IGN, ours].contains(&action.sa_sigaction) {
            replaced.takes_info.store(action.sa_flags & libc::SA_SIGINFO != 0, Ordering::SeqCst);
            replaced.address.store(action.sa_sigaction, Ordering::SeqCst);
            action.sa_sigaction = ours;
            action.sa_flags |= libc::SA_SIGINFO;
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        }
    }
}

/// The handler of TERM and INT: atomics, one write, and a call of the handler that it replaced.
#[expect(unsafe_code, reason = "errno, and a function that is known by its address")]
extern "C" fn notice(signal: i32, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the address of this thread's errno, which the interrupted code may be about to read.
    let errno = unsafe { *libc::__errno_location() };
    let is_first = SIGNALS.fetch_add(1, Ordering::SeqCst) == 0;
    note(if signal == libc::SIGINT && !is_first { INTERRUPTED_AGAIN } else { 0 });
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
    let replaced = Replaced::of(signal);
    let address = replaced.address.load(Ordering::SeqCst);
    if address == 0 {
        return;
    }
    // SAFETY: `handle` stores the address of a handler together with its kind of parameters.
    unsafe {
        if replaced.takes_info.load(Ordering::SeqCst) {
            let handler: extern "C" fn(i32, *mut libc::siginfo_t, *mut c_void) = std::mem::transmute(address);
            handler(signal, info, context);
        } else {
            let handler: extern "C" fn(i32) = std::mem::transmute(address);
            handler(signal);
        }
    }
}

/// Logs the reason, unless that would block, and ends the process: no `at_exit` block runs, and no buffer is flushed.
#[expect(unsafe_code, reason = "system calls on the standard error, and an exit that runs nothing")]
fn end_process(settings: &Settings, reason: Reason) -> ! {
    let Settings { grace, status, .. } = settings;
    let line = format!(
        "{} ERROR [{}] {reason}, and the server did not end within {} s more: ending the process, exit status {status}. \
         A handler holds the loop, or a hook or an ensure block does not return.\n",
        timestamp(),
        process::id(),
        grace.as_secs_f64()
    );
    let mut error = libc::pollfd { fd: libc::STDERR_FILENO, events: libc::POLLOUT, revents: 0 };
    // SAFETY: both pointers are to values on this stack that outlive the calls; `_exit` takes none.
    unsafe {
        if libc::poll(&raw mut error, 1, 0) == 1 && error.revents & libc::POLLOUT != 0 {
            libc::write(libc::STDERR_FILENO, line.as_ptr().cast(), line.len());
        }
        libc::_exit(*status)
    }
}

/// The wall-clock time in the format of the log.
#[expect(unsafe_code, reason = "the calendar is libc's")]
fn timestamp() -> String {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = libc::time_t::try_from(since_epoch.as_secs()).unwrap_or(libc::time_t::MAX);
    // SAFETY: zeros are a valid `tm`; the call reads and writes values on this stack alone.
    let at = unsafe {
        let mut at: libc::tm = std::mem::zeroed();
        libc::gmtime_r(&raw const seconds, &raw mut at);
        at
    };
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
        at.tm_year + 1900,
        at.tm_mon + 1,
        at.tm_mday,
        at.tm_hour,
        at.tm_min,
        at.tm_sec,
        since_epoch.subsec_millis()
    )
}
