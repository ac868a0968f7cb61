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
use super::socket::trusted;
use super::stream::Failure;

/// The pause of `accept` when the process has no file descriptor left.
const EXHAUSTED_PAUSE: Duration = Duration::from_millis(50);

enum Event {
    Dial(Rc<Link>),
    Accepted(io::Result<UnixStream>),
    Connected(io::Result<(TcpStream, SocketAddr)>, Rc<Network>),
    Look(Rc<Network>),
    Closed,
}

/// Accepts and opens connections until the links are closed.
pub(crate) async fn run(
    listener: UnixListener,
    tcp: Option<(TcpListener, Rc<Network>)>,
    shared: Rc<Shared>,
    outgoing: Rc<Outgoing>,
    incoming: Rc<Incoming>,
) {
    let handshakes = Rc::new(Handshakes::default());
    let mut looks = interval(LOOK_INTERVAL);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
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
            Event::Accepted(Err(_)) | Event::Connected(Err(_), _) => tokio::time::sleep(EXHAUSTED_PAUSE).await,
        }
    }
}
