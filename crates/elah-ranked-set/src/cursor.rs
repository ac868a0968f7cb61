//! Cursors: a position in the order that stays the same while members move. It contains the key and the name of a member, which
//! may no longer exist.

use super::error::Error;
use super::key::Key;
use super::order::Order;
use super::{CURSOR_BYTES_MAX, MEMBER_BYTES_MAX};

const VERSION: u8 = 1;

/// A position in the order of a set.
pub(super) struct Cursor<'c> {
    pub(super) key: Key,
    pub(super) name: &'c [u8],
}

pub(super) fn encode(order: &Order, key: &[u64], name: &[u8]) -> Vec<u8> {
    let mut cursor = vec![VERSION];
    cursor.extend(order.signature());
    key.iter().for_each(|word| cursor.extend(word.to_be_bytes()));
    cursor.extend(name);
    cursor
}

pub(super) fn decode<'c>(order: &Order, cursor: &'c [u8]) -> Result<Cursor<'c>, Error> {
    let invalid = |why| Error::InvalidCursor { why };
    if cursor.len() > CURSOR_BYTES_MAX {
        return Err(invalid("it is too long"));
    }
    let rest = cursor.strip_prefix(&[VERSION]).ok_or_else(|| invalid("it is not a cursor of this version"))?;
    let rest = rest.strip_prefix(&order.signature()[..]).ok_or_else(|| invalid("it comes from a set with another order"))?;
    let key_bytes = (order.components().len() + 1) * 8;
    let (words, name) = rest.split_at_checked(key_bytes).ok_or_else(|| invalid("it is cut off"))?;
    if name.len() > MEMBER_BYTES_MAX {
        return Err(invalid("it is too long"));
    }
    let (words, _) = words.as_chunks::<8>();
    Ok(Cursor { key: Key::new(words.iter().map(|word| u64::from_be_bytes(*word))), name })
}
