//! A worker's side of the calls between machines: who it is, its certificate, and the greeting of each connection over TCP.

use std::cell::{Cell, RefCell};
use std::fmt::Display;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use crate::address::{Remote, is_name};
use crate::hello::{self, Identity, Unaccepted};
use crate::shared::Shared;
use crate::stream::{Failure, TcpLink};
use crate::tcp;
use crate::tls::Certificates;
use crate::{Port, TcpSettings};

/// How long connecting, the handshake and the hello may take together.
const GREETING_TIME: Duration = Duration::from_secs(5);

/// Refused strangers are reported no more often than this.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);

/// How often an idle worker looks at the files of its certificate.
pub(crate) const LOOK_INTERVAL: Duration = Duration::from_secs(60);

/// The longest name of a cluster.
const CLUSTER_BYTES_MAX: usize = 255;

pub(crate) struct Network {
    node: String,
    address: String,
    certificates: Option<Certificates>,
    /// `None` until the worker has its number.
    identity: RefCell<Option<Rc<Identity>>>,
    shared: Rc<Shared>,
    reported_at: Cell<Option<Instant>>,
    unreported: Cell<usize>,
}

impl Network {
    /// Reads the certificate, and listens on the port.
    pub(crate) fn open(port: Port, shared: Rc<Shared>) -> io::Result<(TcpListener, Network)> {
        let address = port.address();
        let Port { listener, settings, .. } = port;
        let network = Network {
            certificates: certificates(&settings)?,
            node: settings.node,
            address,
            identity: RefCell::default(),
            shared,
            reported_at: Cell::default(),
            unreported: Cell::default(),
        };
        Ok((TcpListener::from_std(listener)?, network))
    }

    /// Where this worker can be called.
    pub(crate) fn address(&self) -> String {
        self.address.clone()
    }

    /// Says who this worker is; from now on it accepts connections. Refuses a name that is too long.
    pub(crate) fn identify(&self, cluster: String, writer: u64) -> Result<(), String> {
        if cluster.is_empty() || cluster.len() > CLUSTER_BYTES_MAX {
            return Err(format!(
                "The name of a cluster has 1 to {CLUSTER_BYTES_MAX} bytes, and {cluster:?} has {}.",
                cluster.len()
            ));
        }
        *self.identity.borrow_mut() = Some(Rc::new(Identity { cluster, node: self.node.clone(), writer }));
        self.shared.wake_porter();
        Ok(())
    }

    pub(crate) fn is_identified(&self) -> bool {
        self.identity.borrow().is_some()
    }

    fn identity(&self) -> Result<Rc<Identity>, String> {
        self.identity.borrow().clone().ok_or_else(|| "this worker has no number in a cluster yet".to_owned())
    }

    pub(crate) fn has_certificates(&self) -> bool {
        self.certificates.is_some()
    }

    /// Reads changed files of the certificate, and reports an expiry that is near.
    pub(crate) fn look_at_certificates(&self) {
        if let Some(certificates) = &self.certificates {
            certificates.refresh(&mut |complaint| self.shared.complain(complaint));
        }
    }

    /// Why this worker cannot call another one now.
    pub(crate) fn obstacle(&self, remote: &Remote) -> Option<String> {
        match (remote.is_secured, self.certificates.is_some()) {
            (true, false) => Some("it needs mutual TLS, and this worker has no certificate".to_owned()),
            (false, true) => Some("it is called without TLS, and this worker has a certificate".to_owned()),
            _ => self.identity().err(),
        }
    }

    /// Connects to another worker. Returns the connection and what the other end has sent after its hello.
    pub(crate) async fn dial(&self, remote: &Remote, owner: u32) -> Result<(TcpLink, BytesMut), Failure> {
        in_time(async {
            let identity = self.identity().map_err(Failure::Lost)?;
            let stream = tcp::connect(&remote.host, remote.port).await.map_err(lost)?;
            let mut stream: TcpLink = match &self.certificates {
                Some(certificates) => {
                    self.look_at_certificates();
                    certificates.connect(stream, &remote.node).await?
                }
                None => {
                    // It says hello at once, and has accepted the connection by then.
                    stream.readable().await.map_err(lost)?;
                    tcp::is_of_same_user(&stream, owner).map_err(Failure::Refused)?;
                    Box::new(stream)
                }
            };
            let (theirs, received) = hello::exchange(&mut stream, &identity).await?;
            if theirs.node != remote.node {
                return Err(Unaccepted::OtherNode { theirs: theirs.node, wanted: remote.node.clone() }.into());
            }
            match remote.writer {
                Some(wanted) if wanted != theirs.writer => Err(Unaccepted::OtherWriter { theirs: theirs.writer, wanted }.into()),
                _ => Ok((stream, received)),
            }
        })
        .await
    }

    /// Greets a process that has connected.
    pub(crate) async fn welcome(&self, stream: TcpStream) -> Result<(TcpLink, BytesMut), Failure> {
        in_time(async {
            let identity = self.identity().map_err(Failure::Lost)?;
            let stream = tcp::prepared(stream).map_err(lost)?;
            let (mut stream, certificate): (TcpLink, _) = match &self.certificates {
                Some(certificates) => {
                    self.look_at_certificates();
                    let (stream, certificate) = certificates.accept(stream).await?;
                    (stream, Some(certificate))
                }
                None => {
                    tcp::is_of_same_user(&stream, self.shared.owner).map_err(Failure::Refused)?;
                    (Box::new(stream), None)
                }
            };
            let (theirs, received) = hello::exchange(&mut stream, &identity).await?;
            if certificate.is_some_and(|certificate| !certificate.names(&theirs.node)) {
                return Err(Unaccepted::NotCertified { node: theirs.node }.into());
            }
            Ok((stream, received))
        })
        .await
    }

    /// Reports a refused stranger, unless another one was reported a moment ago.
    pub(crate) fn report_refusal(&self, from: SocketAddr, cause: &dyn Display) {
        let now = Instant::now();
        if self.reported_at.get().is_some_and(|at| now - at < REPORT_INTERVAL) {
            return self.unreported.set(self.unreported.get() + 1);
        }
        self.reported_at.set(Some(now));
        let others = match self.unreported.take() {
            0 => String::new(),
            count => format!(" {count} others were refused since the last such line."),
        };
        self.shared.complain(format!("A link from {from} was refused: {cause}.{others}"));
    }
}

/// Reads the certificate, if there is one. Refuses settings with which nobody could or should call.
pub(crate) fn certificates(settings: &TcpSettings) -> io::Result<Option<Certificates>> {
    let TcpSettings { host, node, tls, .. } = settings;
    let refuse = |cause: String| Err(io::Error::new(io::ErrorKind::InvalidInput, cause));
    if !is_name(node) {
        return refuse(format!("{node:?} cannot be the name of a node: it must be a DNS name"));
    }
    if host.is_unspecified() {
        return refuse(format!("other machines cannot call {host}: it must be one address of this machine"));
    }
    if tls.is_none() && !host.is_loopback() {
        return refuse(format!("{host} is not a loopback address, so it needs mutual TLS (`cluster_tls`)"));
    }
    tls.clone().map(|files| Certificates::load(files, node)).transpose()
}

async fn in_time<T>(greeting: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let late = || Failure::Lost(format!("it did not finish the handshake within {} s", GREETING_TIME.as_secs()));
    timeout(GREETING_TIME, greeting).await.unwrap_or_else(|_| Err(late()))
}

fn lost(cause: io::Error) -> Failure {
    Failure::Lost(cause.to_string())
}
