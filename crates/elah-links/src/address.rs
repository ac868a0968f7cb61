//! The address of another worker: the path of its Unix socket, or its node, host and port.

use std::fmt;
use std::net::IpAddr;

/// The longest name of a node: that of a DNS name.
pub(crate) const NODE_BYTES_MAX: usize = 253;

/// Where a worker accepts calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Address {
    /// The path of a Unix socket of this machine.
    Path(String),
    /// `tls://NODE@HOST:PORT`, or `tcp://NODE@HOST:PORT` on loopback, each with `/WRITER` if only that worker is meant.
    Remote(Remote),
}

/// A worker that listens on TCP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Remote {
    pub(crate) is_secured: bool,
    /// The name that its certificate must have.
    pub(crate) node: String,
    pub(crate) host: Host,
    pub(crate) port: u16,
    /// The number of the worker's process. A process that took over the port is not called.
    pub(crate) writer: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Host {
    Ip(IpAddr),
    Name(String),
}

impl fmt::Display for Host {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Host::Ip(address) => address.fmt(formatter),
            Host::Name(name) => formatter.write_str(name),
        }
    }
}

impl Address {
    /// Reads an address. A text without `://` is a path.
    pub(crate) fn parse(text: &str) -> Result<Address, String> {
        let Some((scheme, rest)) = text.split_once("://") else { return Ok(Address::Path(text.to_owned())) };
        let is_secured = match scheme {
            "tls" => true,
            "tcp" => false,
            _ => return Err(format!("the address {text:?} begins with neither tls:// nor tcp://")),
        };
        let remote = Remote::parse(is_secured, rest)
            .ok_or_else(|| format!("the address {text:?} is not of the form {scheme}://NODE@HOST:PORT/WRITER"))?;
        if !is_secured && !matches!(remote.host, Host::Ip(address) if address.is_loopback()) {
            return Err(format!("the address {text:?} is not a loopback address, so it needs tls:// instead of tcp://"));
        }
        Ok(Address::Remote(remote))
    }
}

impl Remote {
    fn parse(is_secured: bool, rest: &str) -> Option<Remote> {
        let (node, rest) = rest.split_once('@')?;
        let (place, writer) = match rest.split_once('/') {
            Some((place, writer)) => (place, Some(digits(writer)?)),
            None => (rest, None),
        };
        let (host, port) = place.rsplit_once(':')?;
        let port = digits(port).filter(|port| *port > 0)?;
        let host = match host.strip_prefix('[') {
            Some(ipv6) => Host::Ip(IpAddr::V6(ipv6.strip_suffix(']')?.parse().ok()?)),
            None => match host.parse() {
                Ok(address) => Host::Ip(IpAddr::V4(address)),
                Err(_) => Host::Name(is_name(host).then(|| host.to_owned())?),
            },
        };
        is_name(node).then(|| Remote { is_secured, node: node.to_owned(), host, port, writer })
    }
}

/// A number without a sign.
fn digits<N: std::str::FromStr>(text: &str) -> Option<N> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

/// Whether a certificate can have this DNS name: labels of letters, digits, `-` and `_`, the last one not a number.
pub(crate) fn is_name(text: &str) -> bool {
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
    };
    let last = text.rsplit('.').next().unwrap_or(text);
    text.len() <= NODE_BYTES_MAX && text.split('.').all(is_label) && !last.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remote(text: &str) -> Remote {
        match Address::parse(text) {
            Ok(Address::Remote(remote)) => remote,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn an_address_is_a_path_or_a_node_at_a_host() {
        assert_eq!(Address::parse("/run/elah/0.sock"), Ok(Address::Path("/run/elah/0.sock".to_owned())));
        let by_address = remote("tls://node1.shop@10.0.0.11:9400");
        assert_eq!((by_address.node.as_str(), by_address.port, by_address.writer), ("node1.shop", 9400, None));
        assert_eq!(by_address.host, Host::Ip("10.0.0.11".parse().unwrap()));
        assert!(by_address.is_secured);
        assert_eq!(remote("tls://a@[fd00::7]:1/18446744073709551615").writer, Some(u64::MAX));
        assert_eq!(remote("tls://a@[fd00::7]:1").host, Host::Ip("fd00::7".parse().unwrap()));
        assert_eq!(remote("tls://a@db_1.example:65535").host, Host::Name("db_1.example".to_owned()));
        assert!(!remote("tcp://a@127.0.0.2:9").is_secured);
        assert!(!remote("tcp://a@[::1]:9/3").is_secured);
    }

    #[test]
    fn what_is_no_address_is_refused_with_its_text() {
        for text in [
            "tls://",
            "tls://a",
            "tls://a@b",
            "tls://a@b:",
            "tls://a@b:0",
            "tls://a@b:65536",
            "tls://a@b:+1",
            "tls://a@b:1/",
            "tls://a@b:1/x",
            "tls://a@b:1/1/2",
            "tls://@b:1",
            "tls://a@:1",
            "tls://a b@c:1",
            "tls://a@[::1:1",
            "tls://a@::1:1",
            "tls://10.0.0.1@b:1",
            "tls://-a@b:1",
            "tls://a..b@c:1",
            "tls://a@256.1.1.1:1",
            "tls://a@b@c:1",
            "http://a@b:1",
            "TLS://a@b:1",
            "://",
        ] {
            assert!(Address::parse(text).is_err_and(|refusal| refusal.contains(&format!("{text:?}"))), "{text}");
        }
        assert!(Address::parse(&format!("tls://{}@b:1", "a".repeat(64))).is_err());
    }

    #[test]
    fn plain_tcp_stays_on_loopback() {
        for text in ["tcp://a@10.0.0.1:1", "tcp://a@localhost:1", "tcp://a@[fd00::7]:1", "tcp://a@[::ffff:127.0.0.1]:1"] {
            assert!(Address::parse(text).is_err_and(|refusal| refusal.contains("needs tls://")), "{text}");
        }
    }

    #[test]
    fn fuzz_addresses() {
        let samples = ["tls://node@10.0.0.1:9400/7", "tcp://n@[::1]:1", "/run/x.sock"];
        let mutator = elah_fuzz::Mutator::new(&samples, &["://", "@", "]:"]);
        elah_fuzz::run("addresses", |random| {
            let text = String::from_utf8_lossy(&mutator.mutated(random)).into_owned();
            if let Ok(Address::Remote(remote)) = Address::parse(&text) {
                assert!(remote.port > 0 && is_name(&remote.node), "{text}");
            }
        });
    }
}
