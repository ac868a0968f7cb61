//! `Elah::PeerLinks::Port`: a port for calls of other machines, taken before links are opened with it.

use std::io::ErrorKind;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use elah_links::{Port, TcpSettings, TlsFiles};
use magnus::{DataTypeFunctions, Error, Module, Object, RClass, RHash, Ruby, TryConvert, TypedData, Value, function, method};

use crate::ruby::errors;
use crate::ruby::native_class;

#[derive(TypedData)]
#[magnus(class = "Elah::PeerLinks::Port", free_immediately)]
pub(crate) struct RubyPort {
    /// `None` when links have it.
    port: Mutex<Option<Port>>,
    address: String,
}

impl DataTypeFunctions for RubyPort {}

impl RubyPort {
    fn bind(ruby: &Ruby, settings: RHash) -> Result<RubyPort, Error> {
        let settings = read(ruby, settings)?;
        let place = format!("{}, ports {}-{}", settings.host, settings.ports.start(), settings.ports.end());
        let port = Port::bind(settings).map_err(|cause| match cause.kind() {
            ErrorKind::AddrInUse => refused(ruby, "PeerLinks::PortsInUse", &place, &cause),
            _ => not_listening(ruby, &place, &cause),
        })?;
        Ok(RubyPort { address: port.address(), port: Mutex::new(Some(port)) })
    }

    /// Checks settings without listening.
    fn check(ruby: &Ruby, settings: RHash) -> Result<(), Error> {
        let settings = read(ruby, settings)?;
        settings.check().map_err(|cause| not_listening(ruby, &settings.host.to_string(), &cause))
    }

    /// The address at which other machines can call this worker.
    fn address(&self) -> String {
        self.address.clone()
    }

    /// The port, once.
    pub(crate) fn take(&self) -> Option<Port> {
        self.port.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

pub(crate) fn not_listening(ruby: &Ruby, place: &str, cause: &std::io::Error) -> Error {
    refused(ruby, "ListenError", place, cause)
}

fn refused(ruby: &Ruby, class: &str, place: &str, cause: &std::io::Error) -> Error {
    let message = format!("Calls of other workers cannot be accepted on {place}: {cause}.");
    Error::new(errors::class(ruby, class), message)
}

fn read(ruby: &Ruby, settings: RHash) -> Result<TcpSettings, Error> {
    fn setting<T: TryConvert>(ruby: &Ruby, settings: RHash, name: &str) -> Result<T, Error> {
        settings.fetch::<_, Value>(ruby.to_symbol(name)).and_then(T::try_convert)
    }
    let host: String = setting(ruby, settings, "host")?;
    let files = setting::<Option<(PathBuf, PathBuf, PathBuf)>>(ruby, settings, "tls")?;
    let tls = files.map(|(certificate, key, authority)| TlsFiles { certificate, key, authority });
    Ok(TcpSettings {
        host: host.parse::<IpAddr>().map_err(|cause| Error::new(ruby.exception_arg_error(), format!("{host}: {cause}")))?,
        ports: setting(ruby, settings, "first_port")?..=setting(ruby, settings, "last_port")?,
        node: setting(ruby, settings, "node")?,
        tls,
    })
}

pub(crate) fn init(ruby: &Ruby, links: RClass) -> Result<(), Error> {
    let class = native_class::define::<RubyPort>(ruby, links, "Port")?;
    class.define_singleton_method("bind_native", function!(RubyPort::bind, 1))?;
    class.define_singleton_method("check_native", function!(RubyPort::check, 1))?;
    class.define_method("address", method!(RubyPort::address, 0))?;
    Ok(())
}
