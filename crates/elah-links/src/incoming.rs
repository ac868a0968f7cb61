//! Calls of other workers: waiting and running ones, and the connections on which they arrived.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use hashbrown::HashMap;
use tokio::net::UnixStream;

use super::Part;
use super::frame::{self, Frame, Malformed, Reason, VERSION};
use super::outbox::Outbox;
use super::pump::{self, End, Ended};
use super::shared::Shared;
use super::stream::TcpLink;

/// A call to run.
#[derive(Debug)]
pub struct IncomingCall {
    /// Identifies the call in this worker; never reused.
    pub key: u64,
    pub payload: Part,
    /// How many replies the caller expects.
    pub items: u32,
    /// How long the caller waits for them.
    pub remaining: Duration,
}

/// An accepted connection.
#[derive(Debug)]
pub(crate) struct Connection {
    number: u64,
    outbox: Outbox,
    /// The keys of its calls by the caller's IDs.
    keys: RefCell<HashMap<u64, u64>>,
    /// Bytes of calls that wait to run.
    waiting_bytes: Cell<usize>,
}

#[derive(Debug)]
struct OpenCall {
    connection: Rc<Connection>,
    id: u64,
    items_left: u32,
    /// `None` after the call has been handed out.
    payload: Option<Part>,
    due: Instant,
}

#[derive(Debug)]
pub(crate) struct Incoming {
    shared: Rc<Shared>,
    connections: RefCell<HashMap<u64, Rc<Connection>>>,
    calls: RefCell<HashMap<u64, OpenCall>>,
    /// Keys of the calls that wait to run; some of these calls may be cancelled.
    ready: RefCell<VecDeque<u64>>,
    cancelled: RefCell<Vec<u64>>,
    next_number: Cell<u64>,
}

impl Incoming {
    pub(crate) fn new(shared: Rc<Shared>) -> Self {
        Incoming {
            shared,
            connections: RefCell::default(),
            calls: RefCell::default(),
            ready: RefCell::default(),
            cancelled: RefCell::default(),
            next_number: Cell::new(1),
        }
    }

    pub(crate) fn is_full(&self) -> bool {
        self.connections.borrow().len() >= self.shared.bounds.links_max
    }

    pub(crate) fn has_news(&self) -> bool {
        !self.ready.borrow().is_empty() || !self.cancelled.borrow().is_empty()
    }

    pub(crate) fn open(&self) -> usize {
        self.calls.borrow().len()
    }

    pub(crate) fn unread_bytes(&self) -> usize {
        self.connections.borrow().values().map(|connection| connection.outbox.len()).sum()
    }

    fn open_connection(&self) -> Rc<Connection> {
        let connection = Rc::new(Connection {
            number: self.number(),
            outbox: Outbox::default(),
            keys: RefCell::default(),
            waiting_bytes: Cell::new(0),
        });
        self.connections.borrow_mut().insert(connection.number, Rc::clone(&connection));
        connection
    }

    /// Opens a connection. Its work serves it until it ends; then the calls without a reply are cancelled.
    pub(crate) fn accept(self: Rc<Self>, stream: UnixStream) -> impl Future<Output = ()> {
        let connection = self.open_connection();
        connection.outbox.append(|bytes| frame::hello(bytes, VERSION, b""));
        async move {
            let served = Served { incoming: &self, connection: &connection };
            let ended = pump::run(&served, stream, self.shared.bounds.payload_bytes_max).await;
            self.report(&ended);
        }
    }

    /// Opens a connection over TCP whose other end has said hello, and then `received`.
    pub(crate) fn accept_greeted(self: Rc<Self>, stream: TcpLink, received: BytesMut) -> impl Future<Output = ()> {
        let connection = self.open_connection();
        async move {
            let served = Served { incoming: &self, connection: &connection };
            let ended = pump::run_greeted(&served, stream, received, self.shared.bounds.payload_bytes_max).await;
            self.report(&ended);
        }
    }

    fn report(&self, ended: &Ended) {
        if let Ended::Malformed(malformed) = ended {
            self.shared.complain(format!("A link from another process was closed: {malformed}."));
        }
    }

    pub(crate) fn next(&self) -> Option<IncomingCall> {
        let mut now = None;
        loop {
            let key = self.ready.borrow_mut().pop_front()?;
            let mut calls = self.calls.borrow_mut();
            let Some(call) = calls.get_mut(&key) else { continue };
            let Some(payload) = call.payload.take() else { continue };
            call.connection.took(payload.len(), &self.shared);
            let remaining = call.due.saturating_duration_since(*now.get_or_insert_with(Instant::now));
            if remaining.is_zero() {
                drop(calls);
                self.remove(key);
                continue;
            }
            return Some(IncomingCall { key, payload, items: call.items_left, remaining });
        }
    }

    pub(crate) fn reply(&self, key: u64, items: u32, payload: &[u8]) -> bool {
        let mut calls = self.calls.borrow_mut();
        let Some(call) = calls.get_mut(&key) else { return false };
        let outbox = &call.connection.outbox;
        let waiting = outbox.len();
        let is_unread = waiting > 0 && waiting + payload.len() > self.shared.bounds.waiting_bytes_max;
        if is_unread {
            outbox.append(|bytes| frame::failure(bytes, call.id, Reason::Unread));
        } else {
            outbox.append(|bytes| frame::reply(bytes, call.id, items, payload));
        }
        call.items_left = call.items_left.saturating_sub(items);
        if is_unread || call.items_left == 0 {
            drop(calls);
            self.remove(key);
        }
        !is_unread
    }

    pub(crate) fn is_awaited(&self, key: u64) -> bool {
        self.calls.borrow().contains_key(&key)
    }

    pub(crate) fn take_cancelled(&self) -> Vec<u64> {
        std::mem::take(&mut *self.cancelled.borrow_mut())
    }

    pub(crate) fn close(&self) {
        for connection in self.connections.borrow().values() {
            connection.outbox.close();
        }
    }

    fn number(&self) -> u64 {
        let number = self.next_number.get();
        self.next_number.set(number + 1);
        number
    }

    fn remove(&self, key: u64) -> Option<OpenCall> {
        let call = self.calls.borrow_mut().remove(&key)?;
        call.connection.keys.borrow_mut().remove(&call.id);
        Some(call)
    }

    fn begin(&self, connection: &Rc<Connection>, call: OpenCall) -> Result<(), Malformed> {
        let (id, bytes) = (call.id, call.payload.as_ref().map_or(0, Part::len));
        let mut keys = connection.keys.borrow_mut();
        if keys.contains_key(&id) {
            return Err(Malformed::IdTaken);
        }
        if keys.len() >= self.shared.bounds.calls_max {
            connection.outbox.append(|bytes| frame::failure(bytes, id, Reason::Overloaded));
            return Ok(());
        }
        let key = self.number();
        keys.insert(id, key);
        connection.waiting_bytes.set(connection.waiting_bytes.get() + bytes);
        self.calls.borrow_mut().insert(key, call);
        self.ready.borrow_mut().push_back(key);
        Ok(())
    }

    /// Nobody waits for the call any more. It never runs if it has not been handed out.
    fn cancel(&self, key: u64) {
        let Some(call) = self.remove(key) else { return };
        match call.payload {
            Some(payload) => call.connection.took(payload.len(), &self.shared),
            None => self.cancelled.borrow_mut().push(key),
        }
    }
}

impl Connection {
    /// Makes room for further calls.
    fn took(&self, bytes: usize, shared: &Shared) {
        let before = self.waiting_bytes.get();
        self.waiting_bytes.set(before - bytes);
        if before > shared.bounds.waiting_bytes_max {
            self.outbox.wake();
        }
    }
}

/// The end of a connection that runs calls.
struct Served<'a> {
    incoming: &'a Rc<Incoming>,
    connection: &'a Rc<Connection>,
}

impl End for Served<'_> {
    fn outbox(&self) -> &Outbox {
        &self.connection.outbox
    }

    /// Stops reading from a peer that does not read its replies, or that calls faster than its calls run.
    fn reads(&self) -> bool {
        let max = self.incoming.shared.bounds.waiting_bytes_max;
        self.connection.waiting_bytes.get() <= max && self.connection.outbox.len() <= max
    }

    fn greeted(&self) {}

    fn receive(&self, frame: Frame) -> Result<(), Malformed> {
        match frame {
            Frame::Call { id, items, remaining, payload } => {
                let due = Instant::now() + remaining.min(FAR);
                let connection = Rc::clone(self.connection);
                let call = OpenCall { connection, id, items_left: items, payload: Some(payload), due };
                self.incoming.begin(self.connection, call)
            }
            Frame::Cancel { id } => {
                let key = self.connection.keys.borrow().get(&id).copied();
                if let Some(key) = key {
                    self.incoming.cancel(key);
                }
                Ok(())
            }
            Frame::LongCall { id } => {
                self.connection.outbox.append(|bytes| frame::failure(bytes, id, Reason::TooLong));
                Ok(())
            }
            _ => Err(Malformed::WrongDirection),
        }
    }

    fn received(&self) {
        if self.incoming.has_news() {
            self.incoming.shared.notify();
        }
    }
}

/// Longer than any deadline; adding more could overflow the clock.
const FAR: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

impl Drop for Served<'_> {
    fn drop(&mut self) {
        let keys: Vec<u64> = self.connection.keys.borrow().values().copied().collect();
        for key in keys {
            self.incoming.cancel(key);
        }
        self.incoming.connections.borrow_mut().remove(&self.connection.number);
        self.incoming.shared.wake_porter();
        self.received();
    }
}
