//! Parameters as the text of a JSON object, straight from a query, a form or a body. What is not plain (nested names, names that come
//! twice, anything wrong) is left to `Elah::Form` and `Elah::JSON`, which know what to say.

use std::borrow::Cow;
use std::fmt;

use elah_core::json_text::write_string;
use elah_core::percent::{Plus, decode};
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

/// Names are compared with each other, so that many of them are left to the slower way.
const PAIRS_MAX: usize = 32;
/// As `Elah::JSON.parse` has it.
const DEPTH_MAX: usize = 100;

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

/// Reads the text of an object as strictly as `Elah::JSON.parse`. `None` when it is not one.
pub(crate) fn read_object(text: &str, member: &str) -> Option<Member> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let found = Object { member }.deserialize(&mut deserializer).ok()?;
    deserializer.end().ok()?;
    Some(found)
}

struct Object<'m> {
    member: &'m str,
}

impl<'de> DeserializeSeed<'de> for Object<'_> {
    type Value = Member;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Member, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Object<'_> {
    type Value = Member;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut pairs: A) -> Result<Member, A::Error> {
        let mut found = None;
        while let Some(is_member) = pairs.next_key_seed(Name { is: self.member })? {
            let text = pairs.next_value_seed(Checked { depth: 1, is_wanted: is_member })?;
            // Of a name that comes twice the last value stays.
            if is_member {
                found = text;
            }
        }
        Ok(found)
    }
}

/// Whether a name is this one.
struct Name<'n> {
    is: &'n str,
}

impl<'de> DeserializeSeed<'de> for Name<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Name<'_> {
    type Value = bool;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<bool, E> {
        Ok(name == self.is)
    }
}

/// Any value, read to its end: serde's own way to pass over one lets lone surrogates and numbers without bound through.
#[derive(Clone, Copy)]
struct Checked {
    depth: usize,
    is_wanted: bool,
}

impl Checked {
    fn inside<E: serde::de::Error>(self) -> Result<Self, E> {
        if self.depth >= DEPTH_MAX {
            return Err(E::custom("it is nested too deep"));
        }
        Ok(Checked { depth: self.depth + 1, is_wanted: false })
    }
}

impl<'de> DeserializeSeed<'de> for Checked {
    type Value = Member;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Member, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Checked {
    type Value = Member;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<Member, E> {
        Ok(None)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Member, E> {
        Ok(None)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Member, E> {
        Ok(None)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Member, E> {
        Ok(None)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Member, E> {
        Ok(None)
    }

    fn visit_str<E>(self, text: &str) -> Result<Member, E> {
        Ok(self.is_wanted.then(|| text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Member, A::Error> {
        let inside = self.inside()?;
        while elements.next_element_seed(inside)?.is_some() {}
        Ok(None)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut pairs: A) -> Result<Member, A::Error> {
        let inside = self.inside()?;
        while pairs.next_key_seed(Name { is: "" })?.is_some() {
            pairs.next_value_seed(inside)?;
        }
        Ok(None)
    }
}
