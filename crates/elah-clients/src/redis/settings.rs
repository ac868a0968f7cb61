//! The settings of a client: the server's address, credentials and time limits.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use url::{Host, Url};

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
    is_cluster: bool,
}

impl fmt::Debug for Settings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Redis at {}", self.server)
    }
}

impl Settings {
    /// Parses the URL and reads the optional file of certificate authorities that replace the usual ones.
    pub fn read(url: &str, ca_file: Option<&str>, times: Times) -> Result<Settings, Error> {
        // The parser's error for a wrong URL may quote it, and so a password.
        let wrong = || Error::Settings(format!("The URL of a Redis server is {SCHEMES} with a host, not what was given."));
        let url = Url::parse(url).map_err(|_| wrong())?;
        let (kind, is_cluster) = match url.scheme().split_once("+cluster") {
            Some((kind, "")) => (kind, true),
            _ => (url.scheme(), false),
        };
        let text = |part: &str| percent_decode_str(part).decode_utf8().map(String::from).map_err(|_| wrong());
        let query = |name: &str| url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned());
        let (user, password, database) = match kind {
            "redis" | "rediss" => (
                Some(text(url.username())?).filter(|user| !user.is_empty()),
                url.password().map(text).transpose()?,
                Some(text(url.path().trim_matches('/'))?).filter(|number| !number.is_empty()).or_else(|| query("db")),
            ),
            "redis+unix" if !is_cluster => (query("user"), query("pass"), query("db")),
            _ => return Err(wrong()),
        };
        let database = database.map_or(Ok(0), |number| number.parse()).map_err(|_| wrong())?;
        if is_cluster && database != 0 {
            return Err(Error::Settings(format!("A cluster has the database 0 alone, not {database}.")));
        }
        let ca_pem = ca_file.map(read_file).transpose()?;
        let (address, server) = if kind == "redis+unix" {
            let path = PathBuf::from(text(url.path())?);
            (Address::Unix(path.clone()), path.display().to_string())
        } else {
            let host = match url.host().ok_or_else(wrong)? {
                Host::Domain(name) => name.to_owned(),
                Host::Ipv4(address) => address.to_string(),
                Host::Ipv6(address) => address.to_string(),
            };
            let port = url.port().unwrap_or(6379);
            let tls = match kind {
                "rediss" => {
                    let name = ServerName::try_from(host.clone()).map_err(|_| wrong())?;
                    Some((tls_config(ca_file, ca_pem.as_deref())?, name))
                }
                _ => None,
            };
            let server = format!("{host}:{port}");
            (Address::Tcp { host, port, tls }, server)
        };
        Ok(Settings { server: server.into(), address, user, password, database, times, is_cluster })
    }

    /// The same for another node of a cluster.
    pub(crate) fn at(&self, host: &str, port: u16) -> Settings {
        let mut settings = self.clone();
        if let Address::Tcp { tls, .. } = &self.address {
            let tls = tls.clone().map(|(config, name)| (config, ServerName::try_from(host.to_owned()).unwrap_or(name)));
            settings.address = Address::Tcp { host: host.to_owned(), port, tls };
            settings.server = format!("{host}:{port}").into();
        }
        settings
    }

    /// The node of a cluster that the URL names.
    pub(crate) fn host_and_port(&self) -> (&str, u16) {
        match &self.address {
            Address::Tcp { host, port, .. } => (host, *port),
            Address::Unix(_) => ("", 0),
        }
    }

    /// Whether the URL names a cluster.
    pub fn is_cluster(&self) -> bool {
        self.is_cluster
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
        assert_eq!(Settings::read("redis://example.com?db=4", None, TIMES).unwrap().database, 4);
        assert!(Settings::read("redis+cluster://127.0.0.1:7000", None, TIMES).unwrap().is_cluster());
        assert!(matches!(
            Settings::read("rediss://example.com", None, TIMES).unwrap().address,
            Address::Tcp { port: 6379, tls: Some(_), .. }
        ));
        assert!(matches!(Settings::read("redis+unix:///tmp/redis.sock", None, TIMES).unwrap().address, Address::Unix(_)));
    }

    #[test]
    fn wrong_settings_are_told_without_the_password() {
        for url in [
            "http://u:secret@host",
            "redis://u:secret@host:port",
            "secret",
            "redis+cluster://u:secret@host/3",
            "redis://u:secret@host?db=x",
        ] {
            let error = Settings::read(url, None, TIMES).unwrap_err().to_string();
            assert!(error.ends_with('.') && !error.contains("secret"), "{error}");
        }
        let missing = Settings::read("rediss://host", Some("/none.pem"), TIMES).unwrap_err().to_string();
        assert!(missing.starts_with("The file /none.pem"), "{missing}");
        let empty = Settings::read("rediss://host", Some("/dev/null"), TIMES).unwrap_err().to_string();
        assert!(empty.contains("no certificate"), "{empty}");
    }
}
