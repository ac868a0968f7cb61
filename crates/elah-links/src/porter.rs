//! The task that accepts connections of other workers and opens connections to them.

use std::future::poll_fn;
use std::io;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use tokio::net::{UnixListener, UnixStream};
use tokio::task::spawn_local;

use super::incoming::Incoming;
use super::outgoing::{Link, Outgoing};
use super::shared::Shared;
use super::socket::trusted;

/// The pause of `accept` when the process has no file descriptor left.
const EXHAUSTED_PAUSE: Duration = Duration::from_millis(50);

enum Event {
    Dial(Rc<Link>),
    Accepted(io::Result<UnixStream>),
    Closed,
}

/// Accepts and opens connections until the links are closed.
pub(crate) async fn run(listener: UnixListener, shared: Rc<Shared>, outgoing: Rc<Outgoing>, incoming: Rc<Incoming>) {
    loop {
        let event = poll_fn(|context| {
            shared.register_porter(context);
            if shared.is_closed() {
                return Poll::Ready(Event::Closed);
            }
            if let Some(link) = outgoing.next_to_dial() {
                return Poll::Ready(Event::Dial(link));
            }
            if incoming.is_full() {
                return Poll::Pending;
            }
            listener.poll_accept(context).map(|accepted| Event::Accepted(accepted.map(|(stream, _)| stream)))
        })
        .await;
        match event {
            Event::Closed => return,
            Event::Dial(link) => {
                spawn_local(Rc::clone(&outgoing).serve(link));
            }
            Event::Accepted(Ok(stream)) => match trusted(&stream, shared.owner) {
                Ok(()) => {
                    let connection = incoming.open_connection();
                    spawn_local(Rc::clone(&incoming).serve(connection, stream));
                }
                Err(complaint) => shared.complain(format!("A link was refused: {complaint}.")),
            },
            Event::Accepted(Err(_)) => tokio::time::sleep(EXHAUSTED_PAUSE).await,
        }
    }
}
