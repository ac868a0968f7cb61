//! Lease pools: numbered items (telephone numbers, seats, addresses) that are lent for a time.
//!
//! ```
//! use elah_lease_pool::{LeasePool, Policy, Request, Terms};
//!
//! let terms = Terms { hold: 60, quarantine: 0, policy: Policy::LongestIdle, is_draining: false };
//! let mut pool = LeasePool::new(terms, 1);
//! pool.resize(1_000, &[7, 8]).expect("two different items");
//! let lease = pool.lease(1_001, &Request::default()).expect("an item is free");
//! assert_eq!((lease.item, lease.serial, lease.due), (7, 1, 1_061));
//! assert_eq!(pool.find(1_050, 7, 1).map(|lease| lease.due), Some(1_061));
//! assert_eq!(pool.find(1_061, 7, 1), None);
//! ```
//!
//! Times are integers in a unit of the caller's choice, in Elah microseconds since 1970. The crate does no I/O: the caller stores
//! the rows that [`Step`] and [`LeasePool::snapshot`] write, and [`LeasePool::restore`] reads them again.

mod error;
mod free;
mod history;
mod json;
mod key;
mod lease;
mod pool;
mod reader;
mod restore;
mod step;
mod terms;

pub use error::Error;
pub use history::{Holder, holder};
pub use json::write_leases;
pub use key::{Key, Kind, PREFIX_BYTES_MAX};
pub use lease::{ITEM_MAX, ITEMS_MAX, Lease, Request, SESSION_BYTES_MAX, Statistics};
pub use pool::LeasePool;
pub use step::{Action, Step};
pub use terms::{Policy, Terms};
