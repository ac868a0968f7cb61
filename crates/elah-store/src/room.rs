//! The room of a store's file that is left for deletions, whatever else wants it.
//!
//! LMDB writes no page in place: a transaction that deletes needs new pages too, so a file that is full to its last page could not be
//! emptied.

use super::env::{Env, Tree};
use super::error::Error;

/// The part of the file that is left.
const PART: usize = 16;
/// Some transactions' ways down the tree.
const LEFT_BYTES_MIN: usize = 256 * 1024;
const LEFT_BYTES_MAX: usize = 256 * 1024 * 1024;

/// What a transaction found when it began.
pub(super) struct Room {
    pages: usize,
}

impl Room {
    pub(super) fn before(tree: Tree, txn: &heed::RoTxn<'_>) -> Result<Self, Error> {
        Ok(Room { pages: pages(tree, txn)?.0 })
    }

    /// Refuses a transaction with which the tree grows into what is left for deletions.
    pub(super) fn check(&self, env: &Env, tree: Tree, txn: &heed::RoTxn<'_>) -> Result<(), Error> {
        let (pages, page_bytes) = pages(tree, txn)?;
        let bytes_max = env.info().map_size;
        let left = (bytes_max / PART).clamp(LEFT_BYTES_MIN, LEFT_BYTES_MAX);
        if pages > self.pages && pages * page_bytes > bytes_max.saturating_sub(left) {
            return Err(Error::reached_bytes_max());
        }
        Ok(())
    }
}

/// The pages of the tree, and the bytes of each.
fn pages(tree: Tree, txn: &heed::RoTxn<'_>) -> Result<(usize, usize), Error> {
    let stat = tree.stat(txn)?;
    Ok((stat.branch_pages + stat.leaf_pages + stat.overflow_pages, stat.page_size as usize))
}
