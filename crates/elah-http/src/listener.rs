//! Listening sockets: bound before a worker exists, accepted inside its loop.

use std::fmt;
use std::future::Future;
use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use socket2::{Domain, Protocol, Type};

use elah_loop::unix_socket;

use crate::connection;
use crate::shared::Shared;
use crate::socket::Socket;

/// The pause of `accept` when the process has no file descriptor left: long enough not to spin, short enough to recover at once.
const EXHAUSTED_PAUSE: Duration = Duration::from_millis(50);

/// How long a worker with more connections pauses, and how many it accepts after that.
const FAIRNESS_PAUSE: Duration = Duration::from_millis(1);
const FAIRNESS_ACCEPTS: u32 = 16;

/// A bound, listening socket. It holds no runtime, so it may cross a fork.
#[derive(Debug)]
pub struct Listener {
    socket: Bound,
}

#[derive(Debug)]
enum Bound {
    Tcp(TcpListener),
    Unix(UnixListener, PathBuf),
}

/// Why listening on an address failed.
#[derive(Debug)]
pub enum ListenerError {
    /// Neither `tcp://HOST:PORT` nor `unix:///PATH`.
    UnknownAddress(String),
    /// An error of the system.
    Refused { address: String, cause: io::Error },
}

impl fmt::Display for ListenerError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ListenerError::UnknownAddress(address) => {
                write!(formatter, "Cannot listen on {address:?}: write tcp://HOST:PORT, tcp://[::1]:PORT or unix:///PATH.")
            }
            ListenerError::Refused { address, cause } => write!(formatter, "Cannot listen on {address}: {cause}."),
        }
    }
}

impl std::error::Error for ListenerError {}

impl Listener {
    /// Binds `tcp://HOST:PORT` (port 0 picks a free one) or `unix:///PATH`, with a backlog of `backlog` connections. Replaces a
    /// socket file on which no process listens any more. A name has a listener for each of its addresses that this machine has.
    pub fn bind(address: &str, backlog: i32) -> Result<Vec<Listener>, ListenerError> {
        let refused = |cause| ListenerError::Refused { address: address.to_owned(), cause };
        if let Some(host_and_port) = address.strip_prefix("tcp://") {
            let resolved = host_and_port.to_socket_addrs().map_err(refused)?;
            let sockets = bind_each(resolved, backlog).map_err(refused)?;
            Ok(sockets.into_iter().map(|socket| Listener { socket: Bound::Tcp(socket) }).collect())
        } else if let Some(path) = address.strip_prefix("unix://").filter(|path| path.starts_with('/')) {
            let path = PathBuf::from(path);
            let socket = unix_socket::bind(&path, backlog).map_err(refused)?;
            Ok(vec![Listener { socket: Bound::Unix(socket, path) }])
        } else {
            Err(ListenerError::UnknownAddress(address.to_owned()))
        }
    }

    /// Adopts a socket that listens already.
    pub fn adopt(descriptor: OwnedFd) -> io::Result<Listener> {
        let socket = socket2::Socket::from(descriptor);
        let unfit = |what: &str| Err(io::Error::new(io::ErrorKind::InvalidInput, what.to_owned()));
        if !socket.is_listener()? {
            return unfit("it does not listen");
        }
        socket.set_cloexec(true)?;
        let address = socket.local_addr()?;
        let socket = match address.domain() {
            Domain::IPV4 | Domain::IPV6 => Bound::Tcp(socket.into()),
            Domain::UNIX => Bound::Unix(socket.into(), address.as_pathname().map(Path::to_owned).unwrap_or_default()),
            _ => return unfit("it is neither of TCP nor of Unix"),
        };
        Ok(Listener { socket })
    }

    /// The number of the socket's descriptor.
    pub fn descriptor(&self) -> RawFd {
        match &self.socket {
            Bound::Tcp(socket) => socket.as_raw_fd(),
            Bound::Unix(socket, _) => socket.as_raw_fd(),
        }
    }

    /// The address in the form of `bind`, with the actual port.
    pub fn address(&self) -> String {
        match &self.socket {
            Bound::Tcp(socket) => socket.local_addr().map_or_else(|_| "tcp://?".to_owned(), |address| format!("tcp://{address}")),
            Bound::Unix(_, path) => format!("unix://{}", path.display()),
        }
    }

    /// The path of a Unix socket. The code that stops the server removes it.
    pub fn socket_path(&self) -> Option<&Path> {
        match &self.socket {
            Bound::Tcp(_) => None,
            Bound::Unix(_, path) => Some(path),
        }
    }

    /// A second handle of the same socket, for a worker.
    pub(crate) fn accepting(&self) -> io::Result<Accepting> {
        Ok(match &self.socket {
            Bound::Tcp(socket) => {
                let socket = socket.try_clone()?;
                socket.set_nonblocking(true)?;
                Accepting::Tcp(tokio::net::TcpListener::from_std(socket)?)
            }
            Bound::Unix(socket, _) => {
                let socket = socket.try_clone()?;
                socket.set_nonblocking(true)?;
                Accepting::Unix(tokio::net::UnixListener::from_std(socket)?)
            }
        })
    }
}

/// Binds all addresses of a name to one port, except those that this machine lacks, unless it lacks all.
fn bind_each(addresses: impl Iterator<Item = SocketAddr>, backlog: i32) -> io::Result<Vec<TcpListener>> {
    let mut bound: Vec<(SocketAddr, TcpListener)> = Vec::new();
    let mut outcome = Ok(());
    for mut address in addresses {
        if let Some((first, _)) = bound.first() {
            address.set_port(first.port());
        }
        if bound.iter().any(|(known, _)| known.ip() == address.ip()) {
            continue; // written twice in /etc/hosts
        }
        match bind_tcp(address, backlog) {
            Ok(socket) => bound.push((socket.local_addr()?, socket)),
            Err(error) if is_missing(&error) => outcome = Err(error),
            Err(error) => return Err(error),
        }
    }
    if bound.is_empty() {
        outcome?
    }
    Ok(bound.into_iter().map(|(_, socket)| socket).collect())
}

/// Whether this machine does not have the address, or no addresses of its kind.
fn is_missing(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EADDRNOTAVAIL | libc::EAFNOSUPPORT))
}

fn bind_tcp(address: SocketAddr, backlog: i32) -> io::Result<TcpListener> {
    let socket = socket2::Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(backlog)?;
    Ok(socket.into())
}

/// A listener inside a worker's loop.
#[derive(Debug)]
pub(crate) enum Accepting {
    Tcp(tokio::net::TcpListener),
    Unix(tokio::net::UnixListener),
}

impl Accepting {
    fn poll_accept(&self, context: &mut Context<'_>) -> Poll<io::Result<(Socket, Option<SocketAddr>)>> {
        match self {
            Accepting::Tcp(listener) => listener.poll_accept(context).map_ok(|(stream, peer)| {
                let _ = stream.set_nodelay(true);
                (Socket::Tcp(stream), Some(peer))
            }),
            Accepting::Unix(listener) => listener.poll_accept(context).map_ok(|(stream, _)| (Socket::Unix(stream), None)),
        }
    }

    fn local_port(&self) -> u16 {
        match self {
            Accepting::Tcp(listener) => listener.local_addr().map_or(0, |address| address.port()),
            Accepting::Unix(_) => 0,
        }
    }
}

/// Accepts until the worker drains, and then what the kernel has already accepted for it, so a stop loses no connection.
pub(crate) async fn accept(shared: Rc<Shared>, listener: Accepting) {
    let local_port = listener.local_port();
    let mut fairness = Fairness::default();
    if shared.is_draining() {
        tokio::task::yield_now().await; // the runtime has looked at the socket then
    }
    loop {
        let accepting = std::future::poll_fn(|context| {
            shared.register_acceptor(context.waker());
            if shared.is_draining() && shared.leaves_backlog.get() {
                return Poll::Ready(None);
            }
            if !shared.is_draining() && (shared.connections_full() || fairness.poll(&shared, context).is_pending()) {
                return Poll::Pending;
            }
            let accepted = listener.poll_accept(context);
            fairness.accepted(accepted.is_ready());
            match accepted {
                Poll::Ready(accepted) => Poll::Ready(Some(accepted)),
                Poll::Pending if shared.is_draining() => Poll::Ready(None),
                Poll::Pending => Poll::Pending,
            }
        });
        // With tokio's budget, the 129th connection would be one that is not there. Before the drain, the budget is for the others.
        let accepted = if shared.is_draining() { tokio::task::unconstrained(accepting).await } else { accepting.await };
        match accepted {
            None => return,
            Some(Ok((socket, peer))) => {
                let remote = peer.map(|peer| peer.ip().to_canonical());
                let state = shared.open_connection(remote, local_port);
                tokio::task::spawn_local(connection::serve(Rc::clone(&shared), state, socket));
            }
            Some(Err(error)) if is_of_the_peer(&error) => {}
            Some(Err(error)) if shared.is_draining() && !is_exhaustion(&error) => return,
            Some(Err(error)) => {
                shared.metrics.accept_failed(&error);
                tokio::time::sleep(EXHAUSTED_PAUSE).await;
            }
        }
    }
}

/// A fair distribution of connections. All workers that accept from one socket are woken, and the first would take everything. So
/// a worker with more connections than another pauses for a moment, and then accepts some that no other worker took.
#[derive(Default)]
struct Fairness {
    pause: Option<Pin<Box<tokio::time::Sleep>>>,
    /// Connections that it accepts before it pauses again.
    accepts_left: u32,
}

impl Fairness {
    fn poll(&mut self, shared: &Shared, context: &mut Context<'_>) -> Poll<()> {
        if self.pause.is_none() {
            if self.accepts_left > 0 || !shared.should_leave_connections() {
                return Poll::Ready(());
            }
            self.pause = Some(Box::pin(tokio::time::sleep(FAIRNESS_PAUSE)));
        }
        if let Some(pause) = &mut self.pause
            && pause.as_mut().poll(context).is_pending()
        {
            return Poll::Pending;
        }
        self.pause = None;
        self.accepts_left = FAIRNESS_ACCEPTS;
        Poll::Ready(())
    }

    fn accepted(&mut self, one: bool) {
        self.accepts_left = if one { self.accepts_left.saturating_sub(1) } else { 0 };
    }
}

/// Whether descriptors or memory are used up, until connections have ended.
fn is_exhaustion(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE | libc::ENOBUFS | libc::ENOMEM))
}

/// Errors of one connection that came and went, not of the listener.
fn is_of_the_peer(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::Interrupted
    )
}
