//! Workers whose links run in the loop of a test, and certificates made for it.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

use elah_links::{Bounds, Fate, IncomingCall, Links, Outcome, Port, Refusal, TcpSettings, TlsFiles};
use elah_loop::wake::LocalWaker;
use tempfile::TempDir;
use tokio::task::{LocalSet, spawn_local};

pub(crate) const PATIENCE: Duration = Duration::from_secs(120);
pub(crate) const LONG: Duration = Duration::from_secs(300);

/// Runs a test in a loop of one thread, as a worker does.
pub(crate) fn in_loop(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    LocalSet::new().block_on(&runtime, test);
}

/// Turns the loop until `look` returns something.
pub(crate) async fn until<R>(what: &str, mut look: impl FnMut() -> Option<R>) -> R {
    let give_up_at = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < give_up_at, "it does not come to that: {what}");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

pub(crate) fn files(folder: &Path) -> TlsFiles {
    let [certificate, key, authority] = ["node.pem", "node.key", "authority.pem"].map(|name| folder.join(name));
    TlsFiles { certificate, key, authority }
}

/// A worker of a node.
pub(crate) struct Node {
    pub(crate) links: Rc<Links>,
    pub(crate) folder: TempDir,
    next_wait: RefCell<u64>,
}

impl Node {
    pub(crate) fn open(folder: TempDir, name: &str, host: &str, tls: Option<TlsFiles>) -> std::io::Result<Node> {
        let bounds = Bounds { links_max: 8, calls_max: 100, waiting_bytes_max: 4_000_000, payload_bytes_max: 2_000_000 };
        let tcp = TcpSettings { host: host.parse().unwrap(), ports: 0..=0, node: name.to_owned(), tls };
        let path = folder.path().join("links/own.sock");
        let (links, work) = Links::open(&path, bounds, Some(Port::bind(tcp)?), LocalWaker::default())?;
        spawn_local(work);
        Ok(Node { links: Rc::new(links), folder, next_wait: RefCell::new(1) })
    }

    pub(crate) fn address(&self) -> String {
        self.links.address().unwrap()
    }

    pub(crate) fn port(&self) -> u16 {
        self.socket_address().port()
    }

    pub(crate) fn socket_address(&self) -> SocketAddr {
        self.address().split_once('@').unwrap().1.parse().unwrap()
    }

    pub(crate) fn own_path(&self) -> PathBuf {
        self.folder.path().join("links/own.sock")
    }

    pub(crate) fn start(&self, address: &str, payload: &[u8], remaining: Duration) -> Result<u64, Refusal> {
        let wait = self.next_wait.replace_with(|wait| *wait + 1);
        self.links.call(address, payload, 1, remaining, wait).map(|()| wait)
    }

    pub(crate) async fn outcome(&self, wait: u64) -> Outcome {
        until("the call has an outcome", || self.links.is_settled(wait).then(|| self.links.take(wait).unwrap())).await
    }

    /// The fate of a call that nobody replies to, after the pause that follows failures.
    pub(crate) async fn fate(&self, address: &str) -> Fate {
        let wait = until("a connection is attempted", || match self.start(address, b"x", LONG) {
            Ok(wait) => Some(wait),
            Err(Refusal::Unreachable { .. }) => None,
            Err(refusal) => panic!("{refusal}"),
        })
        .await;
        self.outcome(wait).await.fate
    }

    pub(crate) async fn next_call(&self) -> IncomingCall {
        until("a call arrives", || self.links.next_incoming()).await
    }

    /// Calls a node that replies with the reversed payload.
    pub(crate) async fn echo(&self, other: &Node, payload: &[u8]) -> Outcome {
        let wait = until("a connection is attempted", || self.start(&other.address(), payload, LONG).ok()).await;
        let call = other.next_call().await;
        let reversed: Vec<u8> = call.payload.iter().rev().copied().collect();
        other.links.reply(call.key, 1, &reversed);
        self.outcome(wait).await
    }

    pub(crate) async fn complaint(&self) -> String {
        until("it complains", || self.links.next_complaint()).await
    }
}
