//! The event loop, and waits in it.

pub(crate) mod audience;
pub(crate) mod current_worker;
pub(crate) mod event_loop;
#[cfg(any(feature = "redis", feature = "sql", feature = "mongo"))]
pub(crate) mod future_wait;
pub(crate) mod wait;
