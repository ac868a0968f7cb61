//! The host and port of a request: `uri-host [ ":" port ]`, as a Host header or in an absolute target.

use std::net::Ipv6Addr;

use super::bytes::{HOST, count_of};

/// Bytes allowed for a host name, as in DNS.
const NAME_BYTES_MAX: usize = 255;

/// A valid authority, split at its port.
#[derive(Debug, Clone, Copy)]
pub(super) struct Host<'a> {
    name: &'a [u8],
    port: Option<u16>,
}

impl<'a> Host<'a> {
    /// Accepts registered names of RFC 3986, IPv4 addresses and bracketed IPv6 addresses, with an optional port up to 65535.
    /// Refuses two things that the RFC allows but no real name has: percent-escapes, which hyper refuses too, and commas, which
    /// remain when two Host headers are merged.
    pub(super) fn parse(authority: &'a [u8]) -> Option<Self> {
        let name_bytes = match authority.first()? {
            b'[' => {
                let end = authority.iter().position(|&byte| byte == b']')?;
                std::str::from_utf8(&authority[1..end]).ok()?.parse::<Ipv6Addr>().ok()?;
                end + 1
            }
            _ => count_of(HOST, authority),
        };
        if !(1..=NAME_BYTES_MAX).contains(&name_bytes) {
            return None;
        }
        let (name, rest) = authority.split_at(name_bytes);
        match rest {
            // RFC 3986 allows a colon without digits.
            [] | [b':'] => Some(Self { name, port: None }),
            [b':', digits @ ..] => Some(Self { name, port: Some(port_number(digits)?) }),
            _ => None,
        }
    }

    /// Whether both mean the same host for a URL whose scheme has `default_port`.
    pub(super) fn is_same(&self, other: &Host<'_>, default_port: u16) -> bool {
        self.name.eq_ignore_ascii_case(other.name) && self.port.unwrap_or(default_port) == other.port.unwrap_or(default_port)
    }
}

fn port_number(digits: &[u8]) -> Option<u16> {
    if digits.len() > 5 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number = digits.iter().fold(0, |port, digit| port * 10 + u32::from(digit - b'0'));
    u16::try_from(number).ok()
}
