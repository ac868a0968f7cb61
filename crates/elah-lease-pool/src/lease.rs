//! Requests to a pool, and its results.

use std::borrow::Cow;

use crate::Error;

/// Items of one pool.
pub const ITEMS_MAX: usize = 100_000;
/// The largest item, which is the largest integer that Ruby keeps without an object.
pub const ITEM_MAX: i64 = (1 << 62) - 1;
/// Bytes of a session.
pub const SESSION_BYTES_MAX: usize = 255;

/// A request: for any free item or a certain one, for nobody or for a session.
#[derive(Clone, Copy, Debug, Default)]
pub struct Request<'r> {
    pub session: Option<&'r [u8]>,
    pub item: Option<i64>,
}

/// An item that is, or was, lent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease<'p> {
    pub item: i64,
    /// Counts the leases of the pool, so that the ID of an ended lease does not match the next one.
    pub serial: u64,
    pub begun: i64,
    /// When the hold ends.
    pub due: i64,
    pub session: Option<Cow<'p, [u8]>>,
    /// Whether the operation has made or changed the lease. False for a session that holds its item already.
    pub is_changed: bool,
}

/// How the items of a pool are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statistics {
    /// Items without those that leave.
    pub items: usize,
    pub free: usize,
    pub held: usize,
    pub quarantined: usize,
    /// Items that leave when their hold and their quarantine are over.
    pub leaving: usize,
    /// Leases that the pool has made.
    pub leases: u64,
    /// Requests that found no free item since the pool was made, as far as the last snapshot knew after a restart.
    pub overflows: u64,
    /// When the next item is free; `None` if the pool has no items.
    pub next_free_at: Option<i64>,
}

/// Refuses a session that is empty or too long.
pub(crate) fn check_session(session: &[u8]) -> Result<(), Error> {
    let bytes = session.len();
    if (1..=SESSION_BYTES_MAX).contains(&bytes) { Ok(()) } else { Err(Error::InvalidSession { bytes }) }
}

impl Request<'_> {
    /// Refuses what no pool can lend.
    ///
    /// # Errors
    /// [`Error::InvalidSession`] and [`Error::InvalidItem`]
    pub fn check(&self) -> Result<(), Error> {
        self.session.map_or(Ok(()), check_session)?;
        match self.item {
            Some(item) if !(0..=ITEM_MAX).contains(&item) => Err(Error::InvalidItem { item }),
            _ => Ok(()),
        }
    }
}
