//! Calls between workers: persistent, multiplexed connections over Unix sockets, and between machines over TCP with mutual TLS,
//! on the worker's own loop.
//!
//! A worker listens on its own sockets and opens one connection to each worker that it calls, at the first call. All waiting
//! frames leave in one write. A call is bytes, the number of expected replies and the remaining time; only the application knows
//! its meaning. A caller waits on the wait of its call, with its own timer.

mod address;
mod backoff;
mod frame;
mod handshakes;
mod hello;
mod incoming;
mod network;
mod outbox;
mod outgoing;
mod porter;
mod pump;
mod shared;
mod socket;
mod stream;
mod tcp;
#[cfg(feature = "tls")]
mod tls;
#[cfg(not(feature = "tls"))]
#[path = "tls_absent.rs"]
mod tls;

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;

pub use frame::Reason;
use incoming::Incoming;
pub use incoming::IncomingCall;
use network::Network;
use outgoing::Outgoing;
pub use outgoing::{Fate, LinkState, Outcome, Refusal};
use shared::Shared;
use socket::SocketFile;

use elah_loop::wake::{LocalWaker, WaitId};

/// The limits of a worker's links. The defaults are options of the Ruby library.
#[derive(Debug, Clone)]
pub struct Bounds {
    /// The number of workers called, and also of accepted connections.
    pub links_max: usize,
    /// Calls of one link without a reply, at both ends.
    pub calls_max: usize,
    /// Bytes of one link that wait to be written, and bytes of calls that wait to run.
    pub waiting_bytes_max: usize,
    /// Bytes of one payload.
    pub payload_bytes_max: usize,
}

/// How a worker is called by other machines.
#[derive(Debug, Clone)]
pub struct TcpSettings {
    /// The address to listen on; one of loopback unless there is a certificate.
    pub host: IpAddr,
    /// The worker listens on the first free port; 0 lets the system choose.
    pub ports: RangeInclusive<u16>,
    /// The name of this machine, a DNS name that its certificate has.
    pub node: String,
    pub tls: Option<TlsFiles>,
}

impl TcpSettings {
    /// Refuses settings that `Port::bind` would refuse, without listening.
    pub fn check(&self) -> io::Result<()> {
        network::certificates(self).map(drop)
    }
}

/// A port on which a worker will be called. It is taken first, because its address is published before the worker has its number.
#[derive(Debug)]
pub struct Port {
    listener: TcpListener,
    address: SocketAddr,
    settings: TcpSettings,
}

impl Port {
    /// Listens, and accepts nothing before links are opened with it.
    pub fn bind(settings: TcpSettings) -> io::Result<Port> {
        settings.check()?;
        let listener = tcp::bind(settings.host, settings.ports.clone())?;
        Ok(Port { address: listener.local_addr()?, listener, settings })
    }

    /// The address at which other machines call the worker.
    pub fn address(&self) -> String {
        let scheme = if self.settings.tls.is_some() { "tls" } else { "tcp" };
        format!("{scheme}://{}@{}", self.settings.node, self.address)
    }
}

/// The files of a node's certificate, in PEM form. They are read again when they have changed.
#[derive(Debug, Clone)]
pub struct TlsFiles {
    /// The certificate of this node, followed by those of intermediate authorities.
    pub certificate: PathBuf,
    pub key: PathBuf,
    /// The certificates of the authorities that sign those of nodes.
    pub authority: PathBuf,
}

/// The links of one worker.
pub struct Links {
    shared: Rc<Shared>,
    outgoing: Rc<Outgoing>,
    incoming: Rc<Incoming>,
    network: Option<Rc<Network>>,
    /// Removes the file when the links are dropped.
    socket: Rc<SocketFile>,
}

impl Links {
    /// Listens on `path`; creates its folder for this user alone if it is missing. On a port it accepts
    /// connections once it is told who it is. Returns the work that the worker's loop has to run. Must be called inside tokio's runtime.
    pub fn open(
        path: &Path,
        bounds: Bounds,
        port: Option<Port>,
        waker: LocalWaker,
    ) -> io::Result<(Links, impl Future<Output = ()> + 'static)> {
        let (listener, socket) = SocketFile::bind(path)?;
        let socket = Rc::new(socket);
        let shared = Rc::new(Shared::new(bounds, waker, socket.owner()));
        let (tcp_listener, network) = match port {
            Some(port) => {
                let (listener, network) = Network::open(port, Rc::clone(&shared))?;
                (Some(listener), Some(Rc::new(network)))
            }
            None => (None, None),
        };
        let outgoing = Rc::new(Outgoing::new(Rc::clone(&shared), network.clone()));
        let incoming = Rc::new(Incoming::new(Rc::clone(&shared)));
        let tcp = tcp_listener.zip(network.clone());
        let work = porter::run(listener, Rc::clone(&socket), tcp, Rc::clone(&shared), Rc::clone(&outgoing), Rc::clone(&incoming));
        Ok((Links { shared, outgoing, incoming, network, socket }, work))
    }

    /// Says who this worker is in its cluster. Before, it accepts no connection over TCP, and opens none.
    pub fn identify(&self, cluster: &str, writer: u64) -> Result<(), String> {
        let network = self.network.as_ref().ok_or_else(|| "These links do not listen on TCP.".to_owned())?;
        network.identify(cluster.to_owned(), writer)
    }

    /// The address at which other machines call this worker.
    pub fn address(&self) -> Option<String> {
        self.network.as_ref().map(|network| network.address())
    }

    /// Sends a call to the worker at `address`: the path of a Unix socket, or `tls://NODE@HOST:PORT/WRITER`. The wait ends when all
    /// `items` have a reply or will not get one. Then, or when nobody waits any longer, `take` it.
    pub fn call(&self, address: &str, payload: &[u8], items: u32, remaining: Duration, wait: WaitId) -> Result<(), Refusal> {
        self.outgoing.call(address, payload, items, remaining, wait)
    }

    /// Removes a call and returns its outcome; cancels it at the other worker if it has no reply. `None` if there is no such
    /// call.
    pub fn take(&self, wait: WaitId) -> Option<Outcome> {
        self.outgoing.take(wait)
    }

    /// Whether the call gets no more replies.
    pub fn is_settled(&self, wait: WaitId) -> bool {
        self.outgoing.is_settled(wait)
    }

    /// Ends `wait` when there are calls to run, cancelled calls, or complaints; at once if there are some.
    pub fn expect(&self, wait: WaitId) {
        self.shared.expect(wait);
        if self.incoming.has_news() {
            self.shared.notify();
        }
    }

    /// The next call to run. Skips calls that nobody waits for.
    pub fn next_incoming(&self) -> Option<IncomingCall> {
        self.incoming.next()
    }

    /// Replies to `items` items of a call; false if nobody waits for them any more.
    pub fn reply(&self, key: u64, items: u32, payload: &[u8]) -> bool {
        self.incoming.reply(key, items, payload)
    }

    /// Whether the caller still waits.
    pub fn is_awaited(&self, key: u64) -> bool {
        self.incoming.is_awaited(key)
    }

    /// Running calls that nobody waits for any more, each once.
    pub fn take_cancelled(&self) -> Vec<u64> {
        self.incoming.take_cancelled()
    }

    /// A peer's mistake, as a sentence for the log.
    pub fn next_complaint(&self) -> Option<String> {
        self.shared.next_complaint()
    }

    /// The state of the link to each called worker.
    pub fn states(&self) -> Vec<LinkState> {
        self.outgoing.states()
    }

    /// Calls that run or wait to run.
    pub fn open_incoming(&self) -> usize {
        self.incoming.open()
    }

    /// Bytes of replies that the callers have not read.
    pub fn unread_bytes(&self) -> usize {
        self.incoming.unread_bytes()
    }

    /// Closes the links to all workers except those at `addresses`.
    pub fn retain(&self, addresses: &[String]) {
        self.outgoing.retain(addresses);
    }

    /// Closes everything. Waiting frames are written if that works at once.
    pub fn close(&self) {
        self.shared.close();
        self.outgoing.retain(&[]);
        self.incoming.close();
        self.socket.remove();
    }
}

impl Drop for Links {
    fn drop(&mut self) {
        self.close();
    }
}

/// One part of a reply.
pub type Part = Bytes;
