//! `Elah::ListeningSocket`: a bound address, created before the worker.

use std::cell::RefCell;
use std::io;
use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd};

use elah_http::listener::Listener;
use magnus::{Error, Module, Object, RArray, RModule, Ruby, function, method};

use crate::ruby::errors;
use crate::ruby::native_class;

#[magnus::wrap(class = "Elah::ListeningSocket", free_immediately)]
pub(crate) struct ListeningSocket {
    /// `None` after it was closed.
    listener: RefCell<Option<Listener>>,
}

impl ListeningSocket {
    /// A socket for each of its addresses.
    fn bind(ruby: &Ruby, address: String, backlog: i32) -> Result<RArray, Error> {
        let listeners = Listener::bind(&address, backlog)
            .map_err(|error| Error::new(errors::class(ruby, "ListenError"), error.to_string()))?;
        Ok(ruby.ary_from_iter(listeners.into_iter().map(ListeningSocket::new)))
    }

    /// A socket that listens already, from a descriptor, which this object owns from now on.
    fn adopt(ruby: &Ruby, descriptor: i32) -> Result<Self, Error> {
        take(descriptor).and_then(Listener::adopt).map(ListeningSocket::new).map_err(|cause| {
            let message = format!("The descriptor {descriptor} is not a listening socket: {cause}.");
            Error::new(errors::class(ruby, "ListenError"), message)
        })
    }

    fn new(listener: Listener) -> Self {
        ListeningSocket { listener: RefCell::new(Some(listener)) }
    }

    /// Calls `read` with the listener; an error when it is closed.
    pub(crate) fn with<R>(&self, ruby: &Ruby, read: impl FnOnce(&Listener) -> R) -> Result<R, Error> {
        let listener = self.listener.borrow();
        let open = listener.as_ref().ok_or_else(|| Error::new(errors::class(ruby, "ListenError"), "This socket is closed."))?;
        Ok(read(open))
    }

    fn fileno(ruby: &Ruby, socket: &Self) -> Result<i32, Error> {
        socket.with(ruby, Listener::descriptor)
    }

    fn address(ruby: &Ruby, socket: &Self) -> Result<String, Error> {
        socket.with(ruby, Listener::address)
    }

    fn socket_path(ruby: &Ruby, socket: &Self) -> Result<Option<String>, Error> {
        socket.with(ruby, |listener| listener.socket_path().map(|path| path.display().to_string()))
    }

    /// Closes the socket. A loop that accepts from it has its own handle.
    fn close(&self) {
        self.listener.borrow_mut().take();
    }
}

fn take(descriptor: i32) -> io::Result<OwnedFd> {
    if descriptor < 0 {
        return Err(io::Error::from_raw_os_error(9));
    }
    // SAFETY: only checks whether the number is open; the borrow ends with that.
    drop(unsafe { BorrowedFd::borrow_raw(descriptor) }.try_clone_to_owned()?);
    // SAFETY: it is open, and the caller gives up its ownership.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

pub(crate) fn init(ruby: &Ruby, elah: RModule) -> Result<(), Error> {
    let class = native_class::define::<ListeningSocket>(ruby, elah, "ListeningSocket")?;
    class.define_singleton_method("bind", function!(ListeningSocket::bind, 2))?;
    class.define_singleton_method("adopt", function!(ListeningSocket::adopt, 1))?;
    class.define_method("fileno", method!(ListeningSocket::fileno, 0))?;
    class.define_method("address", method!(ListeningSocket::address, 0))?;
    class.define_method("socket_path", method!(ListeningSocket::socket_path, 0))?;
    class.define_method("close", method!(ListeningSocket::close, 0))?;
    Ok(())
}
