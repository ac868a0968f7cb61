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

/// What a method of a client returns: a future whose code is compiled here, once. An `async fn` would be compiled by who awaits it,
/// with all that the drivers await in it.
#[cfg(any(feature = "mongo", feature = "redis", feature = "sql"))]
pub type Work<'a, T> = std::pin::Pin<Box<dyn Future<Output = T> + Send + 'a>>;

#[cfg(any(feature = "mongo", feature = "sql"))]
mod sentence;
#[cfg(any(feature = "mongo", feature = "sql"))]
mod waiters;
