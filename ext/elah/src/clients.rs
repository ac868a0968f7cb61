//! Native clients of database servers.

#[cfg(feature = "mongo")]
pub(crate) mod mongo;
#[cfg(feature = "redis")]
pub(crate) mod redis;
#[cfg(feature = "sql")]
pub(crate) mod sql;
