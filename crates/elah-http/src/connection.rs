//! One connection from accept to close: hyper over the guarded socket, and the connection's timers.

use std::future::poll_fn;
use std::io;
use std::rc::Rc;
use std::task::Poll;
use std::time::{Duration, Instant, SystemTime};

use bytes::{Bytes, BytesMut};
use tokio::io::ReadBuf;

use crate::connection_state::{ConnectionState, Order};
use crate::guard::Guard;
use crate::guarded_socket::GuardedSocket;
use crate::problem::{Problem, reason};
use crate::service::ExchangeService;
use crate::shared::Shared;
use crate::socket::Socket;
use elah_loop::wake::WaitId;

/// The longest time that sending a refusal may take.
const REFUSAL: Duration = Duration::from_secs(2);

/// After a response that did not wait for the whole request, the peer may still be sending. Its bytes are read and dropped for this
/// long, because a close with unread bytes would reset the connection and could destroy the response in flight. A proxy such as
/// nginx looks at the response only when it has sent the request, and takes a reset for a failure of the server. nginx itself uses
/// the same times, `lingering_time` and `lingering_timeout`.
const LINGER: Duration = Duration::from_secs(30);
/// The longest time without bytes from the peer.
const LINGER_PAUSE: Duration = Duration::from_secs(5);
/// In place of [`LINGER`] while the worker drains.
const LINGER_DRAINING: Duration = Duration::from_secs(2);

enum End {
    Finished,
    Closed,
    HandedOver(WaitId),
}

/// Serves the connection until it ends.
pub(crate) async fn serve(shared: Rc<Shared>, state: Rc<ConnectionState>, socket: Socket) {
    state.descriptor.set(socket.descriptor());
    let guard = Guard::new(Rc::clone(&shared.guard_limits));
    let guarded = GuardedSocket::new(socket, guard, Rc::clone(&shared), Rc::clone(&state));
    let service = ExchangeService::new(Rc::clone(&shared), Rc::clone(&state));
    let mut connection = shared.http.serve_connection(guarded, service);

    let end = poll_fn(|context| {
        state.register_task(context.waker());
        match state.order.get() {
            Order::GoOn => {}
            Order::Close => return Poll::Ready(End::Closed),
            Order::HandOver(wait) => return Poll::Ready(End::HandedOver(wait)),
        }
        connection.poll_without_shutdown(context).map(|_| End::Finished)
    })
    .await;

    let parts = connection.into_parts();
    let mut guarded = parts.io;
    match end {
        End::Closed => {}
        End::HandedOver(wait) => {
            let (socket, held) = guarded.into_parts();
            shared.hand_over(wait, socket.into_descriptor(), unread(&parts.read_buf, &held));
            shared.close_connection(&state);
            return;
        }
        End::Finished => {
            let refusal = state.take_refusal().filter(|_| guarded.ends_in_refusal());
            let lingers = refusal.is_some() || (guarded.has_unread() && !state.saw_end_of_stream.get());
            // Boxed, so that the state for refusals is not part of every connection.
            if let Some(problem) = refusal {
                shared.metrics.refused();
                let _ = tokio::time::timeout(REFUSAL, Box::pin(send(guarded.socket(), refusal_bytes(&shared, &problem)))).await;
            }
            let _ = poll_fn(|context| guarded.socket().poll_shutdown(context)).await;
            if lingers {
                Box::pin(linger(&shared, guarded.socket())).await;
            }
        }
    }
    drop(guarded);
    shared.close_connection(&state);
}

fn unread(read_by_hyper: &Bytes, held: &BytesMut) -> Vec<u8> {
    [read_by_hyper.as_ref(), held.as_ref()].concat()
}

fn refusal_bytes(shared: &Shared, problem: &Problem) -> Vec<u8> {
    let body = problem.to_json(&shared.new_request_id());
    format!(
        "HTTP/1.1 {} {}\r\ncontent-type: application/problem+json\r\ncontent-length: {}\r\ndate: {}\r\nconnection: close\r\n\r\n{body}",
        problem.status,
        reason(problem.status),
        body.len(),
        httpdate::fmt_http_date(SystemTime::now()),
    )
    .into_bytes()
}

async fn send(socket: &mut Socket, bytes: Vec<u8>) -> io::Result<()> {
    let mut sent = 0;
    while sent < bytes.len() {
        sent += poll_fn(|context| socket.poll_write(context, &bytes[sent..])).await?;
    }
    Ok(())
}

/// Reads and drops what comes, until the peer closes or the time is over.
async fn linger(shared: &Shared, socket: &mut Socket) {
    let began = Instant::now();
    let mut scratch = [0_u8; 16 * 1024];
    loop {
        let is_draining = shared.is_draining();
        let left = if is_draining { LINGER_DRAINING } else { LINGER }.saturating_sub(began.elapsed());
        let mut buffer = ReadBuf::new(&mut scratch);
        let read = poll_fn(|context| {
            if shared.is_draining() != is_draining {
                return Poll::Ready(Ok(false));
            }
            socket.poll_read(context, &mut buffer).map_ok(|()| buffer.filled().is_empty())
        });
        match tokio::time::timeout(left.min(LINGER_PAUSE), read).await {
            Ok(Ok(false)) if !left.is_zero() => {}
            _ => return,
        }
    }
}
