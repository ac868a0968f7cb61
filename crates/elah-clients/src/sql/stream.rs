//! Rows that are read in batches. A task reads one batch ahead, and a slow reader slows the server down.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::{Mutex, mpsc};
use tokio::task::AbortHandle;

use super::error::Error;
use super::held::Held;
use super::lease::Lease;
use super::outlet::{Batch, Outlet};
use super::rows::Rows;
use super::statement::Statement;
use crate::Work;

/// The remaining rows. Dropped early, it abandons them: a connection of its own is closed; that of a transaction reads to the end
/// of the rows, within a time limit, because the transaction may go on. A caller of `next` that is cancelled ends the statement.
pub struct RowStream {
    batches: Mutex<mpsc::Receiver<Batch>>,
    pub(super) reading: AbortHandle,
    is_read_to_end: bool,
    is_whole: Arc<AtomicBool>,
}

impl RowStream {
    pub(super) fn of_lease(mut lease: Lease, statement: Statement) -> RowStream {
        let (outlet, batches) = Outlet::new(None);
        let is_whole = Arc::<AtomicBool>::default();
        let whole = Arc::clone(&is_whole);
        let task = tokio::spawn(async move { pump(&mut lease, &statement, outlet, &whole).await });
        RowStream { batches: Mutex::new(batches), reading: task.abort_handle(), is_read_to_end: false, is_whole }
    }

    pub(super) fn of_transaction(mut held: Held, statement: Statement, drain: Duration) -> RowStream {
        let (outlet, batches) = Outlet::new(Some(drain));
        let is_whole = Arc::<AtomicBool>::default();
        let whole = Arc::clone(&is_whole);
        let task = tokio::spawn(async move {
            if let Some(lease) = held.lease() {
                pump(lease, &statement, outlet, &whole).await;
            }
        });
        RowStream { batches: Mutex::new(batches), reading: task.abort_handle(), is_read_to_end: true, is_whole }
    }

    /// Whether the server has sent all rows. `next` returns `None` also when the reading was cut off.
    pub fn is_whole(&self) -> bool {
        self.is_whole.load(Ordering::Acquire)
    }

    /// The next rows; `None` after the last.
    pub fn next(&self) -> Work<'_, Option<Result<Rows, Error>>> {
        Box::pin(async move {
            let mut wait = Wait { reading: Some(&self.reading) };
            let batch = self.batches.lock().await.recv().await;
            wait.reading = None;
            batch
        })
    }
}

impl Drop for RowStream {
    fn drop(&mut self) {
        if !self.is_read_to_end {
            self.reading.abort();
        }
    }
}

/// Dropped before its end, it ends the reading.
struct Wait<'s> {
    reading: Option<&'s AbortHandle>,
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        if let Some(reading) = self.reading {
            reading.abort();
        }
    }
}

async fn pump(lease: &mut Lease, statement: &Statement, outlet: Outlet, is_whole: &AtomicBool) {
    let failures = outlet.failures(); // which keeps the channel open until the outcome is known
    match lease.stream(statement, outlet).await {
        Ok(()) => is_whole.store(true, Ordering::Release),
        Err(error) => {
            let _ = failures.send(Err(error)).await;
        }
    }
}
