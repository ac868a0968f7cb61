//! The stored row of a member. Its key is made from the name, so a new score is one write.
//!
//! | key, after the length of the set's prefix and the prefix | value |
//! |---|---|
//! | `=`, a name of up to `PLAIN_NAME_BYTES` | version, number of components, decimals of each, sequence, scores |
//! | `#`, SHA-256 of a longer name | the same, then the name |

use sha2::{Digest, Sha256};

use super::bounds::PLAIN_NAME_BYTES;
use super::error::Error;
use super::order::{Order, Scores};

const VERSION: u8 = 1;
const PLAIN: u8 = b'=';
const HASHED: u8 = b'#';

/// The content of a member's row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row<'r> {
    pub(super) name: &'r [u8],
    pub(super) scores: Scores,
    pub(super) sequence: u64,
}

/// The beginning of the keys of a set's rows. Because of the length, no prefix is the beginning of another.
pub(super) fn stem(prefix: &[u8]) -> Vec<u8> {
    [&[prefix.len() as u8], prefix].concat()
}

/// The key of a member's row.
pub(super) fn key(prefix: &[u8], name: &[u8]) -> Vec<u8> {
    let mut key = Vec::with_capacity(2 + prefix.len() + name.len());
    write_key(&mut key, prefix, name);
    key
}

/// Appends the key of a member's row.
pub(super) fn write_key(out: &mut Vec<u8>, prefix: &[u8], name: &[u8]) {
    out.push(prefix.len() as u8);
    out.extend_from_slice(prefix);
    if name.len() <= PLAIN_NAME_BYTES {
        out.push(PLAIN);
        out.extend_from_slice(name);
    } else {
        out.push(HASHED);
        out.extend_from_slice(&Sha256::digest(name));
    }
}

/// Appends the value of a member's row.
pub(super) fn write_value(out: &mut Vec<u8>, order: &Order, name: &[u8], scores: &[i64], sequence: u64) {
    out.extend_from_slice(&[VERSION, order.components().len() as u8]);
    out.extend(order.components().iter().map(|component| component.decimals));
    out.extend_from_slice(&sequence.to_be_bytes());
    scores.iter().for_each(|score| out.extend_from_slice(&score.to_be_bytes()));
    if name.len() > PLAIN_NAME_BYTES {
        out.extend_from_slice(name);
    }
}

/// Parses a row, whose key comes without its stem.
pub(super) fn decode<'r>(order: &Order, key: &'r [u8], value: &'r [u8]) -> Result<Row<'r>, Error> {
    let invalid = |why| Error::InvalidRow { why };
    let rest = value.strip_prefix(&[VERSION]).ok_or_else(|| invalid("it has another version"))?;
    let components = order.components();
    let (count, rest) = rest.split_first().ok_or_else(|| invalid("it is cut off"))?;
    if usize::from(*count) != components.len() {
        return Err(invalid("its score has another number of components than the set's order"));
    }
    let (decimals, rest) = rest.split_at_checked(components.len()).ok_or_else(|| invalid("it is cut off"))?;
    if !decimals.iter().zip(components).all(|(decimals, component)| *decimals == component.decimals) {
        return Err(invalid("its score has other decimals than the set's order"));
    }
    let (sequence, rest) = rest.split_first_chunk::<8>().ok_or_else(|| invalid("it is cut off"))?;
    let (scores, long_name) = rest.split_at_checked(components.len() * 8).ok_or_else(|| invalid("it is cut off"))?;
    let name = match key.split_first() {
        Some((&PLAIN, name)) if long_name.is_empty() => name,
        Some((&HASHED, _)) => long_name,
        _ => return Err(invalid("its key is not one of a member")),
    };
    let scores = scores.as_chunks::<8>().0.iter().map(|score| i64::from_be_bytes(*score)).collect();
    Ok(Row { name, scores, sequence: u64::from_be_bytes(*sequence) })
}
