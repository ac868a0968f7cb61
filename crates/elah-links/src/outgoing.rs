//! Calls to other workers: the callers that wait for replies, and the connection to each worker.

mod link;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt;
use std::rc::Rc;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use hashbrown::HashMap;
use smallvec::SmallVec;
use tokio::net::UnixStream;

pub(crate) use self::link::Link;
pub use self::link::LinkState;
use super::Part;
use super::address::Address;
use super::frame::{self, Frame, Malformed, Reason, VERSION};
use super::network::Network;
use super::pump::{self, End, Ended};
use super::shared::Shared;
use super::socket::{connect, trusted};
use super::stream::{Failure, TcpLink};
use elah_loop::wake::WaitId;

/// Why calls of a link end when this worker closes it.
const CLOSED: &str = "the link was closed";

/// Why a call was not sent. It has not run.
#[derive(Debug, Clone)]
pub enum Refusal {
    /// Its payload is too long.
    TooLong { bytes: usize, max: usize },
    /// This many calls of the link have no reply yet.
    CallsFull { max: usize },
    /// This many bytes of the link wait to be written.
    BytesFull { max: usize },
    /// This many workers are called already.
    LinksFull { max: usize },
    /// A connection to the worker failed a moment ago.
    Unreachable { cause: String },
    /// The links of this worker are closed.
    Closed,
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::TooLong { bytes, max } => write!(formatter, "The call has {bytes} bytes; at most {max} are allowed."),
            Refusal::CallsFull { max } => write!(formatter, "{max} calls to this worker have no reply yet."),
            Refusal::BytesFull { max } => write!(formatter, "{max} bytes of calls wait to be sent to this worker."),
            Refusal::LinksFull { max } => write!(formatter, "{max} other workers are called already."),
            Refusal::Unreachable { cause } => write!(formatter, "The worker cannot be reached: {cause}."),
            Refusal::Closed => formatter.write_str("The links of this worker are closed."),
        }
    }
}

/// The outcome of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// All its items have a reply.
    Replied,
    /// Some items have no reply yet.
    Pending,
    /// The connection was lost, or not opened, before the call had left. It has not run.
    NotRun(String),
    /// The connection was lost. The call may have run.
    Lost(String),
    /// The other worker does not reply.
    Failed(Reason),
    /// The reply is longer than this worker allows.
    LongReply,
}

/// The received replies, and whether more were expected.
#[derive(Debug)]
pub struct Outcome {
    pub fate: Fate,
    pub parts: SmallVec<[Part; 1]>,
}

#[derive(Debug)]
struct OpenCall {
    link: Rc<Link>,
    /// The position after its frame, in all bytes of the connection.
    end: u64,
    items_left: u32,
    fate: Fate,
    parts: SmallVec<[Part; 1]>,
}

/// A connection to another worker.
enum Connection {
    Local(UnixStream),
    /// The other end has said hello, and then sent these bytes.
    Remote(TcpLink, BytesMut),
}

pub(crate) struct Outgoing {
    shared: Rc<Shared>,
    network: Option<Rc<Network>>,
    calls: RefCell<HashMap<WaitId, OpenCall>>,
    links: RefCell<HashMap<String, Rc<Link>>>,
    to_dial: RefCell<VecDeque<Rc<Link>>>,
}

impl Outgoing {
    pub(crate) fn new(shared: Rc<Shared>, network: Option<Rc<Network>>) -> Self {
        Outgoing { shared, network, calls: RefCell::default(), links: RefCell::default(), to_dial: RefCell::default() }
    }

    pub(crate) fn call(
        &self,
        address: &str,
        payload: &[u8],
        items: u32,
        remaining: Duration,
        wait: WaitId,
    ) -> Result<(), Refusal> {
        let bounds = &self.shared.bounds;
        if payload.len() > bounds.payload_bytes_max {
            return Err(Refusal::TooLong { bytes: payload.len(), max: bounds.payload_bytes_max });
        }
        let link = self.link(address)?;
        if link.in_flight.get() >= bounds.calls_max {
            return Err(Refusal::CallsFull { max: bounds.calls_max });
        }
        if !link.is_driven.get() {
            self.dial(&link)?;
        }
        let waiting = link.outbox.len();
        if waiting > 0 && waiting + payload.len() > bounds.waiting_bytes_max {
            return Err(Refusal::BytesFull { max: bounds.waiting_bytes_max });
        }
        let end = link.outbox.append(|bytes| frame::call(bytes, wait, items, remaining, payload));
        link.in_flight.set(link.in_flight.get() + 1);
        let call = OpenCall { link, end, items_left: items, fate: Fate::Pending, parts: SmallVec::new() };
        self.calls.borrow_mut().insert(wait, call);
        Ok(())
    }

    pub(crate) fn take(&self, wait: WaitId) -> Option<Outcome> {
        let call = self.calls.borrow_mut().remove(&wait)?;
        if call.fate == Fate::Pending {
            call.link.in_flight.set(call.link.in_flight.get() - 1);
            call.link.outbox.append(|bytes| frame::cancel(bytes, wait));
        }
        Some(Outcome { fate: call.fate, parts: call.parts })
    }

    pub(crate) fn is_settled(&self, wait: WaitId) -> bool {
        self.calls.borrow().get(&wait).is_none_or(|call| call.fate != Fate::Pending)
    }

    pub(crate) fn next_to_dial(&self) -> Option<Rc<Link>> {
        self.to_dial.borrow_mut().pop_front()
    }

    pub(crate) fn states(&self) -> Vec<LinkState> {
        self.links.borrow().values().map(|link| link.state()).collect()
    }

    pub(crate) fn retain(&self, addresses: &[String]) {
        let left: Vec<_> = self.links.borrow_mut().extract_if(|address, _| !addresses.contains(address)).collect();
        for (_, link) in left {
            link.outbox.close();
            if !link.is_driven.get() {
                self.end_calls(&link, CLOSED);
            }
        }
    }

    fn link(&self, address: &str) -> Result<Rc<Link>, Refusal> {
        if self.shared.is_closed() {
            return Err(Refusal::Closed);
        }
        let mut links = self.links.borrow_mut();
        if let Some(link) = links.get(address) {
            return Ok(Rc::clone(link));
        }
        let max = self.shared.bounds.links_max;
        if links.len() >= max {
            return Err(Refusal::LinksFull { max });
        }
        let parsed = Address::parse(address).map_err(|cause| Refusal::Unreachable { cause })?;
        let link = Rc::new(Link::new(address, parsed));
        links.insert(address.to_owned(), Rc::clone(&link));
        Ok(link)
    }

    /// Opens the connection, unless that failed a moment ago.
    fn dial(&self, link: &Rc<Link>) -> Result<(), Refusal> {
        if let Some(cause) = link.cause_of_pause(Instant::now()) {
            return Err(Refusal::Unreachable { cause });
        }
        if let Address::Remote(remote) = &link.address {
            let obstacle = match &self.network {
                Some(network) => network.obstacle(remote),
                None => Some("this worker does not listen on TCP, so it calls no other machine".to_owned()),
            };
            if let Some(cause) = obstacle {
                return Err(Refusal::Unreachable { cause });
            }
        }
        link.is_driven.set(true);
        link.outbox.reset();
        if matches!(link.address, Address::Path(_)) {
            link.outbox.append(|bytes| frame::hello(bytes, VERSION, b""));
        }
        self.to_dial.borrow_mut().push_back(Rc::clone(link));
        self.shared.wake_porter();
        Ok(())
    }

    /// Opens the connection and serves it until it is lost or closed.
    pub(crate) async fn serve(self: Rc<Self>, link: Rc<Link>) {
        let served = Served { outgoing: &self, link: &link };
        let payload_bytes_max = self.shared.bounds.payload_bytes_max;
        // Each await here, and not in a function of its own, because every call polls them all.
        let ended = match self.connect(&link).await {
            Ok(Connection::Local(stream)) => Ok(pump::run(&served, stream, payload_bytes_max).await),
            Ok(Connection::Remote(stream, received)) => Ok(pump::run_greeted(&served, stream, received, payload_bytes_max).await),
            Err(failure) => Err(failure),
        };
        let cause = match ended {
            Err(Failure::Lost(cause)) => cause,
            Err(Failure::Refused(cause)) => {
                // Each attempt fails in the same way until somebody changes something.
                if link.last_cause() != cause {
                    self.shared.complain(format!("The link to {} was not made: {cause}.", link.name));
                }
                cause
            }
            Ok(Ended::Closed) => CLOSED.to_owned(),
            Ok(Ended::Gone(cause)) => cause,
            Ok(Ended::Malformed(malformed)) => {
                self.shared.complain(format!("The link to {} was closed: {malformed}.", link.name));
                malformed.to_string()
            }
        };
        link.ended(&cause, Instant::now());
        drop(served);
    }

    async fn connect(&self, link: &Link) -> Result<Connection, Failure> {
        match (&link.address, &self.network) {
            (Address::Path(path), _) => {
                let stream = connect(path, || link.outbox.is_closed()).await.map_err(|cause| Failure::Lost(cause.to_string()))?;
                trusted(&stream, self.shared.owner).map_err(Failure::Lost)?;
                Ok(Connection::Local(stream))
            }
            (Address::Remote(remote), Some(network)) => tokio::select! {
                dialled = network.dial(remote, self.shared.owner) => dialled.map(|(stream, received)| Connection::Remote(stream, received)),
                () = link.outbox.closed() => Err(Failure::Lost(CLOSED.to_owned())),
            },
            (Address::Remote(_), None) => Err(Failure::Lost(CLOSED.to_owned())),
        }
    }

    /// Ends all calls of a link whose connection has ended.
    fn end_calls(&self, link: &Rc<Link>, cause: &str) {
        let mut calls = self.calls.borrow_mut();
        for (wait, call) in calls.iter_mut().filter(|(_, call)| Rc::ptr_eq(&call.link, link)) {
            if call.fate == Fate::Pending {
                let has_left = link.outbox.has_left(call.end);
                call.fate = if has_left { Fate::Lost(cause.to_owned()) } else { Fate::NotRun(cause.to_owned()) };
                self.shared.waker.end_wait(*wait);
            }
        }
        link.in_flight.set(0);
    }

    fn replied(&self, link: &Rc<Link>, id: WaitId, items: u32, payload: Part) -> Result<(), Malformed> {
        let mut calls = self.calls.borrow_mut();
        // Nobody waits any more for a missing call.
        let Some(call) = calls.get_mut(&id).filter(|call| call.fate == Fate::Pending && Rc::ptr_eq(&call.link, link)) else {
            return Ok(());
        };
        call.items_left = call.items_left.checked_sub(items).ok_or(Malformed::TooManyReplies)?;
        call.parts.push(payload);
        if call.items_left == 0 {
            self.settle(id, call, Fate::Replied);
        }
        Ok(())
    }

    fn failed(&self, link: &Rc<Link>, id: WaitId, fate: Fate) {
        let mut calls = self.calls.borrow_mut();
        if let Some(call) = calls.get_mut(&id).filter(|call| call.fate == Fate::Pending && Rc::ptr_eq(&call.link, link)) {
            self.settle(id, call, fate);
        }
    }

    fn settle(&self, id: WaitId, call: &mut OpenCall, fate: Fate) {
        call.fate = fate;
        call.link.in_flight.set(call.link.in_flight.get() - 1);
        self.shared.waker.end_wait(id);
    }
}

/// The calling end of a connection. Its calls end with it, also if the runtime drops the work.
struct Served<'a> {
    outgoing: &'a Rc<Outgoing>,
    link: &'a Rc<Link>,
}

impl End for Served<'_> {
    fn outbox(&self) -> &super::outbox::Outbox {
        &self.link.outbox
    }

    fn reads(&self) -> bool {
        true
    }

    fn greeted(&self) {
        self.link.greeted();
    }

    fn receive(&self, frame: Frame) -> Result<(), Malformed> {
        match frame {
            Frame::Reply { id, items, payload } => self.outgoing.replied(self.link, id, items, payload),
            Frame::Failure { id, reason } => {
                self.outgoing.failed(self.link, id, Fate::Failed(reason));
                Ok(())
            }
            Frame::LongReply { id } => {
                self.outgoing.failed(self.link, id, Fate::LongReply);
                Ok(())
            }
            _ => Err(Malformed::WrongDirection),
        }
    }

    fn received(&self) {}
}

impl Drop for Served<'_> {
    fn drop(&mut self) {
        self.link.is_driven.set(false);
        let cause = self.link.last_cause();
        self.outgoing.end_calls(self.link, &cause);
    }
}
