//! Stores in temporary directories, and waits for their results.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use elah_store::{Clock, Counter, Error, Options, Store, Table, Transaction};
use tempfile::TempDir;

pub struct Opened {
    pub store: Store,
    pub dir: TempDir,
    time: Arc<AtomicU64>,
    options: Options,
}

impl Opened {
    pub fn new() -> Self {
        Self::with_bytes_max(64 * 1024 * 1024)
    }

    pub fn with_bytes_max(bytes_max: u64) -> Self {
        let dir = TempDir::new().expect("a temporary directory");
        let time = Arc::new(AtomicU64::new(1_000_000));
        let clock = Clock::Manual(Arc::clone(&time));
        let options = Options { bytes_max, fold_pause: Duration::from_millis(5), sweep_pause: Duration::from_secs(3600), clock };
        let store = Store::open(dir.path(), &options).expect("a new store");
        Opened { store, dir, time, options }
    }

    pub fn advance(&self, duration: Duration) {
        self.time.fetch_add(duration.as_millis() as u64, Ordering::AcqRel);
    }

    pub fn now_ms(&self) -> u64 {
        self.time.load(Ordering::Acquire)
    }

    /// Closes the store and opens its directory again.
    pub fn reopen(&mut self) {
        self.store.close();
        self.store = Store::open(self.dir.path(), &self.options).expect("the same store");
    }
}

/// Calls `start` with a callback, and waits for the value that the callback gets.
pub fn wait<T: Send + 'static>(start: impl FnOnce(Box<dyn FnOnce(T) + Send>)) -> T {
    let (sender, receiver) = sync_channel(1);
    start(Box::new(move |value| sender.send(value).expect("somebody waits")));
    receiver.recv().expect("a result")
}

pub fn get(table: &Table, key: &[u8]) -> Option<Vec<u8>> {
    let mut value = Vec::new();
    table.get(key, &mut value).expect("a read").then_some(value)
}

pub fn put(table: &Table, key: &[u8], value: &[u8], ttl: Option<Duration>) -> Result<bool, Error> {
    wait(|done| table.put(key.to_vec(), value.to_vec(), ttl, false, done))
}

pub fn put_new(table: &Table, key: &[u8], value: &[u8], ttl: Option<Duration>) -> Result<bool, Error> {
    wait(|done| table.put(key.to_vec(), value.to_vec(), ttl, true, done))
}

pub fn delete(table: &Table, key: &[u8]) -> Result<bool, Error> {
    wait(|done| table.delete(key.to_vec(), done))
}

pub fn increment(counter: &Counter, key: &[u8], by: i64, max: Option<i64>) -> Result<Option<i64>, Error> {
    wait(|done| counter.increment(key.to_vec(), by, max, done))
}

pub fn commit(transaction: Transaction) -> Result<(), Error> {
    wait(|done| transaction.commit(done))
}
