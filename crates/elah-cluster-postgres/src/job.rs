//! What the process asks of its writer.

use std::sync::Arc;

use elah_cluster::Role;
use elah_store::{Claim, Entry, Error as StoreError, Range, TableName, Told};

use crate::rows::{Group, Waiting};

/// Told the rows of a range.
pub(crate) type Rows = Told<Result<Vec<Entry>, StoreError>>;

/// What the process asks of its writer.
pub(crate) enum Job {
    Batch(Waiting),
    Read {
        claim: Arc<Claim>,
        table: Arc<TableName>,
        range: Range,
        done: Rows,
    },
    Released(Vec<(u16, u64)>),
    /// Where others call the process from now on, and its role.
    Join(String, Role),
    Leave(Told),
}

impl Job {
    /// This process has left: others own its shards, and the calls are made again there.
    pub(crate) fn refuse(self) {
        match self {
            Job::Batch(waiting) => Group::from(waiting).fail_not_stored(),
            Job::Read { claim, done, .. } => done(Err(claim.fenced())),
            Job::Leave(done) => done(()),
            Job::Released(_) | Job::Join(..) => {}
        }
    }
}

/// A read without a reply. Dropped without one, as at the end of the thread, it says that the shard has moved.
pub(crate) struct Pending {
    claim: Arc<Claim>,
    done: Option<Rows>,
}

impl Pending {
    pub(crate) fn new(claim: Arc<Claim>, done: Rows) -> Pending {
        Pending { claim, done: Some(done) }
    }

    pub(crate) fn reply(mut self, rows: Result<Vec<Entry>, StoreError>) {
        if let Some(done) = self.done.take() {
            done(rows);
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if let Some(done) = self.done.take() {
            done(Err(self.claim.fenced()));
        }
    }
}
