//! A cluster, over the crate `redis`, which finds the node of a key, follows moved slots and handles failovers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use redis::aio::ConnectionLike;
use redis::cluster::{ClusterClient as Nodes, ClusterClientBuilder};
use redis::cluster_async;
use redis::{Cmd, ErrorKind, Pipeline, ProtocolVersion, RedisError, TlsCertificates, Value};
use tokio::sync::OnceCell;

use crate::Work;
use crate::redis::cluster_node::ClusterNode;
use crate::redis::command::{Commands, Name};
use crate::redis::error::Error;
use crate::redis::reply::Replies;
use crate::redis::settings::Settings;

/// A caller's command times out before the crate's.
const ROOM: Duration = Duration::from_secs(1);

type ClusterConnection = cluster_async::ClusterConnection<ClusterNode>;

/// A client of a cluster. It connects for the first command.
pub struct ClusterClient {
    settings: Settings,
    connection: OnceCell<ClusterConnection>,
    in_flight: AtomicUsize,
}

/// Counts a command while it waits.
struct InFlight<'a>(&'a AtomicUsize);

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl ClusterClient {
    /// A client without connections.
    pub fn new(settings: Settings) -> Self {
        ClusterClient { settings, connection: OnceCell::new(), in_flight: AtomicUsize::new(0) }
    }

    /// Sends each command to the node of its keys, and returns the replies in the order of the commands.
    pub fn run(&self, commands: Commands) -> Work<'_, Result<Replies, Error>> {
        Box::pin(async move {
            let connection = self.begin().await?;
            let _counted = InFlight(&self.in_flight);
            let replies = commands.words().into_iter().map(|words| {
                let mut connection = connection.clone();
                let command = command(&words);
                async move { connection.req_packed_command(&command).await }
            });
            let replies = self.in_time(commands.name(), join_all(replies)).await?;
            let mut bytes = Vec::new();
            for reply in replies {
                self.write_outcome(reply, commands.name(), &mut bytes)?;
            }
            Ok(Replies::new(bytes.into()))
        })
    }

    /// Runs commands whose keys are on one node, all or none. The single reply is the array of theirs.
    pub fn run_transaction(&self, commands: Commands) -> Work<'_, Result<Replies, Error>> {
        Box::pin(async move {
            let mut connection = self.begin().await?;
            let _counted = InFlight(&self.in_flight);
            let mut pipeline = Pipeline::new();
            pipeline.atomic();
            for words in commands.words() {
                pipeline.add_command(command(&words));
            }
            let name = Name::new(b"MULTI");
            // All replies, because a moved slot shows in that of a command. The node has run none of them then.
            let count = commands.count() as usize + 2;
            let reply = self.in_time(name, connection.req_packed_commands(&pipeline, 0, count)).await?;
            let reply = reply.map(|mut replies| replies.pop().unwrap_or(Value::Nil));
            let mut bytes = Vec::new();
            self.write_outcome(reply, name, &mut bytes)?;
            Ok(Replies::new(bytes.into()))
        })
    }

    async fn begin(&self) -> Result<ClusterConnection, Error> {
        let max = self.settings.times.in_flight_max;
        if self.in_flight.load(Ordering::Relaxed) >= max {
            return Err(Error::Overloaded { server: self.server(), max });
        }
        let connection = self.connection.get_or_try_init(|| self.connect()).await?.clone();
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        Ok(connection)
    }

    async fn connect(&self) -> Result<ClusterConnection, Error> {
        let unreachable = |cause: String| Error::Unreachable {
            server: self.server(),
            cause: cause.trim_end_matches('.').into(),
            retry_after: Duration::ZERO,
        };
        let nodes = self.nodes().map_err(|error| unreachable(safe_text(&error)))?;
        // The connection to a node for the slots, and then those to the nodes themselves.
        let bound = self.settings.times.connect * 2;
        match tokio::time::timeout(bound, nodes.get_async_generic_connection()).await {
            Ok(Ok(connection)) => Ok(connection),
            Ok(Err(error)) => Err(unreachable(safe_text(&error))),
            Err(_) => Err(unreachable(format!("no connection within {} s", bound.as_secs_f64()))),
        }
    }

    fn nodes(&self) -> Result<Nodes, RedisError> {
        let cluster = self.settings.cluster.as_ref().expect("a client of a cluster is made from the settings of one");
        let mut builder = ClusterClientBuilder::new([cluster.node.clone()])
            .use_protocol(ProtocolVersion::RESP3)
            .connection_timeout(self.settings.times.connect)
            .response_timeout(self.settings.times.command + ROOM) // of the crate's own commands too
            .overall_response_timeout(None);
        if let Some(pem) = &cluster.ca_pem {
            builder = builder.certs(TlsCertificates { client_tls: None, root_cert: Some(pem.clone()) });
        }
        builder.build()
    }

    async fn in_time<T>(&self, command: Name, work: impl Future<Output = T>) -> Result<T, Error> {
        let after = self.settings.times.command;
        tokio::time::timeout(after, work).await.map_err(|_| Error::TimedOut { server: self.server(), command, after })
    }

    /// Writes a reply in the format of a single server, for `Replies`.
    fn write_outcome(&self, outcome: Result<Value, RedisError>, command: Name, bytes: &mut Vec<u8>) -> Result<(), Error> {
        match outcome {
            Ok(value) => write_value(&value, bytes),
            Err(error) => match error.code() {
                Some(code) => write_refusal(code, error.detail(), bytes),
                None if error.kind() == ErrorKind::Client => {
                    write_refusal("ERR", Some(&safe_text(&error)), bytes);
                }
                None => return Err(Error::Lost { server: self.server(), command, cause: safe_text(&error).into() }),
            },
        }
        Ok(())
    }

    fn server(&self) -> Arc<str> {
        Arc::clone(&self.settings.server)
    }
}

fn command(words: &[&[u8]]) -> Cmd {
    let mut command = Cmd::new();
    words.iter().for_each(|word| {
        command.arg(word);
    });
    command
}

/// The crate's error message, in one line.
fn safe_text(error: &RedisError) -> String {
    error.to_string().replace(['\r', '\n'], " ")
}

fn write_refusal(code: &str, detail: Option<&str>, bytes: &mut Vec<u8>) {
    let text = format!("-{code} {}", detail.unwrap_or_default()).replace(['\r', '\n'], " ");
    bytes.extend_from_slice(text.trim_end().as_bytes());
    bytes.extend_from_slice(b"\r\n");
}

fn write_value(value: &Value, bytes: &mut Vec<u8>) {
    let line = |bytes: &mut Vec<u8>, text: String| bytes.extend_from_slice(format!("{text}\r\n").as_bytes());
    let text = |bytes: &mut Vec<u8>, text: &[u8]| {
        bytes.extend_from_slice(format!("${}\r\n", text.len()).as_bytes());
        bytes.extend_from_slice(text);
        bytes.extend_from_slice(b"\r\n");
    };
    match value {
        Value::Int(number) => line(bytes, format!(":{number}")),
        Value::Double(number) => line(bytes, format!(",{number}")),
        Value::Boolean(truth) => line(bytes, format!("#{}", if *truth { 't' } else { 'f' })),
        Value::BigNumber(number) => line(bytes, format!("({number}")),
        Value::BulkString(content) => text(bytes, content),
        Value::SimpleString(content) | Value::VerbatimString { text: content, .. } => text(bytes, content.as_bytes()),
        Value::Okay => text(bytes, b"OK"),
        Value::Array(values) | Value::Set(values) | Value::Push { data: values, .. } => {
            line(bytes, format!("*{}", values.len()));
            values.iter().for_each(|value| write_value(value, bytes));
        }
        Value::Map(pairs) => {
            line(bytes, format!("%{}", pairs.len()));
            for (key, value) in pairs {
                write_value(key, bytes);
                write_value(value, bytes);
            }
        }
        Value::Attribute { data, .. } => write_value(data, bytes),
        Value::ServerError(error) => write_refusal(error.code(), error.details(), bytes),
        _ => line(bytes, "_".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redis::reply::Item;

    #[test]
    fn replies_of_a_cluster_read_like_those_of_one_server() {
        let value = Value::Array(vec![
            Value::Okay,
            Value::Map(vec![(Value::BulkString(b"k\r\n".to_vec()), Value::Int(7))]),
            Value::Nil,
            Value::Double(1.5),
            Value::Boolean(true),
        ]);
        let mut bytes = Vec::new();
        write_value(&value, &mut bytes);
        write_refusal("WRONGTYPE", Some("Operation against\r\na key"), &mut bytes);
        let mut replies = Replies::new(bytes.into());
        let expected = [
            Item::Array(5),
            Item::Text(b"OK"),
            Item::Map(1),
            Item::Text(b"k\r\n"),
            Item::Integer(7),
            Item::Nil,
            Item::Float(1.5),
            Item::Boolean(true),
            Item::Refusal(b"WRONGTYPE Operation against  a key"),
        ];
        for item in expected {
            assert_eq!(replies.next_item(), item);
        }
    }
}
