//! `Elah::ListeningSocket`: a bound address, made before the worker.

use elah_core::listener::Listener;
use magnus::{Error, Module, Object, RModule, Ruby, function, method};

use crate::errors;
use crate::native_class;

#[magnus::wrap(class = "Elah::ListeningSocket", free_immediately)]
pub(crate) struct ListeningSocket {
    listener: Listener,
}

impl ListeningSocket {
    fn bind(ruby: &Ruby, address: String, backlog: i32) -> Result<Self, Error> {
        Listener::bind(&address, backlog)
            .map(|listener| ListeningSocket { listener })
            .map_err(|error| Error::new(errors::class(ruby, "ListenError"), error.to_string()))
    }

    pub(crate) fn core(&self) -> &Listener {
        &self.listener
    }

    pub(crate) fn address(&self) -> String {
        self.listener.address()
    }

    fn socket_path(&self) -> Option<String> {
        self.listener.socket_path().map(|path| path.display().to_string())
    }
}

pub(crate) fn init(ruby: &Ruby, elah: RModule) -> Result<(), Error> {
    let class = native_class::define::<ListeningSocket>(ruby, elah, "ListeningSocket")?;
    class.define_singleton_method("bind", function!(ListeningSocket::bind, 2))?;
    class.define_method("address", method!(ListeningSocket::address, 0))?;
    class.define_method("socket_path", method!(ListeningSocket::socket_path, 0))?;
    Ok(())
}
