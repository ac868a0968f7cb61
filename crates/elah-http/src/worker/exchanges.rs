//! The operations of a handler on its request: read it, respond at once or in pieces, take its connection over.

use std::fs::File;
use std::future::poll_fn;
use std::io;
use std::mem;
use std::pin::Pin;
use std::rc::Rc;
use std::task::Poll;

use bytes::Bytes;
use http_body::{Body, Frame};

use super::Worker;
use crate::admission::RequestId;
use crate::audience::{Audience, Pushed};
use crate::connection_state::Order;
use crate::exchange::Exchange;
use crate::problem::Problem;
use crate::request::RequestView;
use crate::request_body::{BodyRead, RequestBody, incomplete};
use crate::response::{Headers, Response};
use crate::response_stream::{StreamEnd, StreamState, Written};
use crate::router::Resolution;
use crate::shared::{HandedOver, Shared};
use elah_loop::wake::WaitId;

impl Worker {
    /// The request's ID in the log, created on demand; `None` if the request is finished.
    pub fn request_id(&self, id: RequestId) -> Option<String> {
        self.shared.request_id(id)
    }

    /// Reads from a request; `None` if it is finished.
    pub fn request<R>(&self, id: RequestId, read: impl FnOnce(RequestView<'_>) -> R) -> Option<R> {
        let exchange = self.shared.admission.get(id)?;
        Some(read(RequestView::new(&exchange, &self.shared.router)))
    }

    /// Gives a request its next route after those with the IDs `excluded`; once, and its gate stays that of its first route.
    pub fn reroute(&self, id: RequestId, excluded: &[u32]) {
        let Some(exchange) = self.shared.admission.get(id) else { return };
        let (method, path) = (exchange.parts.method.as_str(), exchange.parts.uri.path());
        if let Resolution::Route(route) = self.shared.router.resolve_except(excluded, method, path) {
            let _ = exchange.other_route.set(Box::new(route));
        }
    }

    /// Seconds until the request gets a 504, to the precision of an iteration; `None` once its response has begun.
    pub fn seconds_left(&self, id: RequestId) -> Option<f64> {
        let deadline_ms = self.shared.admission.get(id)?.deadline_ms.get();
        (deadline_ms > 0).then(|| deadline_ms.saturating_sub(self.shared.clock.now_ms()) as f64 / 1000.0)
    }

    /// Sends a response; false if the request already has one, is finished, or its client has disconnected.
    pub fn respond(&self, id: RequestId, response: Response) -> bool {
        self.shared.admission.get(id).is_some_and(|exchange| exchange.respond(response))
    }

    /// Sends one of the server's own problems.
    pub fn respond_with_problem(&self, id: RequestId, problem: &Problem) -> bool {
        let response = self.shared.problem_response(self.shared.request_id(id).as_deref(), problem);
        self.respond(id, response)
    }

    /// Removes a request whose handler has ended; breaks off a stream that it left open. A request without a response gets a 500,
    /// and its description for the log is returned.
    pub fn finish(&self, id: RequestId) -> Option<String> {
        let exchange = self.shared.admission.finish(id, &self.shared.limits, self.shared.clock.now_ms())?;
        if let Some((key, stream)) = exchange.stream.take() {
            let is_open = self.streams.borrow().get(key).is_some_and(|open| Rc::ptr_eq(open, &stream));
            if is_open {
                self.close_stream(key, false);
            }
        }
        if !exchange.reply.is_waiting() {
            return None;
        }
        let request_id = self.shared.id_of(&exchange);
        let problem = Problem::new(500, "no_response", "The handler ended without a response.");
        exchange.respond(self.shared.problem_response(Some(request_id), &problem));
        Some(format!("Request {request_id} {} {}", exchange.parts.method, exchange.parts.uri.path()))
    }

    /// True while a response can still reach the client.
    pub fn awaits_response(&self, id: RequestId) -> bool {
        self.shared.admission.get(id).is_some_and(|exchange| exchange.reply.is_waiting())
    }

    /// Begins a streamed response, which ends with its handler at the latest. `None` as for `respond`, or if `status` is not one
    /// of 200 to 599.
    pub fn start_stream(&self, id: RequestId, status: u16, headers: Headers) -> Option<usize> {
        let stream = Rc::new(StreamState::new(self.shared.limits.response_buffer_bytes, self.shared.local_waker.clone()));
        let response = Response::streamed(status, headers, Rc::clone(&stream))?;
        let exchange = self.shared.admission.get(id)?;
        if !exchange.respond(response) {
            return None;
        }
        let key = self.streams.borrow_mut().insert(Rc::clone(&stream));
        exchange.stream.replace(Some((key, stream)));
        Some(key)
    }

    /// Begins a streamed response that continues after its handler has ended, as part of an audience. False as for `respond`, or
    /// if there is no such audience.
    pub fn join_audience(&self, audience: usize, id: RequestId, status: u16, headers: Headers, first: Bytes) -> bool {
        let audiences = self.audiences.borrow();
        let Some(audience) = audiences.get(audience) else { return false };
        let stream = Rc::new(StreamState::new(self.shared.limits.response_buffer_bytes, self.shared.local_waker.clone()));
        let Some(response) = Response::streamed(status, headers, Rc::clone(&stream)) else { return false };
        if !self.shared.admission.get(id).is_some_and(|exchange| exchange.respond(response)) {
            return false;
        }
        stream.write(first);
        if self.shared.is_draining() {
            stream.close()
        } else {
            audience.join(stream)
        }
        true
    }

    /// Creates an audience and returns its key.
    pub fn open_audience(&self, unread_max: usize) -> usize {
        self.audiences.borrow_mut().insert(Audience::new(unread_max))
    }

    /// Sends a piece to all listeners of an audience.
    pub fn push_to_audience(&self, audience: usize, piece: &Bytes) -> Pushed {
        self.audiences.borrow().get(audience).map_or_else(Pushed::default, |audience| audience.push(piece))
    }

    /// Ends the streams of an audience.
    pub fn close_audience(&self, audience: usize) {
        if let Some(audience) = self.audiences.borrow_mut().try_remove(audience) {
            audience.leave();
        }
    }

    /// Writes to a stream. After `Full`, wait with `wait_for_room` and write the piece again.
    pub fn write(&self, stream: usize, chunk: Bytes) -> Written {
        self.streams.borrow().get(stream).map_or(Written::ClientGone, |stream| stream.write(chunk))
    }

    /// A wait that ends when the client has read enough or has disconnected.
    pub fn wait_for_room(&self, stream: usize) -> WaitId {
        let wait = self.new_wait();
        match self.streams.borrow().get(stream) {
            Some(stream) => stream.wait_for_room(wait),
            None => self.shared.local_waker.end_wait(wait),
        }
        wait
    }

    pub fn is_client_gone(&self, stream: usize) -> bool {
        self.streams.borrow().get(stream).is_none_or(|stream| stream.is_reader_gone())
    }

    /// The end of an open stream; `None` if it is not open.
    pub fn stream_end(&self, stream: usize) -> Option<StreamEnd> {
        let state = Rc::clone(self.streams.borrow().get(stream)?);
        Some(StreamEnd::new(self.new_wait(), state))
    }

    /// Ends a stream; `complete: false` breaks the connection, so that the client does not take the part for the whole.
    pub fn close_stream(&self, stream: usize, complete: bool) {
        if let Some(stream) = self.streams.borrow_mut().try_remove(stream) {
            if complete { stream.close() } else { stream.break_off() }
        }
    }

    /// A wait that ends when the next piece of a streamed request body has arrived, or at once if there is none. Fetch the piece with
    /// `take_chunk`, also after the wait was cancelled.
    pub fn read_chunk(&self, id: RequestId) -> WaitId {
        self.read_body(id, async |shared, exchange| next_chunk(shared, exchange).await)
    }

    /// Like `read_chunk`, but reads all of the body into memory, where `request` finds it. There is no piece.
    pub fn read_whole(&self, id: RequestId) -> WaitId {
        self.read_body(id, async |shared, exchange| read_whole(shared, exchange).await.map(|()| None))
    }

    fn read_body(
        &self,
        id: RequestId,
        read: impl AsyncFnOnce(&Shared, &Exchange) -> Result<Option<Bytes>, Problem> + 'static,
    ) -> WaitId {
        let wait = self.new_wait();
        let Some(exchange) = self.shared.admission.get(id) else {
            self.shared.local_waker.end_wait(wait);
            return wait;
        };
        if !exchange.body.borrow().is_streamed() {
            self.shared.body_reads.borrow_mut().insert(wait, BodyRead::Done(Ok(None)));
            self.shared.local_waker.end_wait(wait);
            return wait;
        }
        let shared = Rc::clone(&self.shared);
        let task = self.tasks.spawn_local(async move {
            let chunk = read(&shared, &exchange).await;
            shared.body_reads.borrow_mut().insert(wait, BodyRead::Done(chunk));
            shared.local_waker.end_wait(wait);
        });
        self.shared.body_reads.borrow_mut().insert(wait, BodyRead::Running(task.abort_handle()));
        wait
    }

    /// The piece for which `wait` waited, `Ok(None)` at the end of the body. `None` for a finished request, and for an unfinished read,
    /// which is dropped: its bytes stay unread.
    pub fn take_chunk(&self, wait: WaitId) -> Option<Result<Option<Bytes>, Problem>> {
        match self.shared.body_reads.borrow_mut().remove(&wait)? {
            BodyRead::Done(chunk) => Some(chunk),
            BodyRead::Running(task) => {
                task.abort();
                None
            }
        }
    }

    /// Lets the body begin with these bytes, which were read from it, so that the next read gets them again.
    pub fn put_back(&self, id: RequestId, bytes: Bytes) {
        if let Some(exchange) = self.shared.admission.get(id) {
            put_back(&exchange, bytes);
        }
    }

    /// A second handle of the file of a spooled body, and the bytes in it. All handles share the position that `read` moves.
    pub fn spooled(&self, id: RequestId) -> Option<io::Result<(File, u64)>> {
        let exchange = self.shared.admission.get(id)?;
        match &*exchange.body.borrow() {
            RequestBody::Spooled { file, bytes } => Some(file.try_clone().map(|file| (file, *bytes))),
            _ => None,
        }
    }

    /// Replaces the body by one that was read elsewhere.
    pub fn replace_body(&self, id: RequestId, bytes: Bytes) {
        if let Some(exchange) = self.shared.admission.get(id) {
            exchange.body.replace(RequestBody::Memory(bytes));
        }
    }

    /// Takes the connection of `id` away from HTTP; a drain no longer waits for the request. When the wait has ended, fetch the
    /// connection with `take_hijacked`, also after the wait was cancelled.
    pub fn hijack(&self, id: RequestId) -> Option<WaitId> {
        let wait = self.new_wait();
        let exchange = self.shared.admission.get(id)?;
        exchange.deadline_ms.set(0);
        exchange.reply.close();
        self.shared.admission.take_over(id);
        self.shared.hijacked.borrow_mut().insert(wait, None);
        exchange.connection.order(Order::HandOver(wait));
        Some(wait)
    }

    /// The connection for which `wait` waited. `None` if it has not arrived; it will be closed.
    pub fn take_hijacked(&self, wait: WaitId) -> Option<HandedOver> {
        self.shared.hijacked.borrow_mut().remove(&wait)?
    }
}

/// The next bytes of a streamed body.
async fn next_chunk(shared: &Shared, exchange: &Exchange) -> Result<Option<Bytes>, Problem> {
    let _reader = exchange.body_reader.lock().await;
    read_piece(shared, exchange).await
}

/// Replaces a streamed body by the whole of it in memory.
async fn read_whole(shared: &Shared, exchange: &Exchange) -> Result<(), Problem> {
    let _reader = exchange.body_reader.lock().await;
    if !exchange.body.borrow().is_streamed() {
        return Ok(()); // another fiber has read it
    }
    let mut gathered = Gathered { exchange, bytes: Vec::new() };
    while let Some(piece) = read_piece(shared, exchange).await? {
        gathered.bytes.extend_from_slice(&piece);
    }
    exchange.body.replace(RequestBody::Memory(mem::take(&mut gathered.bytes).into()));
    Ok(())
}

/// The bytes of a body that is not whole. They go back if its read is given up.
struct Gathered<'a> {
    exchange: &'a Exchange,
    bytes: Vec<u8>,
}

impl Drop for Gathered<'_> {
    fn drop(&mut self) {
        put_back(self.exchange, mem::take(&mut self.bytes).into());
    }
}

fn put_back(exchange: &Exchange, bytes: Bytes) {
    if let RequestBody::Streamed { unread, .. } = &mut *exchange.body.borrow_mut()
        && !bytes.is_empty()
    {
        *unread = [bytes, mem::take(unread)].concat().into();
    }
}

/// The next bytes for who holds `body_reader`. The body stays in place, so a cancelled read loses nothing.
async fn read_piece(shared: &Shared, exchange: &Exchange) -> Result<Option<Bytes>, Problem> {
    let piece = loop {
        let frame = poll_fn(|context| match &mut *exchange.body.borrow_mut() {
            RequestBody::Streamed { unread, rest } if unread.is_empty() => {
                Pin::new(&mut *rest).poll_frame(context).map(|frame| Ok((frame, rest.is_end_stream())))
            }
            RequestBody::Streamed { unread, rest } => {
                Poll::Ready(Ok((Some(Ok(Frame::data(mem::take(unread)))), rest.is_end_stream())))
            }
            RequestBody::Failed(problem) => Poll::Ready(Err(problem.clone())),
            _ => Poll::Ready(Ok((None, true))),
        });
        let (frame, is_end) = frame.await?;
        exchange.is_body_unread.set(frame.is_some() && !is_end);
        match frame {
            None => break Ok(None),
            Some(Err(error)) => {
                let problem = exchange.connection.take_refusal().unwrap_or_else(|| incomplete(error));
                exchange.body.replace(RequestBody::Failed(problem.clone()));
                break Err(problem);
            }
            Some(Ok(frame)) => {
                if let Ok(data) = frame.into_data() {
                    break Ok(Some(data));
                }
            }
        }
    };
    if exchange.deadline_ms.get() > 0 {
        exchange.deadline_ms.set(shared.clock.now_ms() + shared.limits.request_ms);
    }
    piece
}
