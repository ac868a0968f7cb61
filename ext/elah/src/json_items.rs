//! Finds the objects of a batch in its text: a JSON array of them, or one after the other. They are checked, and stay text.

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};

/// An object as it was sent.
pub(crate) struct Item<'a> {
    pub(crate) text: &'a str,
    /// Its member `path`, if that is a text.
    pub(crate) path: Option<String>,
}

/// The objects, at most `max`. `None` when something else is among them, or an object names itself by `id`: then each must be looked at.
pub(crate) fn read_items(body: &str, is_list: bool, max: usize) -> Option<Vec<Item<'_>>> {
    let mut rest = body.trim_matches(is_blank);
    if is_list {
        rest = rest.strip_prefix('[')?.strip_suffix(']')?.trim_start_matches(is_blank);
    }
    let mut items = Vec::new();
    while !rest.is_empty() {
        let mut objects = serde_json::Deserializer::from_str(rest).into_iter::<Members>();
        let members = objects.next()?.ok()?;
        let (text, after) = rest.split_at(objects.byte_offset());
        if members.is_named || items.len() == max {
            return None;
        }
        items.push(Item { text, path: members.path });
        rest = following(after, is_list)?;
    }
    (!items.is_empty()).then_some(items)
}

/// The text from the next object on; a comma stands between two of a list, and a line break between two others.
fn following(after: &str, is_list: bool) -> Option<&str> {
    let rest = after.trim_start_matches(is_blank);
    if rest.is_empty() {
        return Some(rest);
    }
    if !is_list {
        return after[..after.len() - rest.len()].contains('\n').then_some(rest);
    }
    let rest = rest.strip_prefix(',')?.trim_start_matches(is_blank);
    (!rest.is_empty()).then_some(rest)
}

fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\n' | '\r')
}

/// What is looked at in an object.
#[derive(Default)]
struct Members {
    path: Option<String>,
    is_named: bool,
}

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Members;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
        let mut members = Members::default();
        while let Some(name) = map.next_key::<Name>()? {
            match name {
                Name::Path => {
                    let value = map.next_value::<serde_json::Value>()?;
                    members.path = value.as_str().map(str::to_owned);
                }
                Name::Id => {
                    members.is_named = true;
                    map.next_value::<IgnoredAny>()?;
                }
                Name::Other => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(members)
    }
}

enum Name {
    Path,
    Id,
    Other,
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(NameVisitor)
    }
}

struct NameVisitor;

impl Visitor<'_> for NameVisitor {
    type Value = Name;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<Name, E> {
        Ok(match name {
            "path" => Name::Path,
            "id" => Name::Id,
            _ => Name::Other,
        })
    }
}
