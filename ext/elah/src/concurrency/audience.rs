//! `Elah::Audience`: the listeners of a broadcast on this thread's loop. The object holds a number; the worker has the audience.

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

    /// Responds to a request with a stream that begins with `first` and continues with the audience's pieces. False if the
    /// request already has a response, its client has disconnected, or the audience is closed.
    fn join(ruby: &Ruby, rb_self: &Self, request: &Request, status: u16, header: Value, first: RString) -> Result<bool, Error> {
        let headers = headers(ruby, header)?;
        // SAFETY: the bytes are copied before Ruby runs again.
        let first = Bytes::copy_from_slice(unsafe { first.as_slice() });
        Ok(worker(ruby)?.join_audience(rb_self.key.get(), request.id(), status, headers, first))
    }

    /// Sends a piece to all listeners. Returns how many there are, and how many pieces slow ones have missed so far.
    fn push(ruby: &Ruby, rb_self: &Self, piece: RString) -> Result<(usize, u64), Error> {
        // SAFETY: the bytes are copied before Ruby runs again.
        let piece = Bytes::copy_from_slice(unsafe { piece.as_slice() });
        let told = worker(ruby)?.push_to_audience(rb_self.key.get(), &piece);
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
    class.define_method("push", method!(Audience::push, 1))?;
    class.define_method("close", method!(Audience::close, 0))?;
    Ok(())
}
