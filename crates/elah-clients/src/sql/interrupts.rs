//! The end of statements whose callers have gone, on separate threads, because the loop of the caller may end earlier. A process counts
//! them, to wait for them before it ends: otherwise the server would go on with the statements.

use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::runtime::Builder;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

use super::connection::Connection;
use super::settings::Settings;

/// The number of threads below the ID of their process: a fork has none of them.
static RUNNING: AtomicU64 = AtomicU64::new(0);

/// How many run in this process.
pub fn interrupts() -> u64 {
    running(RUNNING.load(Ordering::Acquire))
}

/// Ends a connection and its statement. The permit is given back when it is closed.
pub(super) fn interrupt(connection: Connection, settings: Arc<Settings>, permit: Option<OwnedSemaphorePermit>) {
    let counted = Counted::new();
    let work = move || {
        if let Ok(runtime) = Builder::new_current_thread().enable_all().build() {
            let _ = runtime.block_on(async { timeout(settings.bounds.connect, connection.interrupt(&settings)).await });
        }
        connection.abort();
        drop(permit);
        drop(counted);
    };
    // Without a thread, the connection is closed like any other.
    let _ = std::thread::Builder::new().name("elah-interrupt".to_owned()).spawn(work);
}

struct Counted;

impl Counted {
    fn new() -> Counted {
        let _ = RUNNING.fetch_update(Ordering::AcqRel, Ordering::Acquire, |value| Some(own() | (running(value) + 1)));
        Counted
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let _ = RUNNING.fetch_update(Ordering::AcqRel, Ordering::Acquire, |value| Some(own() | running(value).saturating_sub(1)));
    }
}

fn own() -> u64 {
    u64::from(process::id()) << 32
}

fn running(value: u64) -> u64 {
    if value >> 32 == u64::from(process::id()) { value & u64::from(u32::MAX) } else { 0 }
}
