//! The objects of a batch in its text: a JSON array of them, or one after the other. They are checked in one pass over the bytes,
//! as strictly as by `Elah::JSON.parse`, and stay text. A text that needs a closer check is left to `parse`.

use std::borrow::Cow;

use elah_json::{Cursor, Token};

/// Levels of nesting in a member. `Elah::JSON.parse` handles deeper ones; it allows 100 levels, including the list and the
/// object.
const LEVELS_MAX: usize = 98;

/// An object as sent.
pub(crate) struct Item<'a> {
    pub(crate) text: &'a str,
    /// Its member `path`, if that is a text.
    pub(crate) path: Option<Cow<'a, str>>,
}

/// The objects, at most `max`. `None` if there is anything else among them, or an object has an `id`: then each needs a closer
/// check.
pub(crate) fn read_items(body: &str, is_list: bool, max: usize) -> Option<Vec<Item<'_>>> {
    let mut cursor = Cursor::new(body);
    let mut items = Vec::new();
    if is_list {
        if cursor.next().ok()? != Token::Array {
            return None;
        }
        while cursor.element().ok()? {
            if items.len() == max {
                return None;
            }
            items.push(read_item(&mut cursor, body)?);
        }
        cursor.end().ok()?;
    } else {
        while items.len() < max {
            items.push(read_item(&mut cursor, body)?);
            let end = cursor.at();
            if cursor.peek().is_none() {
                return Some(items);
            }
            if !body[end..cursor.at()].contains('\n') {
                return None;
            }
        }
        return None;
    }
    (!items.is_empty()).then_some(items)
}

fn read_item<'a>(cursor: &mut Cursor<'a>, body: &'a str) -> Option<Item<'a>> {
    cursor.peek();
    let start = cursor.at();
    if cursor.next().ok()? != Token::Object {
        return None;
    }
    let mut path = None;
    while let Some(name) = cursor.member().ok()? {
        match &*name.read() {
            "id" => return None,
            // Of a repeated name the last value counts.
            "path" => {
                path = None;
                if cursor.peek() == Some(b'"') {
                    let Token::Text(text) = cursor.next().ok()? else { return None };
                    path = Some(text.read());
                } else {
                    cursor.skip(LEVELS_MAX).ok()?;
                }
            }
            _ => cursor.skip(LEVELS_MAX).ok()?,
        }
    }
    Some(Item { text: &body[start..cursor.at()], path })
}
