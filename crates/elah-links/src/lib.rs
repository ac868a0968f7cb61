//! Calls between the workers of one machine: persistent, multiplexed connections over Unix sockets, on the worker's own loop.
//!
//! A worker listens on a socket of its own and opens one connection to each worker that it calls, when it calls it first. All frames that
//! wait at one moment leave in one write. What a call means is the application's affair: here it is bytes, how many answers it
//! expects, and the time that is left. Who calls waits for the wait of the call to end, with a timer of its own.

mod backoff;
mod frame;
mod incoming;
mod outbox;
mod outgoing;
mod porter;
mod pump;
mod shared;
mod socket;

use std::io;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use tokio::net::UnixListener;

pub use frame::Reason;
use incoming::Incoming;
pub use incoming::IncomingCall;
use outgoing::Outgoing;
pub use outgoing::{Fate, LinkState, Outcome, Refusal};
use shared::Shared;
use socket::SocketFile;

use elah_loop::wake::{LocalWaker, WaitId};

/// What bounds the links of a worker. The defaults are the options of the Ruby library.
#[derive(Debug, Clone)]
pub struct Bounds {
    /// Workers that are called, and connections that are accepted, each.
    pub links_max: usize,
    /// Calls of one link that have no answer yet, at both ends.
    pub calls_max: usize,
    /// Bytes of one link that wait to be written, and bytes of calls that wait to be run.
    pub waiting_bytes_max: usize,
    /// Bytes of one payload.
    pub payload_bytes_max: usize,
}

/// The links of one worker.
pub struct Links {
    shared: Rc<Shared>,
    outgoing: Rc<Outgoing>,
    incoming: Rc<Incoming>,
    /// Removes the file when the links are gone.
    socket: SocketFile,
}

impl Links {
    /// Listens on `path`, whose folder is made for this user alone when it is missing. Gives the work that the worker's loop has to
    /// run. Must be called where tokio's runtime is entered.
    pub fn open(path: &Path, bounds: Bounds, waker: LocalWaker) -> io::Result<(Links, impl Future<Output = ()> + 'static)> {
        let (listener, socket) = SocketFile::bind(path)?;
        listener.set_nonblocking(true)?;
        let listener = UnixListener::from_std(listener)?;
        let shared = Rc::new(Shared::new(bounds, waker, socket.owner()));
        let outgoing = Rc::new(Outgoing::new(Rc::clone(&shared)));
        let incoming = Rc::new(Incoming::new(Rc::clone(&shared)));
        let work = porter::run(listener, Rc::clone(&shared), Rc::clone(&outgoing), Rc::clone(&incoming));
        Ok((Links { shared, outgoing, incoming, socket }, work))
    }

    /// Sends a call to the worker that listens on `path`. The wait ends when all `items` are answered or will not be; then, or when
    /// nobody waits any longer, `take` it.
    pub fn call(&self, path: &str, payload: &[u8], items: u32, remaining: Duration, wait: WaitId) -> Result<(), Refusal> {
        self.outgoing.call(path, payload, items, remaining, wait)
    }

    /// Removes a call and gives what became of it; tells the other worker when it has not answered. `None` when there is none.
    pub fn take(&self, wait: WaitId) -> Option<Outcome> {
        self.outgoing.take(wait)
    }

    /// Whether no more answers will come to a call.
    pub fn is_settled(&self, wait: WaitId) -> bool {
        self.outgoing.is_settled(wait)
    }

    /// The next wait to end when there are calls to run, calls that were cancelled, or complaints; at once when there are.
    pub fn expect(&self, wait: WaitId) {
        self.shared.expect(wait);
        if self.incoming.has_news() {
            self.shared.notify();
        }
    }

    /// The next call to run. One that nobody waits for any more is passed over.
    pub fn next_incoming(&self) -> Option<IncomingCall> {
        self.incoming.next()
    }

    /// Answers `items` of a call's questions; false when nobody waits for them any more.
    pub fn answer(&self, key: u64, items: u32, payload: &[u8]) -> bool {
        self.incoming.answer(key, items, payload)
    }

    /// Whether the one who made the call still waits.
    pub fn is_awaited(&self, key: u64) -> bool {
        self.incoming.is_awaited(key)
    }

    /// The calls that have been handed out and that nobody waits for any more, each once.
    pub fn take_cancelled(&self) -> Vec<u64> {
        self.incoming.take_cancelled()
    }

    /// What a peer did wrong, as a sentence for the log.
    pub fn next_complaint(&self) -> Option<String> {
        self.shared.next_complaint()
    }

    /// The workers that are called.
    pub fn states(&self) -> Vec<LinkState> {
        self.outgoing.states()
    }

    /// Calls that are run or wait for it.
    pub fn open_incoming(&self) -> usize {
        self.incoming.open()
    }

    /// Bytes of answers that wait to be read by whoever called.
    pub fn unread_bytes(&self) -> usize {
        self.incoming.unread_bytes()
    }

    /// Closes the links to all workers but those that listen on `paths`.
    pub fn retain(&self, paths: &[String]) {
        self.outgoing.retain(paths);
    }

    /// Ends everything; what waits to be written is written if it goes at once.
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

/// One part of an answer.
pub type Part = Bytes;
