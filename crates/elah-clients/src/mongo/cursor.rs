//! The documents of a query, batch by batch. The next batch is requested when the last one is used up.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::StreamExt;
use mongodb::raw_batch_cursor::{RawBatch, RawBatchCursor};

use super::client::Client;
use super::error::Error;
use crate::Work;

/// A query that is being read. If it is dropped before its end, it closes the cursor on the server.
pub struct Cursor {
    client: Arc<Client>,
    doing: String,
    first: Mutex<Option<Batch>>,
    /// `None` while a batch is requested, and when nothing is left.
    rest: Mutex<Option<RawBatchCursor>>,
}

/// Documents of one reply.
#[derive(Debug)]
pub struct Batch {
    reply: RawBatch,
}

impl Batch {
    /// The documents as the bytes of a BSON array.
    pub fn array(&self) -> Option<&[u8]> {
        self.reply.doc_slices().ok().map(|documents| documents.as_bytes())
    }

    /// True if the server has no more.
    fn is_last(&self) -> bool {
        self.reply.as_raw_document().get_document("cursor").and_then(|cursor| cursor.get_i64("id")).is_ok_and(|id| id == 0)
    }
}

impl Cursor {
    /// A cursor with its first batch.
    pub(super) async fn open(client: Arc<Client>, doing: String, mut batches: RawBatchCursor) -> Result<Cursor, Error> {
        let first = match batches.next().await.transpose() {
            Ok(first) => first.map(|reply| Batch { reply }),
            Err(error) => return Err(client.asked(&doing).error(&error)),
        };
        let rest = first.as_ref().is_some_and(|first| !first.is_last()).then_some(batches);
        Ok(Cursor { client, doing, first: Mutex::new(first), rest: Mutex::new(rest) })
    }

    /// The result of `next_batch` if it needs no request; `None` if it needs one.
    pub fn batch_at_hand(&self) -> Option<Option<Batch>> {
        let first = self.first.lock().unwrap_or_else(PoisonError::into_inner).take();
        match first {
            Some(first) => Some(Some(first)),
            None => self.rest.lock().unwrap_or_else(PoisonError::into_inner).is_none().then_some(None),
        }
    }

    /// The next documents; `None` at the end. Only one caller may wait.
    pub fn next_batch(&self) -> Work<'_, Result<Option<Batch>, Error>> {
        Box::pin(async move {
            if let Some(batch) = self.batch_at_hand() {
                return Ok(batch);
            }
            let Some(mut rest) = self.rest.lock().unwrap_or_else(PoisonError::into_inner).take() else { return Ok(None) };
            let next = self.client.run(&self.doing, |_| async { rest.next().await.transpose() }).await?;
            let Some(batch) = next.map(|reply| Batch { reply }) else { return Ok(None) };
            if !batch.is_last() {
                *self.rest.lock().unwrap_or_else(PoisonError::into_inner) = Some(rest);
            }
            Ok(Some(batch))
        })
    }

    /// Closes the cursor.
    pub fn close(&self) {
        self.first.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.rest.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}
