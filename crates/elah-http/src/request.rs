//! The parts of a request that a handler may read, in the core's own types.

use std::borrow::Cow;
use std::net::IpAddr;

use bytes::Bytes;

use crate::exchange::Exchange;
use crate::request_body::RequestBody;
use crate::router::Router;

/// With few headers, a scan is faster than hashing the name.
const SCANNED_HEADERS_MAX: usize = 16;

/// A view of a request for the length of one call.
#[derive(Debug)]
pub struct RequestView<'a> {
    exchange: &'a Exchange,
    router: &'a Router,
}

/// Where the body is stored.
#[derive(Debug)]
pub enum BodyPlace {
    Empty,
    Memory(Bytes),
    Spooled { bytes: u64 },
    Streamed,
}

impl<'a> RequestView<'a> {
    pub(crate) fn new(exchange: &'a Exchange, router: &'a Router) -> Self {
        RequestView { exchange, router }
    }

    pub fn method(&self) -> &'a str {
        self.exchange.parts.method.as_str()
    }

    /// The path as sent, percent-encoded, without the query.
    pub fn path(&self) -> &'a str {
        self.exchange.parts.uri.path()
    }

    /// The query as sent, without the question mark; empty if there is none.
    pub fn query(&self) -> &'a str {
        self.exchange.parts.uri.query().unwrap_or("")
    }

    /// The path and the query as sent.
    pub fn path_and_query(&self) -> &'a str {
        self.exchange.parts.uri.path_and_query().map_or("", |path_and_query| path_and_query.as_str())
    }

    /// The scheme and the authority, if the target is a whole URL.
    pub fn origin(&self) -> Option<(&'a str, &'a str)> {
        let uri = &self.exchange.parts.uri;
        Some((uri.scheme_str()?, uri.authority()?.as_str()))
    }

    /// "HTTP/1.1" or "HTTP/1.0".
    pub fn protocol(&self) -> &'static str {
        if self.exchange.parts.version == http::Version::HTTP_10 { "HTTP/1.0" } else { "HTTP/1.1" }
    }

    /// The value of a header; repeated ones are joined with ", ", cookies with "; ".
    pub fn header(&self, name: &str) -> Option<Cow<'a, [u8]>> {
        let headers = &self.exchange.parts.headers;
        if headers.len() > SCANNED_HEADERS_MAX {
            return joined(name, headers.get_all(name).iter().map(|value| value.as_bytes()));
        }
        joined(name, self.header_lines().filter(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value))
    }

    /// The value of the header `accept`.
    pub fn accept(&self) -> Option<Cow<'a, [u8]>> {
        joined("accept", self.exchange.parts.headers.get_all(http::header::ACCEPT).iter().map(|value| value.as_bytes()))
    }

    /// The value of the header `host`, which occurs at most once.
    pub fn host(&self) -> Option<&'a [u8]> {
        self.exchange.parts.headers.get(http::header::HOST).map(http::HeaderValue::as_bytes)
    }

    /// The names of the headers in lower case, each once.
    pub fn header_names(&self) -> impl Iterator<Item = &'a str> {
        self.exchange.parts.headers.keys().map(|name| name.as_str())
    }

    /// Every header line in lower case; lines with the same name are adjacent.
    pub fn header_lines(&self) -> impl Iterator<Item = (&'a str, &'a [u8])> {
        self.exchange.parts.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()))
    }

    /// The route and the values of its parameters, percent-decoded.
    pub fn route(&self) -> Option<u32> {
        self.exchange.route().map(|route| route.id)
    }

    pub fn route_params(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        let path = self.path();
        let router = self.router;
        self.exchange.route().into_iter().flat_map(move |route| route.params(router, path))
    }

    /// Where the part of the path below a mount begins, in bytes.
    pub fn mount_at(&self) -> Option<usize> {
        self.exchange.route().and_then(|route| route.path_info_at)
    }

    pub fn body(&self) -> BodyPlace {
        match &*self.exchange.body.borrow() {
            RequestBody::Empty => BodyPlace::Empty,
            RequestBody::Memory(bytes) => BodyPlace::Memory(bytes.clone()),
            RequestBody::Spooled { bytes, .. } => BodyPlace::Spooled { bytes: *bytes },
            RequestBody::Streamed { .. } | RequestBody::Failed(_) => BodyPlace::Streamed,
        }
    }

    /// The peer's address; `None` on a Unix socket.
    pub fn peer(&self) -> Option<IpAddr> {
        self.exchange.connection.remote
    }

    /// The peer's address as text.
    pub fn remote_ip(&self) -> Option<String> {
        self.peer().map(|address| address.to_string())
    }

    /// The local port of the connection; 0 on a Unix socket.
    pub fn local_port(&self) -> u16 {
        self.exchange.connection.local_port
    }
}

/// The values of a header as one.
fn joined<'a>(name: &str, mut values: impl Iterator<Item = &'a [u8]>) -> Option<Cow<'a, [u8]>> {
    let first = values.next()?;
    let Some(second) = values.next() else { return Some(Cow::Borrowed(first)) };
    let separator: &[u8] = if name == "cookie" { b"; " } else { b", " };
    let mut joined = first.to_vec();
    for value in std::iter::once(second).chain(values) {
        joined.extend_from_slice(separator);
        joined.extend_from_slice(value);
    }
    Some(Cow::Owned(joined))
}
