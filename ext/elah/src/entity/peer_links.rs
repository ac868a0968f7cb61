//! `Elah::PeerLinks`: calls between workers as bytes. The object holds a number; the worker has the links. Ruby decides the
//! meaning and the policy of calls (`lib/elah/entity/peer_links.rb`).

mod port;

use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use elah_links::{Bounds, Fate, IncomingCall, LinkState, Links, Outcome, Reason, Refusal};
use magnus::typed_data::Obj;
use magnus::{
    DataTypeFunctions, Error, Module, Object, RArray, RHash, RModule, RString, Ruby, TryConvert, TypedData, Value, function,
    method,
};

use self::port::{RubyPort, not_listening};
use crate::concurrency::current_worker::worker;
use crate::ruby::errors;
use crate::ruby::native_class;
use crate::ruby::receiver::Receiver;

#[derive(TypedData)]
#[magnus(class = "Elah::PeerLinks", free_immediately)]
pub(crate) struct PeerLinks {
    key: usize,
}

impl DataTypeFunctions for PeerLinks {}

impl PeerLinks {
    /// Listens on `path` in the loop of this thread, and on a port if there is one.
    fn open(ruby: &Ruby, path: PathBuf, bounds: RHash, port: Option<Obj<RubyPort>>) -> Result<PeerLinks, Error> {
        let bounds = read_bounds(ruby, bounds)?;
        let place = path.display().to_string();
        let port = port.and_then(|port| port.take());
        let key = worker(ruby)?.open_links(&path, bounds, port).map_err(|cause| not_listening(ruby, &place, &cause))?;
        Ok(PeerLinks { key })
    }

    /// Says who this worker is in its cluster. From then on it accepts calls over TCP.
    fn identify(ruby: &Ruby, links: &Self, cluster: String, writer: u64) -> Result<(), Error> {
        links.links(ruby)?.identify(&cluster, writer).map_err(|refusal| Error::new(ruby.exception_arg_error(), refusal))
    }

    /// The address at which other machines call this worker, nil if it does not listen on TCP.
    fn address(ruby: &Ruby, links: &Self) -> Result<Option<String>, Error> {
        Ok(links.links(ruby)?.address())
    }

    fn links(&self, ruby: &Ruby) -> Result<Rc<Links>, Error> {
        worker(ruby)?.links(self.key).ok_or_else(|| closed(ruby))
    }

    /// Sends a call, and returns its wait. The wait ends when all items have a reply or will not get one, or after `seconds`.
    fn start(
        ruby: &Ruby,
        links: Receiver<Self>,
        address: RString,
        payload: RString,
        items: u32,
        seconds: f64,
    ) -> Result<u64, Error> {
        let worker = worker(ruby)?;
        let remaining = Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX);
        let wait = worker.new_wait();
        let called = {
            let open = worker.links(links.key).ok_or_else(|| closed(ruby))?;
            // SAFETY: nothing of Ruby runs while the bytes of both Strings, which are arguments of this call, are copied.
            let (address, payload) = unsafe { (address.as_slice(), payload.as_slice()) };
            open.call(&String::from_utf8_lossy(address), payload, items, remaining, wait)
        };
        called.map_err(|refusal| refused(ruby, &refusal))?;
        worker.start_timer(wait, remaining);
        Ok(wait)
    }

    /// Ends a call: its fate, the cause or nil, and the received parts of the reply. Nil if it has been collected already.
    fn collect(ruby: &Ruby, links: Receiver<Self>, wait: u64) -> Result<Option<RArray>, Error> {
        let worker = worker(ruby)?;
        worker.cancel_wait(wait);
        let Some(Outcome { fate, parts }) = worker.links(links.key).and_then(|open| open.take(wait)) else { return Ok(None) };
        let (fate, cause) = match fate {
            Fate::Replied => ("replied", None),
            Fate::Pending => ("pending", None),
            Fate::NotRun(cause) => ("not_run", Some(cause)),
            Fate::Lost(cause) => ("lost", Some(cause)),
            Fate::Failed(Reason::Overloaded) => ("overloaded", None),
            Fate::Failed(Reason::Unread) => ("unread", None),
            Fate::Failed(Reason::TooLong) => ("long_call", None),
            Fate::LongReply => ("long_reply", None),
        };
        let outcome = ruby.ary_new_capa(2 + parts.len());
        outcome.push(ruby.to_symbol(fate))?;
        outcome.push(cause)?;
        for part in &parts {
            outcome.push(ruby.str_from_slice(part))?;
        }
        Ok(Some(outcome))
    }

    /// Whether the call gets no more replies.
    fn is_settled(ruby: &Ruby, links: Receiver<Self>, wait: u64) -> Result<bool, Error> {
        Ok(worker(ruby)?.links(links.key).is_none_or(|open| open.is_settled(wait)))
    }

    /// Ends `wait` when there is a call to run or cancel, or a complaint.
    fn expect(ruby: &Ruby, links: &Self, wait: u64) -> Result<(), Error> {
        links.links(ruby)?.expect(wait);
        Ok(())
    }

    /// The next call to run: its key, its payload, the number of its items, and the remaining seconds; nil if there is none.
    fn next_incoming(ruby: &Ruby, links: Receiver<Self>) -> Result<Option<RArray>, Error> {
        let Some(open) = worker(ruby)?.links(links.key) else { return Ok(None) };
        let Some(IncomingCall { key, payload, items, remaining }) = open.next_incoming() else { return Ok(None) };
        let call = ruby.ary_new_capa(4);
        call.push(key)?;
        call.push(ruby.str_from_slice(&payload))?;
        call.push(items)?;
        call.push(remaining.as_secs_f64())?;
        Ok(Some(call))
    }

    /// Replies to this many items of a call; false if nobody waits any more, or too many replies are unread.
    fn reply(ruby: &Ruby, links: Receiver<Self>, key: u64, items: u32, payload: RString) -> Result<bool, Error> {
        let Some(open) = worker(ruby)?.links(links.key) else { return Ok(false) };
        // SAFETY: as in `start`.
        Ok(open.reply(key, items, unsafe { payload.as_slice() }))
    }

    /// Whether the caller still waits.
    fn is_awaited(ruby: &Ruby, links: &Self, key: u64) -> Result<bool, Error> {
        Ok(worker(ruby)?.links(links.key).is_some_and(|open| open.is_awaited(key)))
    }

    /// The keys of running calls that nobody waits for any more, each once.
    fn take_cancelled(ruby: &Ruby, links: &Self) -> Result<Vec<u64>, Error> {
        Ok(worker(ruby)?.links(links.key).map(|open| open.take_cancelled()).unwrap_or_default())
    }

    /// A peer's mistake, as a sentence.
    fn next_complaint(ruby: &Ruby, links: &Self) -> Result<Option<String>, Error> {
        Ok(worker(ruby)?.links(links.key).and_then(|open| open.next_complaint()))
    }

    /// The state of each called worker, as Hashes.
    fn states(ruby: &Ruby, links: &Self) -> Result<RArray, Error> {
        let array = ruby.ary_new();
        for LinkState { address, is_connected, calls, waiting_bytes, failures } in links.links(ruby)?.states() {
            let state = ruby.hash_new();
            state.aset(ruby.to_symbol("address"), address)?;
            state.aset(ruby.to_symbol("connected"), is_connected)?;
            state.aset(ruby.to_symbol("calls"), calls)?;
            state.aset(ruby.to_symbol("waiting_bytes"), waiting_bytes)?;
            state.aset(ruby.to_symbol("failures"), failures)?;
            array.push(state)?;
        }
        Ok(array)
    }

    /// Calls that run or wait to run here.
    fn open_incoming(ruby: &Ruby, links: &Self) -> Result<usize, Error> {
        Ok(worker(ruby)?.links(links.key).map_or(0, |open| open.open_incoming()))
    }

    /// Bytes of replies that have not left.
    fn unread_bytes(ruby: &Ruby, links: &Self) -> Result<usize, Error> {
        Ok(worker(ruby)?.links(links.key).map_or(0, |open| open.unread_bytes()))
    }

    /// Closes the links to all workers except those at `addresses`.
    fn retain_native(ruby: &Ruby, links: &Self, addresses: Vec<String>) -> Result<(), Error> {
        links.links(ruby)?.retain(&addresses);
        Ok(())
    }

    fn is_closed(ruby: &Ruby, links: &Self) -> Result<bool, Error> {
        Ok(worker(ruby)?.links(links.key).is_none())
    }

    fn close_native(ruby: &Ruby, links: &Self) -> Result<(), Error> {
        worker(ruby)?.close_links(links.key);
        Ok(())
    }
}

fn closed(ruby: &Ruby) -> Error {
    refused(ruby, &Refusal::Closed)
}

fn refused(ruby: &Ruby, refusal: &Refusal) -> Error {
    let class = match refusal {
        Refusal::TooLong { .. } => "PeerLinks::TooLong",
        Refusal::CallsFull { .. } | Refusal::BytesFull { .. } | Refusal::LinksFull { .. } => "Overloaded",
        Refusal::Unreachable { .. } | Refusal::Closed => "PeerUnavailable",
    };
    Error::new(errors::class(ruby, class), refusal.to_string())
}

fn read_bounds(ruby: &Ruby, bounds: RHash) -> Result<Bounds, Error> {
    fn bound(ruby: &Ruby, bounds: RHash, name: &str) -> Result<usize, Error> {
        bounds.fetch::<_, Value>(ruby.to_symbol(name)).and_then(usize::try_convert)
    }
    Ok(Bounds {
        links_max: bound(ruby, bounds, "links_max")?,
        calls_max: bound(ruby, bounds, "link_calls_max")?,
        waiting_bytes_max: bound(ruby, bounds, "link_waiting_bytes_max")?,
        payload_bytes_max: bound(ruby, bounds, "link_payload_bytes_max")?,
    })
}

pub(crate) fn init(ruby: &Ruby, elah: RModule) -> Result<(), Error> {
    let class = native_class::define::<PeerLinks>(ruby, elah, "PeerLinks")?;
    class.define_singleton_method("open_native", function!(PeerLinks::open, 3))?;
    class.define_method("identify", method!(PeerLinks::identify, 2))?;
    class.define_method("address", method!(PeerLinks::address, 0))?;
    class.define_method("start", method!(PeerLinks::start, 4))?;
    class.define_method("collect", method!(PeerLinks::collect, 1))?;
    class.define_method("settled?", method!(PeerLinks::is_settled, 1))?;
    class.define_method("expect", method!(PeerLinks::expect, 1))?;
    class.define_method("next_incoming", method!(PeerLinks::next_incoming, 0))?;
    class.define_method("reply", method!(PeerLinks::reply, 3))?;
    class.define_method("awaited?", method!(PeerLinks::is_awaited, 1))?;
    class.define_method("take_cancelled", method!(PeerLinks::take_cancelled, 0))?;
    class.define_method("next_complaint", method!(PeerLinks::next_complaint, 0))?;
    class.define_method("states", method!(PeerLinks::states, 0))?;
    class.define_method("open_incoming", method!(PeerLinks::open_incoming, 0))?;
    class.define_method("unread_bytes", method!(PeerLinks::unread_bytes, 0))?;
    class.define_method("retain_native", method!(PeerLinks::retain_native, 1))?;
    class.define_method("closed?", method!(PeerLinks::is_closed, 0))?;
    class.define_method("close_native", method!(PeerLinks::close_native, 0))?;
    port::init(ruby, class)
}
