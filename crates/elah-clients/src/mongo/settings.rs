//! The settings of a client: from its caller, else from the URL, else the defaults.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use mongodb::options::{ClientOptions, ConnectionString, HostInfo, Tls, TlsOptions};

use super::error::Error;

const CONNECTIONS_MAX: u32 = 10;
const WAITERS_MAX: usize = 16_384;
const POOL_WAIT: Duration = Duration::from_secs(1);
const CONNECT: Duration = Duration::from_secs(2);
const QUERY: Duration = Duration::from_secs(5);
/// Idle connections are closed before a firewall forgets them.
const IDLE: Duration = Duration::from_secs(300);

/// Settings by the caller; `None` leaves a setting to the URL, or to the default.
#[derive(Debug, Default)]
pub struct Settings {
    pub url: String,
    pub database: Option<String>,
    pub connections_max: Option<u32>,
    /// Operations that may wait for a connection at once.
    pub waiters_max: Option<usize>,
    /// How long an operation may wait for a connection.
    pub pool_wait: Option<Duration>,
    /// The time limit for finding a server, or connecting to it.
    pub connect: Option<Duration>,
    /// The time limit of an operation that has a connection.
    pub query: Option<Duration>,
    pub tls: Option<bool>,
    pub tls_ca_file: Option<PathBuf>,
    pub tls_certificate_key_file: Option<PathBuf>,
}

/// Checked settings, from which each runtime makes its client.
#[derive(Debug, Clone)]
pub struct Plan {
    connection: ConnectionString,
    /// The servers that the URL names, without user and password.
    pub servers: Arc<str>,
    pub database: String,
    pub connections_max: u32,
    pub waiters_max: usize,
    pub pool_wait: Duration,
    pub connect: Duration,
    pub query: Duration,
}

impl Plan {
    /// Checks the settings; does not connect.
    pub fn new(settings: Settings) -> Result<Plan, Error> {
        let mut connection = ConnectionString::parse(&settings.url)
            .map_err(|error| Error::Misconfigured(without_credentials(&settings.url, &error.kind.to_string())))?;
        let database = settings.database.or_else(|| connection.default_database.clone()).filter(|name| !name.is_empty());
        let Some(database) = database else {
            return Err(Error::Misconfigured("The URL names no database: give mongodb://HOST:PORT/DATABASE".to_owned()));
        };
        let connections_max = settings.connections_max.or(connection.max_pool_size).unwrap_or(CONNECTIONS_MAX);
        if connections_max == 0 {
            return Err(Error::Misconfigured("A client needs one connection at least".to_owned()));
        }
        #[expect(deprecated, reason = "the driver refuses this bound, which is kept here")]
        let socket_timeout = connection.socket_timeout.take();
        let query = settings.query.or(socket_timeout).unwrap_or(QUERY);
        // A caller that waits for an unreachable server gets its error before the operation's time limit, also after one retry.
        let selection = settings.connect.or(connection.server_selection_timeout).unwrap_or(CONNECT);
        let connect = selection.min(query / 2);
        let pool_wait = settings.pool_wait.or(connection.wait_queue_timeout()).unwrap_or(POOL_WAIT);
        // What other clients of MongoDB take for no limit. A caller may ask not to wait for a connection.
        let is_unlimited = settings.pool_wait.is_none() && pool_wait.is_zero();
        for (name, is_unlimited) in [
            ("socketTimeoutMS", query.is_zero()),
            ("serverSelectionTimeoutMS", selection.is_zero()),
            ("waitQueueTimeoutMS", is_unlimited),
        ] {
            if is_unlimited {
                let reason = format!(
                    "{name}=0 in the URL means no limit, and every operation has one: give {name} in milliseconds, or leave it out"
                );
                return Err(Error::Misconfigured(reason));
            }
        }
        if settings.tls.is_some() || settings.tls_ca_file.is_some() || settings.tls_certificate_key_file.is_some() {
            connection.tls = Some(match settings.tls {
                Some(false) => Tls::Disabled,
                _ => {
                    let mut options = match connection.tls.take() {
                        Some(Tls::Enabled(options)) => options,
                        _ => TlsOptions::default(),
                    };
                    options.ca_file_path = settings.tls_ca_file.or(options.ca_file_path);
                    options.cert_key_file_path = settings.tls_certificate_key_file.or(options.cert_key_file_path);
                    Tls::Enabled(options)
                }
            });
        }
        Ok(Plan {
            servers: servers(&connection.host_info).into(),
            database,
            connections_max,
            waiters_max: settings.waiters_max.unwrap_or(WAITERS_MAX),
            pool_wait,
            connect,
            query,
            connection,
        })
    }

    /// The driver's options. Asks the name server if the URL is a `mongodb+srv` one.
    pub(super) async fn driver_options(&self) -> mongodb::error::Result<ClientOptions> {
        let mut options = ClientOptions::parse(self.connection.clone()).await?;
        options.max_pool_size = Some(self.connections_max);
        options.max_connecting = options.max_connecting.or(Some(self.connections_max.min(4)));
        options.max_idle_time = options.max_idle_time.or(Some(IDLE));
        options.connect_timeout = Some(options.connect_timeout.map_or(self.connect, |bound| bound.min(self.connect)));
        options.server_selection_timeout = Some(self.connect);
        // No retry storms: a failed connection attempt is returned to the caller.
        options.max_adaptive_retries.get_or_insert(0);
        options.app_name = options.app_name.or_else(|| Some("elah".to_owned()));
        Ok(options)
    }
}

fn servers(hosts: &HostInfo) -> String {
    match hosts {
        HostInfo::HostIdentifiers(addresses) => addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(","),
        HostInfo::DnsRecord(name) => name.clone(),
        _ => "the server".to_owned(),
    }
}

/// `text`, which may quote the URL, without the URL's user and password.
fn without_credentials(url: &str, text: &str) -> String {
    let after_scheme = url.split_once("://").map_or(url, |(_, rest)| rest);
    let Some((credentials, _)) = after_scheme.rsplit_once('@') else { return text.to_owned() };
    let mut text = text.to_owned();
    let pieces = credentials.split([':', '@', '/', '?', '#', ',']).filter(|piece| !piece.is_empty());
    for secret in std::iter::once(credentials).chain(pieces) {
        text = text.replace(secret, "***");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(url: &str) -> Result<Plan, Error> {
        Plan::new(Settings { url: url.to_owned(), ..Settings::default() })
    }

    #[test]
    fn a_setting_beats_the_url_and_the_url_beats_the_default() {
        let url = "mongodb://u:p@127.0.0.1:1,localhost:2/shop?maxPoolSize=7&socketTimeoutMS=1000";
        let settings = Settings { url: url.to_owned(), connections_max: Some(3), ..Settings::default() };
        let plan = Plan::new(settings).unwrap();
        assert_eq!((plan.connections_max, plan.query, plan.pool_wait), (3, Duration::from_secs(1), POOL_WAIT));
        assert_eq!(plan.connect, Duration::from_millis(500));
        assert_eq!((&*plan.servers, &*plan.database), ("127.0.0.1:1,localhost:2", "shop"));
    }

    // Every operation failed after 0 s: no server had been found.
    #[test]
    fn no_limit_is_refused() {
        for name in ["socketTimeoutMS", "serverSelectionTimeoutMS", "waitQueueTimeoutMS"] {
            let url = format!("mongodb://127.0.0.1/shop?{name}=0");
            assert!(plan(&url).unwrap_err().to_string().starts_with(&format!("{name}=0 in the URL means no limit")));
            let bound = Some(Duration::from_secs(1));
            let settings = Settings { url, query: bound, connect: bound, pool_wait: Some(Duration::ZERO), ..Settings::default() };
            assert_eq!(Plan::new(settings).unwrap().query, Duration::from_secs(1));
        }
    }

    #[test]
    fn no_error_shows_a_password() {
        for url in [
            "mongodb://us er:top/secret@h/db",
            "mongodb://u:top%secret@h/db",
            "mongodb://u:top@secret@h:x/db",
            "mongodb://u:topsecret@/db",
        ] {
            let message = plan(url).unwrap_err().to_string();
            assert!(!message.contains("top") && !message.contains("secret"), "{message}");
        }
    }

    #[test]
    fn a_url_names_a_database() {
        assert!(plan("mongodb://127.0.0.1").unwrap_err().to_string().contains("names no database"));
    }
}
