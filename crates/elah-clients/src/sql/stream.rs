//! Rows that are read in batches. A task reads one batch ahead, and a slow reader slows the server down.

use std::time::Duration;

use tokio::sync::{Mutex, mpsc};
use tokio::task::AbortHandle;

use super::error::Error;
use super::lease::{Held, Lease};
use super::outlet::{Batch, Outlet};
use super::rows::Rows;
use super::statement::Statement;
use crate::Work;

/// The remaining rows. Dropped early, it abandons them: a connection of its own is closed; that of a transaction reads to the end
/// of the rows, within a time limit.
pub struct RowStream {
    batches: Mutex<mpsc::Receiver<Batch>>,
    abort: Option<AbortHandle>,
}

impl RowStream {
    pub(super) fn of_lease(mut lease: Lease, statement: Statement) -> RowStream {
        let (outlet, batches) = Outlet::new(None);
        let task = tokio::spawn(async move { pump(&mut lease, &statement, outlet).await });
        RowStream { batches: Mutex::new(batches), abort: Some(task.abort_handle()) }
    }

    pub(super) fn of_transaction(mut held: Held, statement: Statement, drain: Duration) -> RowStream {
        let (outlet, batches) = Outlet::new(Some(drain));
        tokio::spawn(async move {
            if let Some(lease) = held.as_mut() {
                pump(lease, &statement, outlet).await;
            }
        });
        RowStream { batches: Mutex::new(batches), abort: None }
    }

    /// The next rows; `None` after the last.
    pub fn next(&self) -> Work<'_, Option<Result<Rows, Error>>> {
        Box::pin(async move { self.batches.lock().await.recv().await })
    }
}

impl Drop for RowStream {
    fn drop(&mut self) {
        if let Some(task) = &self.abort {
            task.abort();
        }
    }
}

async fn pump(lease: &mut Lease, statement: &Statement, outlet: Outlet) {
    let failures = outlet.failures();
    if let Err(error) = lease.stream(statement, outlet).await {
        let _ = failures.send(Err(error)).await;
    }
}
