//! The settings of a client: the server's address, credentials and time limits.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use redis::{ConnectionAddr, ConnectionInfo, IntoConnectionInfo};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};

use crate::redis::error::Error;

/// The schemes of a URL, for messages.
const SCHEMES: &str = "redis://, rediss://, redis+cluster://, rediss+cluster:// or redis+unix://";

/// The limits set by the caller.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    /// The time limit for opening a connection, including the handshake.
    pub connect: Duration,
    /// The time limit for the reply to a command.
    pub command: Duration,
    /// How many commands may wait for a reply.
    pub in_flight_max: usize,
    /// Unread messages that a subscription holds.
    pub messages_max: usize,
}

#[derive(Clone)]
pub(crate) enum Address {
    Tcp { host: String, port: u16, tls: Option<(Arc<ClientConfig>, ServerName<'static>)> },
    Unix(PathBuf),
}

/// All settings of a client. Its text names the server only.
#[derive(Clone)]
pub struct Settings {
    pub(crate) server: Arc<str>,
    pub(crate) address: Address,
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
    pub(crate) database: i64,
    pub(crate) times: Times,
    /// The configuration for the `redis` crate; `None` for a single server.
    pub(crate) cluster: Option<Cluster>,
}

#[derive(Clone)]
pub(crate) struct Cluster {
    pub(crate) node: ConnectionInfo,
    pub(crate) ca_pem: Option<Vec<u8>>,
}

impl fmt::Debug for Settings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Redis at {}", self.server)
    }
}

impl Settings {
    /// Parses the URL and reads the optional file of certificate authorities that replace the usual ones.
    pub fn read(url: &str, ca_file: Option<&str>, times: Times) -> Result<Settings, Error> {
        let (plain_url, is_cluster) = match url.split_once("+cluster://") {
            Some((scheme, rest)) => (format!("{scheme}://{rest}"), true),
            None => (url.to_owned(), false),
        };
        // The crate's error for a wrong URL may quote it, and so a password.
        let wrong = || Error::Settings(format!("The URL of a Redis server is {SCHEMES} with a host, not what was given."));
        let info = plain_url.as_str().into_connection_info().map_err(|_| wrong())?;
        let ca_pem = ca_file.map(read_file).transpose()?;
        let (address, server) = match info.addr() {
            ConnectionAddr::Tcp(host, port) => {
                (Address::Tcp { host: host.clone(), port: *port, tls: None }, format!("{host}:{port}"))
            }
            ConnectionAddr::TcpTls { host, port, .. } => {
                let name = ServerName::try_from(host.clone()).map_err(|_| wrong())?;
                let tls = Some((tls_config(ca_file, ca_pem.as_deref())?, name));
                (Address::Tcp { host: host.clone(), port: *port, tls }, format!("{host}:{port}"))
            }
            ConnectionAddr::Unix(path) => (Address::Unix(path.clone()), path.display().to_string()),
            _ => return Err(wrong()),
        };
        let redis = info.redis_settings();
        let (user, password, database) = (redis.username().map(str::to_owned), redis.password().map(str::to_owned), redis.db());
        if is_cluster && database != 0 {
            return Err(Error::Settings(format!("A cluster has the database 0 alone, not {database}.")));
        }
        let cluster = is_cluster.then_some(Cluster { node: info, ca_pem });
        Ok(Settings { server: server.into(), address, user, password, database, times, cluster })
    }

    /// Whether the URL names a cluster.
    pub fn is_cluster(&self) -> bool {
        self.cluster.is_some()
    }

    /// The server as host and port.
    pub fn server(&self) -> &str {
        &self.server
    }
}

fn read_file(path: &str) -> Result<Vec<u8>, Error> {
    std::fs::read(path)
        .map_err(|cause| Error::Settings(format!("The file {path} of certificate authorities cannot be read: {cause}.")))
}

fn tls_config(ca_file: Option<&str>, ca_pem: Option<&[u8]>) -> Result<Arc<ClientConfig>, Error> {
    let mut roots = RootCertStore::empty();
    match ca_pem {
        None => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
        Some(pem) => {
            for certificate in CertificateDer::pem_slice_iter(pem).flatten() {
                let _ = roots.add(certificate);
            }
            if roots.is_empty() {
                let file = ca_file.unwrap_or_default();
                return Err(Error::Settings(format!("The file {file} holds no certificate of an authority in PEM form.")));
            }
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|cause| Error::Settings(format!("TLS cannot be used: {cause}.")))?;
    Ok(Arc::new(config.with_root_certificates(roots).with_no_client_auth()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMES: Times =
        Times { connect: Duration::from_secs(1), command: Duration::from_secs(1), in_flight_max: 10, messages_max: 10 };

    #[test]
    fn a_url_says_where_and_who() {
        let settings = Settings::read("redis://me:p%40ss@example.com:7000/3", None, TIMES).unwrap();
        assert_eq!((settings.server(), settings.database, settings.is_cluster()), ("example.com:7000", 3, false));
        assert_eq!((settings.user.as_deref(), settings.password.as_deref()), (Some("me"), Some("p@ss")));
        assert_eq!(format!("{settings:?}"), "Redis at example.com:7000");
        assert!(Settings::read("redis+cluster://127.0.0.1:7000", None, TIMES).unwrap().is_cluster());
        assert!(matches!(
            Settings::read("rediss://example.com", None, TIMES).unwrap().address,
            Address::Tcp { port: 6379, tls: Some(_), .. }
        ));
        assert!(matches!(Settings::read("redis+unix:///tmp/redis.sock", None, TIMES).unwrap().address, Address::Unix(_)));
    }

    #[test]
    fn wrong_settings_are_told_without_the_password() {
        for url in ["http://u:secret@host", "redis://u:secret@host:port", "secret", "redis+cluster://u:secret@host/3"] {
            let error = Settings::read(url, None, TIMES).unwrap_err().to_string();
            assert!(error.ends_with('.') && !error.contains("secret"), "{error}");
        }
        let missing = Settings::read("rediss://host", Some("/none.pem"), TIMES).unwrap_err().to_string();
        assert!(missing.starts_with("The file /none.pem"), "{missing}");
        let empty = Settings::read("rediss://host", Some("/dev/null"), TIMES).unwrap_err().to_string();
        assert!(empty.contains("no certificate"), "{empty}");
    }
}
