//! Parameters as the text of a JSON object, straight from a query, a form or a body. What is not plain (nested names, names that come
//! twice, anything wrong) is left to `Elah::Form` and `Elah::JSON`, which know what to say.

use std::borrow::Cow;

use elah_core::json_text::write_string;
use elah_core::percent::{Plus, decode};

use crate::json_scan::Scanner;

/// Names are compared with each other, so that many of them are left to the slower way.
const PAIRS_MAX: usize = 32;

/// The text of one member, if there is one and it is a text.
pub(crate) type Member = Option<String>;

/// Appends an object with the pairs of a query (`has_semicolons`) or a form. `None` when they are not plain; what was appended is to
/// be cut off then.
pub(crate) fn write_pairs(out: &mut Vec<u8>, text: &[u8], has_semicolons: bool, member: &str) -> Option<Member> {
    let mut names: Vec<Cow<'_, str>> = Vec::new();
    let mut found = None;
    out.push(b'{');
    for pair in text.split(|byte| *byte == b'&' || (has_semicolons && *byte == b';')) {
        if pair.is_empty() {
            continue;
        }
        let (name, value) = match memchr::memchr(b'=', pair) {
            Some(at) => (&pair[..at], Some(&pair[at + 1..])),
            None => (pair, None),
        };
        let name = decode(name, Plus::Space).ok()?;
        let is_plain = !name.is_empty() && !pair.starts_with(b" ") && !name.contains(['[', ']']);
        if !is_plain || names.len() == PAIRS_MAX || names.contains(&name) {
            return None;
        }
        if !names.is_empty() {
            out.push(b',');
        }
        write_string(out, &name);
        out.push(b':');
        match value {
            Some(value) => {
                let value = decode(value, Plus::Space).ok()?;
                write_string(out, &value);
                if name == member {
                    found = Some(value.into_owned());
                }
            }
            None => out.extend_from_slice(b"null"),
        }
        names.push(name);
    }
    out.push(b'}');
    Some(found)
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
