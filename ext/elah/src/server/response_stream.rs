//! `Elah::ResponseStream`: a response that a handler writes in pieces.

use std::cell::Cell;

use bytes::Bytes;
use elah_http::Written;
use magnus::value::ReprValue;
use magnus::{Error, Module, RModule, RString, Ruby, Value, method, typed_data::Obj};

use crate::concurrency::current_worker::worker;
use crate::concurrency::wait::park;
use crate::ruby::errors;
use crate::ruby::native_class;

#[magnus::wrap(class = "Elah::ResponseStream", free_immediately)]
pub(crate) struct ResponseStream {
    /// The core's key, or `CLOSED`.
    key: Cell<usize>,
}

const CLOSED: usize = usize::MAX;

/// The largest part of a long body that is passed on at a time.
const PART_BYTES: usize = 64 * 1024;

// SAFETY: Ruby moves the object between threads only with the GVL, and every method refuses to run off the worker's thread.
unsafe impl Sync for ResponseStream {}

impl ResponseStream {
    pub(crate) fn new(key: usize) -> Self {
        ResponseStream { key: Cell::new(key) }
    }

    /// Sends a piece. Suspends the fiber while the client has too much unread.
    fn write(ruby: &Ruby, rb_self: Obj<Self>, chunk: RString) -> Result<usize, Error> {
        // SAFETY: the bytes are copied before Ruby runs again.
        let bytes = Bytes::copy_from_slice(unsafe { chunk.as_slice() });
        let length = bytes.len();
        if rb_self.write_piece(ruby, bytes)? { Ok(length) } else { Err(client_gone(ruby)?) }
    }

    /// Waits until the client has read enough, and then accepts the piece: a wait that is cut short has sent nothing. False if the
    /// client has disconnected.
    fn write_piece(&self, ruby: &Ruby, mut piece: Bytes) -> Result<bool, Error> {
        let worker = worker(ruby)?;
        loop {
            match worker.write(self.key.get(), piece) {
                Written::Accepted => return Ok(true),
                Written::ClientGone => return Ok(false),
                Written::Full(refused) => piece = refused,
            }
            park(ruby, worker.wait_for_room(self.key.get()))?;
        }
    }

    /// Sends a whole body and ends the stream. False if the client has disconnected.
    pub(crate) fn write_whole(&self, ruby: &Ruby, body: RString) -> Result<bool, Error> {
        // The copy shares its bytes with the original until somebody changes that, which may happen while this fiber waits.
        let outcome = self.write_parts(ruby, RString::new_frozen(body));
        self.end(ruby, matches!(outcome, Ok(true)))?;
        outcome
    }

    fn write_parts(&self, ruby: &Ruby, body: RString) -> Result<bool, Error> {
        let mut sent = 0;
        while sent < body.len() {
            // SAFETY: the bytes are copied before Ruby runs again.
            let rest = unsafe { &body.as_slice()[sent..] };
            let part = Bytes::copy_from_slice(&rest[..rest.len().min(PART_BYTES)]);
            sent += part.len();
            if !self.write_piece(ruby, part)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn close(ruby: &Ruby, rb_self: Obj<Self>) -> Result<(), Error> {
        rb_self.end(ruby, true)
    }

    /// Breaks the connection, so that the client does not take the part for the whole.
    fn break_off(ruby: &Ruby, rb_self: Obj<Self>) -> Result<(), Error> {
        rb_self.end(ruby, false)
    }

    fn end(&self, ruby: &Ruby, complete: bool) -> Result<(), Error> {
        if self.key.get() != CLOSED {
            worker(ruby)?.close_stream(self.key.replace(CLOSED), complete);
        }
        Ok(())
    }

    /// Suspends the fiber until the connection has taken the whole response (true) or is closed. Other code closes the stream
    /// meanwhile.
    fn wait_for_end(ruby: &Ruby, rb_self: Obj<Self>) -> Result<bool, Error> {
        let Some(end) = worker(ruby)?.stream_end(rb_self.key.get()) else { return Ok(rb_self.is_closed()) };
        park(ruby, end.wait)?;
        Ok(end.was_delivered())
    }

    /// Closes and waits for the end.
    fn finish(ruby: &Ruby, rb_self: Obj<Self>) -> Result<bool, Error> {
        let end = worker(ruby)?.stream_end(rb_self.key.get());
        rb_self.end(ruby, true)?;
        let Some(end) = end else { return Ok(true) };
        park(ruby, end.wait)?;
        Ok(end.was_delivered())
    }

    fn is_closed(&self) -> bool {
        self.key.get() == CLOSED
    }

    fn is_client_gone(ruby: &Ruby, rb_self: Obj<Self>) -> Result<bool, Error> {
        Ok(worker(ruby)?.is_client_gone(rb_self.key.get()))
    }
}

/// The error for the running task, which knows then what the loop would cancel it for.
fn client_gone(ruby: &Ruby) -> Result<Error, Error> {
    let task: Value = ruby.class_object().const_get::<_, RModule>("Elah")?.funcall("current_task", ())?;
    if !task.is_nil() {
        task.funcall::<_, _, Value>("note_client_gone", ())?;
    }
    Ok(Error::new(errors::class(ruby, "ClientGone"), "The client closed the connection before the response was complete."))
}

pub(crate) fn init(ruby: &Ruby, elah: RModule) -> Result<(), Error> {
    let class = native_class::define::<ResponseStream>(ruby, elah, "ResponseStream")?;
    class.define_method("write", method!(ResponseStream::write, 1))?;
    class.define_method("close", method!(ResponseStream::close, 0))?;
    class.define_method("finish", method!(ResponseStream::finish, 0))?;
    class.define_method("wait_for_end", method!(ResponseStream::wait_for_end, 0))?;
    class.define_method("break_off", method!(ResponseStream::break_off, 0))?;
    class.define_method("closed?", method!(ResponseStream::is_closed, 0))?;
    class.define_method("client_gone?", method!(ResponseStream::is_client_gone, 0))?;
    Ok(())
}
