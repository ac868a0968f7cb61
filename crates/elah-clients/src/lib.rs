//! Clients of database servers, without Ruby: connections, pools, deadlines and typed errors over well-maintained crates; and a
//! writer of Parquet files. Each is a feature of its own, because the embedded store needs none of them.

#[cfg(feature = "mongo")]
pub mod mongo;
#[cfg(feature = "parquet")]
pub mod parquet;
#[cfg(feature = "redis")]
pub mod redis;
#[cfg(feature = "sql")]
pub mod sql;

#[cfg(any(feature = "mongo", feature = "sql"))]
mod sentence;
#[cfg(any(feature = "mongo", feature = "sql"))]
mod waiters;
