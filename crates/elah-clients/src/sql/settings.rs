//! The settings of a client: a server's URL and limits.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use percent_encoding::percent_decode_str;
use tokio::sync::watch;
use url::Url;

use super::error::Error;

/// The protocol of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    Postgres,
    /// MySQL and MariaDB.
    MySql,
}

impl Engine {
    /// The URL parameter for a Unix socket.
    fn socket_parameter(self) -> &'static str {
        match self {
            Engine::Postgres => "host",
            Engine::MySql => "socket",
        }
    }
}

/// The modes of PostgreSQL's `sslmode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TlsMode {
    Disable,
    /// Encrypted if the server can.
    Prefer,
    /// Encrypted, without checking the server's identity.
    Require,
    /// Encrypted, with a certificate for this host from the given authority.
    VerifyFull,
}

impl TlsMode {
    const NAMES: [(&'static str, TlsMode); 4] = [
        ("disable", TlsMode::Disable),
        ("prefer", TlsMode::Prefer),
        ("require", TlsMode::Require),
        ("verify-full", TlsMode::VerifyFull),
    ];
}

/// A server's address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    pub name: String,
    pub port: u16,
}

/// The limits of a client. Their defaults are the caller's.
#[derive(Debug, Clone)]
pub struct Bounds {
    /// Connections open at once.
    pub connections_max: usize,
    /// Callers that may wait for a connection.
    pub waiters_max: usize,
    /// The wait for a connection of the pool.
    pub pool: Duration,
    /// The time limit for connecting and signing in.
    pub connect: Duration,
    /// From a statement to its last row, or for a stream to its next rows.
    pub query: Duration,
    /// The time after which an idle connection is closed.
    pub idle: Duration,
    /// Prepared statements per connection.
    pub statements_max: usize,
}

/// The servers of PostgreSQL to which sessions are opened; others are passed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    Any,
    /// Those whose sessions accept writes.
    ReadWrite,
    /// Those that are no standby, also where the database is read-only.
    Primary,
}

#[derive(Debug, Clone)]
pub struct Settings {
    pub engine: Engine,
    /// At least one. PostgreSQL may have several, which are tried in turn.
    pub hosts: Vec<Host>,
    pub target: Target,
    /// The Unix socket that replaces host and port: its folder for PostgreSQL, else its path.
    pub socket: Option<PathBuf>,
    pub user: String,
    pub database: String,
    pub tls_mode: TlsMode,
    /// A PEM file of the authorities to trust.
    pub ca_file: Option<PathBuf>,
    pub bounds: Bounds,
    /// `host:port/database`, or `host1:port1,host2:port2/database`, for errors.
    pub server: Arc<str>,
    pub(super) password: Option<Password>,
    /// Connections that were opened before are closed.
    pub(super) replaced_at: Arc<watch::Sender<Instant>>,
}

/// A password, which no text for people contains.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Password(pub(super) String);

impl fmt::Debug for Password {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Password")
    }
}

impl Settings {
    /// The same for connections that [`Settings::close_connections`] of these leaves open.
    pub fn apart(&self) -> Settings {
        Settings { replaced_at: Arc::new(watch::Sender::new(Instant::now())), ..self.clone() }
    }

    /// Closes the connections that were opened with these settings before that moment, because their server has been replaced, and says
    /// nothing any more. What runs on them fails. PostgreSQL only.
    pub fn close_connections(&self, opened_before: Instant) {
        self.replaced_at.send_replace(opened_before);
    }

    /// Parses `postgres://user:password@host:port/database?sslmode=require&sslrootcert=FILE`, or the same with `mysql://`. PostgreSQL
    /// may have several hosts, `host1:port1,host2:port2`, and `target_session_attrs=read-write` as libpq has it. A Unix socket is
    /// named as in the servers' own tools: `?host=/FOLDER` for PostgreSQL, whose port is part of the name, and `?socket=/FILE` for
    /// MySQL.
    pub fn parse(text: &str, bounds: Bounds) -> Result<Settings, Error> {
        let wrong = |reason: String| Error::Misconfigured(reason);
        let mut urls = Vec::new();
        for text in one_by_one(text) {
            urls.push(Url::parse(&text).map_err(|cause| wrong(format!("The URL of an SQL server cannot be read: {cause}")))?);
        }
        let url = &urls[0];
        let (engine, port) = match url.scheme() {
            "postgres" | "postgresql" => (Engine::Postgres, 5432),
            "mysql" | "mariadb" => (Engine::MySql, 3306),
            other => return Err(wrong(format!("An SQL server's URL begins with postgres:// or mysql://, not with {other}:"))),
        };
        let host = |url: &Url| -> Result<Host, Error> {
            let name = url.host_str().filter(|host| !host.is_empty()).unwrap_or("localhost");
            let name = decoded(name.trim_start_matches('[').trim_end_matches(']'))?;
            Ok(Host { name, port: url.port().unwrap_or(port) })
        };
        let hosts = urls.iter().map(host).collect::<Result<Vec<_>, _>>()?;
        let addresses: Vec<_> = hosts.iter().map(|host| format!("{}:{}", host.name, host.port)).collect();
        let addresses = addresses.join(",");
        if hosts.len() > 1 && engine == Engine::MySql {
            return Err(wrong(format!("The URL of a MySQL server has one host, not {addresses}")));
        }
        let user = decoded(url.username())?;
        if user.is_empty() {
            // What was read as the host may be a part of a password that is not escaped.
            return Err(wrong(
                "The URL of an SQL server names no user: postgres://USER:PASSWORD@HOST/DATABASE, percent-escaped".to_owned(),
            ));
        }
        let database = match decoded(url.path().trim_start_matches('/'))? {
            name if name.is_empty() => user.clone(),
            name => name,
        };
        let mut tls_mode = TlsMode::Prefer;
        let mut ca_file = None;
        let mut socket = None;
        let mut target = Target::Any;
        for (name, value) in url.query_pairs() {
            match &*name {
                "sslmode" | "ssl-mode" => {
                    let known = TlsMode::NAMES.iter().find(|(known, _)| *known == value.to_lowercase().replace('_', "-"));
                    tls_mode = known
                        .map(|(_, mode)| *mode)
                        .ok_or_else(|| wrong(format!("sslmode is disable, prefer, require or verify-full, not {value}")))?;
                }
                "sslrootcert" | "ssl-ca" => ca_file = Some(PathBuf::from(&*value)),
                "target_session_attrs" if engine == Engine::Postgres => {
                    target = match &*value {
                        "any" => Target::Any,
                        "read-write" => Target::ReadWrite,
                        "primary" => Target::Primary,
                        _ => return Err(wrong(format!("target_session_attrs is any, read-write or primary, not {value}"))),
                    };
                }
                name if name == engine.socket_parameter() => {
                    let path = PathBuf::from(&*value);
                    if !path.is_absolute() {
                        return Err(wrong(format!(
                            "The URL's parameter {name} is the absolute path of a Unix socket, not {value}"
                        )));
                    }
                    socket = Some(path);
                }
                other => {
                    let known = match engine {
                        Engine::Postgres => "sslmode, sslrootcert, target_session_attrs and host",
                        Engine::MySql => "sslmode, sslrootcert and socket",
                    };
                    return Err(wrong(format!("The URL's parameters are {known}; {other} is not one of them")));
                }
            }
        }
        if socket.is_some() && matches!(tls_mode, TlsMode::Require | TlsMode::VerifyFull) {
            return Err(wrong("Over a Unix socket there is no TLS: leave sslmode out".to_owned()));
        }
        if tls_mode == TlsMode::VerifyFull && ca_file.is_none() {
            return Err(wrong(
                "sslmode=verify-full needs sslrootcert=FILE, the authorities that may vouch for the server".to_owned(),
            ));
        }
        let server = match (&socket, engine) {
            (None, _) => format!("{addresses}/{database}"),
            (Some(folder), Engine::Postgres) => format!("{}/.s.PGSQL.{}/{database}", folder.display(), hosts[0].port),
            (Some(file), Engine::MySql) => format!("{}/{database}", file.display()),
        };
        let server = server.into();
        let tls_mode = if socket.is_some() { TlsMode::Disable } else { tls_mode };
        let password = url.password().map(decoded).transpose()?.map(Password);
        Ok(Settings {
            engine,
            hosts,
            target,
            socket,
            user,
            database,
            tls_mode,
            ca_file,
            bounds,
            server,
            password,
            replaced_at: Arc::new(watch::Sender::new(Instant::now())),
        })
    }
}

/// A URL for each of the hosts that the URL names.
fn one_by_one(text: &str) -> Vec<String> {
    let from = text.find("://").map_or(0, |at| at + 3);
    let to = text[from..].find(['/', '?', '#']).map_or(text.len(), |at| from + at);
    let from = text[from..to].rfind('@').map_or(from, |at| from + at + 1);
    text[from..to].split(',').map(|host| format!("{}{host}{}", &text[..from], &text[to..])).collect()
}

fn decoded(part: &str) -> Result<String, Error> {
    let text = percent_decode_str(part).decode_utf8();
    text.map(String::from).map_err(|_| Error::Misconfigured("A part of the SQL server's URL is not UTF-8".to_owned()))
}

#[cfg(test)]
pub(super) fn bounds() -> Bounds {
    Bounds {
        connections_max: 2,
        waiters_max: 4,
        pool: Duration::from_millis(100),
        connect: Duration::from_secs(1),
        query: Duration::from_secs(1),
        idle: Duration::from_secs(60),
        statements_max: 16,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> Result<Settings, String> {
        Settings::parse(url, bounds()).map_err(|error| error.to_string())
    }

    fn hosts(expected: &[(&str, u16)]) -> Vec<Host> {
        expected.iter().map(|(name, port)| Host { name: (*name).to_owned(), port: *port }).collect()
    }

    #[test]
    fn several_hosts_have_a_port_each() {
        let settings = parse("postgres://me:p,w@db1:6432,db2,[::1]:7432/shop?target_session_attrs=read-write").unwrap();
        assert_eq!(settings.hosts, hosts(&[("db1", 6432), ("db2", 5432), ("::1", 7432)]));
        assert_eq!((&*settings.server, settings.target), ("db1:6432,db2:5432,::1:7432/shop", Target::ReadWrite));
        assert_eq!(settings.password, Some(Password("p,w".to_owned())));
        assert_eq!(parse("postgres://me@db1,db2").unwrap().target, Target::Any);
    }

    #[test]
    fn a_url_has_all_that_is_needed() {
        let settings = parse("postgres://me:p%40ss@db.example:6432/shop?sslmode=verify-full&sslrootcert=/ca.pem").unwrap();
        assert_eq!((settings.engine, &settings.hosts), (Engine::Postgres, &hosts(&[("db.example", 6432)])));
        assert_eq!((&*settings.user, &*settings.database), ("me", "shop"));
        assert_eq!(settings.password, Some(Password("p@ss".to_owned())));
        assert!(!format!("{settings:?}").contains("p@ss"));
        assert_eq!((settings.tls_mode, settings.ca_file), (TlsMode::VerifyFull, Some(PathBuf::from("/ca.pem"))));
        assert_eq!(&*settings.server, "db.example:6432/shop");
    }

    #[test]
    fn what_is_left_out_has_a_default() {
        let settings = parse("mysql://me@[::1]").unwrap();
        assert_eq!((settings.engine, settings.hosts), (Engine::MySql, hosts(&[("::1", 3306)])));
        assert_eq!((&*settings.database, settings.password, settings.tls_mode), ("me", None, TlsMode::Prefer));
    }

    #[test]
    fn a_unix_socket_takes_the_place_of_host_and_port() {
        let settings = parse("postgres://me@localhost:6432/shop?host=/run/pg").unwrap();
        assert_eq!((settings.socket, &*settings.server), (Some(PathBuf::from("/run/pg")), "/run/pg/.s.PGSQL.6432/shop"));
        let settings = parse("mysql://me@localhost/shop?socket=/run/mysqld.sock").unwrap();
        assert_eq!((settings.socket, &*settings.server), (Some(PathBuf::from("/run/mysqld.sock")), "/run/mysqld.sock/shop"));
        assert_eq!(settings.tls_mode, TlsMode::Disable);
    }

    #[test]
    fn a_wrong_url_is_told_what_is_right_and_shows_no_password() {
        for (url, expected) in [
            ("redis://me:secret@h", "postgres:// or mysql://, not with redis:"),
            ("postgres://h/db", "names no user"),
            ("postgres://secret:12#34@h/db", "names no user"),
            ("postgres://me:secret@h/db?sslmode=on", "disable, prefer, require or verify-full, not on"),
            ("postgres://me:secret@h/db?sslmode=verify-full", "needs sslrootcert"),
            ("postgres://me:secret@h/db?pool=5", "sslmode, sslrootcert, target_session_attrs and host; pool is not"),
            ("mysql://me:secret@h/db?host=/run", "sslmode, sslrootcert and socket; host is not"),
            ("mysql://me:secret@h/db?socket=run", "absolute path of a Unix socket, not run"),
            ("postgres://me:secret@h/db?host=/run&sslmode=require", "there is no TLS"),
            ("mysql://me:secret@h,i/db", "has one host, not h:3306,i:3306"),
            ("postgres://me:secret@h/db?target_session_attrs=standby", "any, read-write or primary, not standby"),
            ("postgres://me:secret@h:1,i:x/db", "cannot be read"),
            ("::", "cannot be read"),
        ] {
            let message = parse(url).unwrap_err();
            assert!(message.contains(expected) && !message.contains("secret"), "{message}");
        }
    }
}
