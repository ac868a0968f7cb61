//! `Elah::Audience`: the listeners of a broadcast on this thread's loop. The object holds a number; what it names lives with the worker.

use std::cell::Cell;

use bytes::Bytes;
use magnus::{Error, Module, Object, RModule, RString, Ruby, Value, function, method};

use crate::concurrency::current_worker::worker;
use crate::ruby::native_class;
use crate::server::header_set::headers;
use crate::server::request::Request;

#[magnus::wrap(class = "Elah::Audience", free_immediately)]
struct Audience {
    /// The core's key, or `CLOSED`.
    key: Cell<usize>,
}

const CLOSED: usize = usize::MAX;

// SAFETY: Ruby moves the object between threads only with the GVL, and every method refuses to run off the worker's thread.
unsafe impl Sync for Audience {}

impl Audience {
    fn open(ruby: &Ruby, unread_max: usize) -> Result<Self, Error> {
        Ok(Audience { key: Cell::new(worker(ruby)?.open_audience(unread_max)) })
    }

    /// Answers a request with a stream that begins with `first` and goes on with what the audience is told. False when the request has
    /// an answer, its client has gone, or the audience is closed.
    fn join(ruby: &Ruby, rb_self: &Self, request: &Request, status: u16, header: Value, first: RString) -> Result<bool, Error> {
        let headers = headers(ruby, header)?;
        // SAFETY: the bytes are copied before Ruby runs again.
        let first = Bytes::copy_from_slice(unsafe { first.as_slice() });
        Ok(worker(ruby)?.join_audience(rb_self.key.get(), request.id(), status, headers, first))
    }

    /// Sends a piece to all: how many listeners there are, and how many pieces were missed by slow ones so far.
    fn tell(ruby: &Ruby, rb_self: &Self, piece: RString) -> Result<(usize, u64), Error> {
        // SAFETY: the bytes are copied before Ruby runs again.
        let piece = Bytes::copy_from_slice(unsafe { piece.as_slice() });
        let told = worker(ruby)?.tell_audience(rb_self.key.get(), &piece);
        Ok((told.listeners, told.missed))
    }

    fn close(ruby: &Ruby, rb_self: &Self) -> Result<(), Error> {
        worker(ruby)?.close_audience(rb_self.key.replace(CLOSED));
        Ok(())
    }
}

pub(crate) fn init(ruby: &Ruby, elah: RModule) -> Result<(), Error> {
    let class = native_class::define::<Audience>(ruby, elah, "Audience")?;
    class.define_singleton_method("open", function!(Audience::open, 1))?;
    class.define_method("join", method!(Audience::join, 4))?;
    class.define_method("tell", method!(Audience::tell, 1))?;
    class.define_method("close", method!(Audience::close, 0))?;
    Ok(())
}
