//! Rows that are read in batches. A task reads one batch ahead, and a slow reader slows the server down.

use std::time::{Duration, Instant};

use tokio::sync::{Mutex, mpsc};
use tokio::task::AbortHandle;

use super::error::Error;
use super::lease::Lease;
use super::rows::Rows;
use super::statement::Statement;
use super::transaction::Held;

/// Some rows, or the error that ended them.
type Batch = Result<Rows, Error>;

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
        RowStream { batches, abort: Some(task.abort_handle()) }
    }

    pub(super) fn of_transaction(mut held: Held, statement: Statement, drain: Duration) -> RowStream {
        let (outlet, batches) = Outlet::new(Some(drain));
        tokio::spawn(async move {
            if let Some(lease) = held.as_mut() {
                pump(lease, &statement, outlet).await;
            }
        });
        RowStream { batches, abort: None }
    }

    /// The next rows; `None` after the last.
    pub async fn next(&self) -> Option<Result<Rows, Error>> {
        self.batches.lock().await.recv().await
    }
}

impl Drop for RowStream {
    fn drop(&mut self) {
        if let Some(task) = &self.abort {
            task.abort();
        }
    }
}

/// The sending end of a stream.
pub(super) struct Outlet {
    sender: mpsc::Sender<Batch>,
    /// How long unwanted rows may be read.
    drain: Option<Duration>,
    unwanted_since: Option<Instant>,
}

impl Outlet {
    fn new(drain: Option<Duration>) -> (Outlet, Mutex<mpsc::Receiver<Batch>>) {
        let (sender, batches) = mpsc::channel(1);
        (Outlet { sender, drain, unwanted_since: None }, Mutex::new(batches))
    }

    /// Waits for room. False if no more rows are to be read.
    pub(super) async fn deliver(&mut self, rows: Rows) -> bool {
        if self.unwanted_since.is_none() && self.sender.send(Ok(rows)).await.is_ok() {
            return true;
        }
        let since = *self.unwanted_since.get_or_insert_with(Instant::now);
        self.drain.is_some_and(|drain| since.elapsed() < drain)
    }
}

async fn pump(lease: &mut Lease, statement: &Statement, outlet: Outlet) {
    let sender = outlet.sender.clone();
    if let Err(error) = lease.stream(statement, outlet).await {
        let _ = sender.send(Err(error)).await;
    }
}
