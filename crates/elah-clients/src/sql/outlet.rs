//! The sending end of a stream of rows.

use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use super::error::Error;
use super::rows::Rows;

/// The most rows of one batch.
pub(super) const BATCH_ROWS: usize = 256;

/// Some rows, or the error that ended them.
pub(super) type Batch = Result<Rows, Error>;

pub(super) struct Outlet {
    sender: mpsc::Sender<Batch>,
    /// How long the connection reads on after the receiver is gone.
    drain: Option<Duration>,
    unwanted_since: Option<Instant>,
}

impl Outlet {
    pub(super) fn new(drain: Option<Duration>) -> (Outlet, mpsc::Receiver<Batch>) {
        let (sender, batches) = mpsc::channel(1);
        (Outlet { sender, drain, unwanted_since: None }, batches)
    }

    /// Waits until there is room. Returns false when the connection should read no more rows.
    pub(super) async fn deliver(&mut self, rows: Rows) -> bool {
        if self.unwanted_since.is_none() && self.sender.send(Ok(rows)).await.is_ok() {
            return true;
        }
        let since = *self.unwanted_since.get_or_insert_with(Instant::now);
        self.drain.is_some_and(|drain| since.elapsed() < drain)
    }

    /// Where to send the error that ends the stream.
    pub(super) fn failures(&self) -> mpsc::Sender<Batch> {
        self.sender.clone()
    }
}
