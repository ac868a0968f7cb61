//! Finds the objects of a batch in its text: a JSON array of them, or one after the other. They are checked in one pass over the bytes, as
//! strictly as `Elah::JSON.parse` does, and stay text. What only a closer look can judge is left to it.

use std::borrow::Cow;

use crate::json_scan::Scanner;

/// An object as it was sent.
pub(crate) struct Item<'a> {
    pub(crate) text: &'a str,
    /// Its member `path`, if that is a text.
    pub(crate) path: Option<Cow<'a, str>>,
}

/// The objects, at most `max`. `None` when something else is among them, or an object names itself by `id`: then each must be looked at.
pub(crate) fn read_items(body: &str, is_list: bool, max: usize) -> Option<Vec<Item<'_>>> {
    let mut scanner = Scanner::new(body);
    scanner.skip_blanks();
    if is_list {
        scanner.take(b'[')?;
        scanner.skip_blanks();
    }
    let mut items = Vec::new();
    while items.len() < max {
        items.push(read_item(&mut scanner, body)?);
        let has_line_break = scanner.skip_blanks();
        match (scanner.peek(), is_list) {
            (None, false) => return Some(items),
            (Some(b'{'), false) if has_line_break => {}
            (Some(b','), true) => {
                scanner.take(b',')?;
                scanner.skip_blanks();
            }
            (Some(b']'), true) => {
                scanner.take(b']')?;
                return scanner.end().map(|()| items);
            }
            _ => return None,
        }
    }
    None
}

fn read_item<'a>(scanner: &mut Scanner<'a>, body: &'a str) -> Option<Item<'a>> {
    let start = scanner.at();
    let mut path = None;
    scanner.members(|scanner, name| {
        match &*name.read()? {
            "id" => return None,
            // Of a name that comes twice the last value stays.
            "path" if scanner.peek() == Some(b'"') => path = Some(scanner.string()?.read()?),
            "path" => {
                path = None;
                scanner.value(1)?;
            }
            _ => scanner.value(1)?,
        }
        Some(())
    })?;
    Some(Item { text: &body[start..scanner.at()], path })
}
