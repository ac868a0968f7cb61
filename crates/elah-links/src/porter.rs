//! The task that accepts connections of other workers and opens connections to them.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::task::spawn_local;
use tokio::time::{MissedTickBehavior, interval};

use super::handshakes::Handshakes;
use super::incoming::Incoming;
use super::network::{LOOK_INTERVAL, Network};
use super::outgoing::{Link, Outgoing};
use super::shared::Shared;
use super::socket::{SocketFile, trusted};
use super::stream::Failure;

/// The pause of `accept` when the process has no file descriptor left.
const EXHAUSTED_PAUSE: Duration = Duration::from_millis(50);

/// How often a worker looks for the file of its socket.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

enum Event {
    Dial(Rc<Link>),
    Accepted(io::Result<UnixStream>),
    Connected(io::Result<(TcpStream, SocketAddr)>, Rc<Network>),
    Look(Rc<Network>),
    Check,
    Closed,
}

/// Accepts and opens connections until the links are closed.
pub(crate) async fn run(
    mut listener: UnixListener,
    socket: Rc<SocketFile>,
    tcp: Option<(TcpListener, Rc<Network>)>,
    shared: Rc<Shared>,
    outgoing: Rc<Outgoing>,
    incoming: Rc<Incoming>,
) {
    let handshakes = Rc::new(Handshakes::default());
    let mut looks = interval(LOOK_INTERVAL);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut checks = interval(CHECK_INTERVAL);
    checks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut is_missing = false;
    loop {
        let event = poll_fn(|context| {
            shared.register_porter(context);
            if shared.is_closed() {
                return Poll::Ready(Event::Closed);
            }
            if let Some(link) = outgoing.next_to_dial() {
                return Poll::Ready(Event::Dial(link));
            }
            if let Some((_, network)) = tcp.as_ref().filter(|(_, network)| network.has_certificates())
                && looks.poll_tick(context).is_ready()
            {
                return Poll::Ready(Event::Look(Rc::clone(network)));
            }
            if checks.poll_tick(context).is_ready() {
                return Poll::Ready(Event::Check);
            }
            if incoming.is_full() {
                return Poll::Pending;
            }
            if let Some((listener, network)) = tcp.as_ref().filter(|(_, network)| network.is_identified())
                && let Poll::Ready(connected) = listener.poll_accept(context)
            {
                return Poll::Ready(Event::Connected(connected, Rc::clone(network)));
            }
            listener.poll_accept(context).map(|accepted| Event::Accepted(accepted.map(|(stream, _)| stream)))
        })
        .await;
        match event {
            Event::Closed => return handshakes.abort(),
            Event::Dial(link) => {
                spawn_local(Rc::clone(&outgoing).serve(link));
            }
            Event::Accepted(Ok(stream)) => match trusted(&stream, shared.owner) {
                Ok(()) => {
                    spawn_local(Rc::clone(&incoming).accept(stream));
                }
                Err(complaint) => shared.complain(format!("A link was refused: {complaint}.")),
            },
            Event::Connected(Ok((stream, from)), network) => {
                let incoming = Rc::clone(&incoming);
                handshakes.run(async move {
                    match network.welcome(stream).await {
                        Ok((stream, received)) => return Some(incoming.accept_greeted(stream, received)),
                        Err(Failure::Lost(cause) | Failure::Refused(cause)) => network.report_refusal(from, &cause),
                    }
                    None
                });
            }
            Event::Look(network) => network.look_at_certificates(),
            Event::Check => match socket.restore() {
                Ok(None) => is_missing = false,
                Ok(Some(restored)) => {
                    listener = restored;
                    is_missing = false;
                    shared.complain(format!(
                        "The worker's socket {} was removed. It listens there again.",
                        socket.path().display()
                    ));
                }
                Err(cause) if !is_missing => {
                    is_missing = true;
                    let path = socket.path().display();
                    shared.complain(format!("The worker's socket {path} was removed, so new workers cannot call it: {cause}."));
                }
                Err(_) => {}
            },
            Event::Accepted(Err(_)) | Event::Connected(Err(_), _) => tokio::time::sleep(EXHAUSTED_PAUSE).await,
        }
    }
}
