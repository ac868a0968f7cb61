//! A connection to one node of a cluster, over which each command is sent once.

use std::io;

use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::cluster_async::Connect;
use redis::{AsyncConnectionConfig, Cmd, ErrorKind, IntoConnectionInfo, Pipeline, RedisError, RedisFuture, Value};

/// The crate `redis` repeats a command of a cluster after any failure of the connection, also when the node has run it. From
/// this connection it gets such a failure as one that it does not repeat.
#[derive(Clone)]
pub(super) struct ClusterNode(MultiplexedConnection);

impl Connect for ClusterNode {
    fn connect_with_config<'a, T>(info: T, config: AsyncConnectionConfig) -> RedisFuture<'a, Self>
    where
        T: IntoConnectionInfo + Send + 'a,
    {
        Box::pin(async move { MultiplexedConnection::connect_with_config(info, config).await.map(ClusterNode) })
    }
}

impl ConnectionLike for ClusterNode {
    fn req_packed_command<'a>(&'a mut self, command: &'a Cmd) -> RedisFuture<'a, Value> {
        Box::pin(async move { self.0.send_packed_command(command).await.map_err(not_repeated) })
    }

    fn req_packed_commands<'a>(&'a mut self, pipeline: &'a Pipeline, offset: usize, count: usize) -> RedisFuture<'a, Vec<Value>> {
        Box::pin(async move { self.0.send_packed_commands(pipeline, offset, count).await.map_err(not_repeated) })
    }

    fn get_db(&self) -> i64 {
        self.0.get_db()
    }
}

/// A node that refuses a command has not run it.
fn not_repeated(error: RedisError) -> RedisError {
    match error.kind() {
        ErrorKind::Server(_) => error,
        _ => io::Error::new(io::ErrorKind::Unsupported, error).into(),
    }
}
