//! The options of `elah-load`: their names, units, defaults and the sentences of `--help`, defined once.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Parser, ValueEnum};

/// Sends HTTP/1.1 requests over keep-alive connections and reports the spread of their latency.
#[derive(Parser, Debug, Clone)]
#[command(name = "elah-load", version, group(ArgGroup::new("pace").required(true)))]
pub(crate) struct Options {
    /// Where to send: http://HOST:PORT/path (plain HTTP only)
    #[arg(long, value_parser = Target::parse)]
    pub(crate) url: Target,

    /// Open loop: requests per second, each planned ahead; latency counts from the planned time
    #[arg(long, group = "pace", value_parser = parse_rate)]
    pub(crate) rate: Option<f64>,

    /// Closed loop: every connection sends its next request as soon as the last is answered
    #[arg(long, group = "pace")]
    pub(crate) closed: bool,

    /// Every connection is opened first, then all send one request at the same moment
    #[arg(long, group = "pace")]
    pub(crate) once: bool,

    /// How the planned send times of --rate are spread
    #[arg(long, value_enum, default_value = "constant")]
    pub(crate) arrivals: Arrivals,

    /// Connections, all kept alive
    #[arg(long, default_value_t = 64, value_parser = parse_connections)]
    pub(crate) connections: usize,

    /// Seconds that are measured
    #[arg(long, default_value = "10", value_parser = parse_seconds)]
    pub(crate) duration: Duration,

    /// Seconds of the same load before the measured ones
    #[arg(long, default_value = "1", value_parser = parse_seconds)]
    pub(crate) warmup: Duration,

    /// Seconds from the planned send time until a request counts as timed out
    #[arg(long, default_value = "10", value_parser = parse_seconds)]
    pub(crate) timeout: Duration,

    /// File with one request per line: a path, or verb, path and JSON body with tabs between them. Each request takes one at random
    #[arg(long)]
    pub(crate) paths: Option<PathBuf>,

    /// Seed of the random choices (paths, Poisson arrivals)
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,

    /// Request method
    #[arg(long, default_value = "GET")]
    pub(crate) method: String,

    /// Request body; "@FILE" reads it from a file
    #[arg(long)]
    pub(crate) body: Option<String>,

    /// Request header as "Name: value"; may be repeated
    #[arg(long = "header")]
    pub(crate) headers: Vec<String>,

    /// Status that counts as a response; any other is an error
    #[arg(long, default_value_t = 200)]
    pub(crate) expect_status: u16,

    /// Body that every response must have, byte for byte
    #[arg(long)]
    pub(crate) expect_body: Option<String>,

    /// Print the report as JSON
    #[arg(long)]
    pub(crate) json: bool,

    /// With --json: also the whole distribution of latency, as pairs of quantile and microseconds
    #[arg(long, requires = "json")]
    pub(crate) spectrum: bool,
}

/// How planned send times are spread over a second.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrivals {
    /// Equal gaps
    Constant,
    /// Exponential gaps, as independent clients make them
    Poisson,
}

/// Where the requests go.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    /// `HOST:PORT` as written, for the Host header.
    pub(crate) authority: String,
    pub(crate) address: SocketAddr,
    /// Path and query, starting with `/`.
    pub(crate) path: String,
}

impl Target {
    fn parse(url: &str) -> Result<Self, String> {
        let rest = url.strip_prefix("http://").ok_or("must start with http:// (TLS is not spoken)")?;
        let (authority, path) = match rest.find('/') {
            Some(slash) => (&rest[..slash], &rest[slash..]),
            None => (rest, "/"),
        };
        let with_port = if authority.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok()) {
            authority.to_owned()
        } else {
            format!("{authority}:80")
        };
        let address = with_port
            .to_socket_addrs()
            .map_err(|error| format!("{with_port} has no address: {error}"))?
            .next()
            .ok_or_else(|| format!("{with_port} has no address"))?;
        Ok(Self { authority: authority.to_owned(), address, path: path.to_owned() })
    }
}

fn parse_rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if rate.is_finite() && rate > 0.0 => Ok(rate),
        _ => Err("must be a number of requests per second above 0".to_owned()),
    }
}

fn parse_connections(text: &str) -> Result<usize, String> {
    match text.parse::<usize>() {
        Ok(count) if count > 0 => Ok(count),
        _ => Err("must be a whole number from 1 on".to_owned()),
    }
}

fn parse_seconds(text: &str) -> Result<Duration, String> {
    text.parse::<f64>()
        .ok()
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| "must be a number of seconds from 0 on".to_owned())
}
