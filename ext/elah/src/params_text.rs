//! Parameters as the text of a JSON object, straight from a query, a form or a body. What is not plain (nested names, names that come
//! twice, anything wrong) is left to `Elah::Form` and `Elah::JSON`, which know what to say.

use std::borrow::Cow;

use arrayvec::ArrayVec;
use elah_core::json_text::write_string;
use elah_core::percent::{Plus, decode};

use crate::json_scan::Scanner;

/// Names are compared with each other, so that many of them are left to the slower way.
const PAIRS_MAX: usize = 32;

/// The text of one member, if there is one and it is a text.
pub(crate) type Member = Option<String>;

/// Whether a byte means itself in a query, in a form and in a text of JSON alike.
const PLAIN: [bool; 256] = {
    let mut plain = [false; 256];
    let mut byte = 0x20;
    while byte < 0x7f {
        plain[byte] = !matches!(byte as u8, b'%' | b'+' | b'"' | b'\\' | b'&' | b';' | b'=' | b'[' | b']' | b' ');
        byte += 1;
    }
    plain
};

/// Appends an object with the pairs of a query (`has_semicolons`) or a form. `None` when they are not plain; what was appended is to
/// be cut off then.
pub(crate) fn write_pairs(out: &mut Vec<u8>, text: &[u8], has_semicolons: bool, member: &str) -> Option<Member> {
    let mut pairs = Pairs { member, names: ArrayVec::new(), found: None };
    out.push(b'{');
    let mut rest = text;
    while !rest.is_empty() {
        rest = match plain_pair(rest) {
            Some((name, value, after)) => {
                pairs.write(out, name.into(), Some(value.into()))?;
                after
            }
            None => {
                let end = rest.iter().position(|byte| *byte == b'&' || (has_semicolons && *byte == b';')).unwrap_or(rest.len());
                pairs.write_decoded(out, &rest[..end])?;
                rest.get(end + 1..).unwrap_or_default()
            }
        };
    }
    out.push(b'}');
    Some(pairs.found)
}

/// A pair of which no byte has to be decoded or escaped, and what follows it.
fn plain_pair(text: &[u8]) -> Option<(&str, &str, &[u8])> {
    let (name, rest) = plain(text);
    let (value, rest) = plain(rest.strip_prefix(b"=")?);
    let after = match rest.split_first() {
        None => rest,
        Some((b'&', after)) => after,
        Some(_) => return None,
    };
    (!name.is_empty()).then_some((name, value, after))
}

/// The plain bytes that a text begins with, which are ASCII, and the others.
fn plain(text: &[u8]) -> (&str, &[u8]) {
    let end = text.iter().position(|byte| !PLAIN[usize::from(*byte)]).unwrap_or(text.len());
    let (plain, rest) = text.split_at(end);
    (std::str::from_utf8(plain).unwrap_or_default(), rest)
}

struct Pairs<'t> {
    member: &'t str,
    names: ArrayVec<Cow<'t, str>, PAIRS_MAX>,
    found: Member,
}

impl<'t> Pairs<'t> {
    fn write_decoded(&mut self, out: &mut Vec<u8>, pair: &'t [u8]) -> Option<()> {
        if pair.is_empty() {
            return Some(());
        }
        let (name, value) = match memchr::memchr(b'=', pair) {
            Some(at) => (&pair[..at], Some(&pair[at + 1..])),
            None => (pair, None),
        };
        let name = decode(name, Plus::Space).ok()?;
        if name.is_empty() || pair.starts_with(b" ") || name.contains(['[', ']']) {
            return None;
        }
        let value = value.map(|value| decode(value, Plus::Space)).transpose().ok()?;
        self.write(out, name, value)
    }

    /// `None` when the name came before, or there are too many.
    fn write(&mut self, out: &mut Vec<u8>, name: Cow<'t, str>, value: Option<Cow<'t, str>>) -> Option<()> {
        if self.names.contains(&name) {
            return None;
        }
        if !self.names.is_empty() {
            out.push(b',');
        }
        write_string(out, &name);
        out.push(b':');
        match value {
            Some(value) => {
                write_string(out, &value);
                if name == self.member {
                    self.found = Some(value.into_owned());
                }
            }
            None => out.extend_from_slice(b"null"),
        }
        self.names.try_push(name).ok()
    }
}

/// Reads the text of an object as strictly as `Elah::JSON.parse`. `None` when it is not one, or has to be looked at more closely.
pub(crate) fn read_object(text: &str, member: &str) -> Option<Member> {
    let mut scanner = Scanner::new(text);
    let mut found = None;
    scanner.skip_blanks();
    scanner.members(|scanner, name| {
        if name.read()? != member {
            return scanner.value(1);
        }
        // Of a name that comes twice the last value stays.
        found = None;
        if scanner.peek()? != b'"' {
            return scanner.value(1);
        }
        found = Some(scanner.string()?.read()?.into_owned());
        Some(())
    })?;
    scanner.end()?;
    Some(found)
}
