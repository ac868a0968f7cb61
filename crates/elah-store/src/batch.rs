//! Batches of writes that are stored together, packed into one buffer, so that no write is an allocation of its own.
//!
//! A packed write is its head (tag, number of the table, length of the key (2), length of the value (4), expiry (8), all little
//! endian), then key and value.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::claim::Claim;
use super::error::Error;
use super::layout::check_value_bytes;
use super::merge::{Keys, Pending};
use super::table::TableName;

const PUT: u8 = 0;
const DELETE: u8 = 1;
const HEAD_BYTES: usize = 16;

/// One write in a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packed<'a> {
    /// The position of its table in the batch's list.
    pub table: u8,
    /// The key.
    pub key: &'a [u8],
    /// `None` removes the key.
    pub value: Option<&'a [u8]>,
    /// Milliseconds since 1970 by the store's clock; `None` never expires.
    pub expires_at_ms: Option<u64>,
}

/// The writes of one call, in order.
#[derive(Clone, Debug, Default)]
pub struct Gathered {
    bytes: Vec<u8>,
}

impl Gathered {
    /// Adds a value for the key `prefix` + `key` of the table with the number `table`.
    pub fn put(&mut self, table: u8, prefix: &[u8], key: &[u8], value: &[u8], expires_at_ms: Option<u64>) -> Result<(), Error> {
        push(&mut self.bytes, PUT, table, [prefix, key], [value], expires_at_ms)
    }

    /// Like `put`, for a row whose key and value are appended in place. After an error the row is removed.
    pub fn put_joined<E: From<Error>>(
        &mut self,
        table: u8,
        key: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
        value: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&[0; HEAD_BYTES]);
        let row = || {
            key(&mut self.bytes)?;
            let key_bytes = check_key_bytes(self.bytes.len() - start - HEAD_BYTES)?;
            value(&mut self.bytes)?;
            let value_start = start + HEAD_BYTES + key_bytes;
            check_value_bytes(self.bytes.len() - value_start)?;
            let head = head(PUT, table, key_bytes, self.bytes.len() - value_start, None);
            self.bytes[start..start + HEAD_BYTES].copy_from_slice(&head);
            Ok(())
        };
        let joined = row();
        if joined.is_err() {
            self.bytes.truncate(start);
        }
        joined
    }

    /// Adds the removal of a key.
    pub fn delete(&mut self, table: u8, prefix: &[u8], key: &[u8]) -> Result<(), Error> {
        push(&mut self.bytes, DELETE, table, [prefix, key], [], None)
    }

    /// Whether there are no writes.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Removes all writes.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    /// The last write for a key: a value, or `Some(None)` for its removal. `None` if there is none.
    pub fn get(&self, table: u8, key: &[u8]) -> Option<Option<&[u8]>> {
        self.writes().filter(|write| write.table == table && write.key == key).last().map(|write| write.value)
    }

    /// The last write for each key of a table.
    pub(super) fn by_key(&self, table: u8) -> Keys<Pending> {
        let writes = self.writes().filter(|write| write.table == table).map(|write| {
            let pending = Pending { value: write.value.map(<[u8]>::to_vec), expires_at_ms: write.expires_at_ms };
            (write.key.to_vec(), pending)
        });
        writes.collect::<BTreeMap<_, _>>()
    }

    fn writes(&self) -> Unpacked<'_> {
        Unpacked { rest: &self.bytes }
    }
}

/// Packs a write whose key and value consist of parts.
fn push<const K: usize, const V: usize>(
    bytes: &mut Vec<u8>,
    tag: u8,
    table: u8,
    key: [&[u8]; K],
    value: [&[u8]; V],
    expires_at_ms: Option<u64>,
) -> Result<(), Error> {
    let key_bytes = check_key_bytes(key.iter().map(|part| part.len()).sum())?;
    let value_bytes = value.iter().map(|part| part.len()).sum();
    check_value_bytes(value_bytes)?;
    bytes.reserve(HEAD_BYTES + key_bytes + value_bytes);
    bytes.extend_from_slice(&head(tag, table, key_bytes, value_bytes, expires_at_ms));
    for part in key.iter().chain(&value) {
        bytes.extend_from_slice(part);
    }
    Ok(())
}

fn check_key_bytes(bytes: usize) -> Result<usize, Error> {
    if bytes == 0 || bytes > super::KEY_BYTES_MAX { Err(Error::InvalidKey { bytes }) } else { Ok(bytes) }
}

fn head(tag: u8, table: u8, key_bytes: usize, value_bytes: usize, expires_at_ms: Option<u64>) -> [u8; HEAD_BYTES] {
    let mut head = [0; HEAD_BYTES];
    head[0] = tag;
    head[1] = table;
    head[2..4].copy_from_slice(&(key_bytes as u16).to_le_bytes());
    head[4..8].copy_from_slice(&(value_bytes as u32).to_le_bytes());
    head[8..].copy_from_slice(&expires_at_ms.unwrap_or(0).to_le_bytes());
    head
}

/// Reads packed writes.
pub struct Unpacked<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Unpacked<'a> {
    type Item = Packed<'a>;

    fn next(&mut self) -> Option<Packed<'a>> {
        let (head, rest) = self.rest.split_first_chunk::<HEAD_BYTES>()?;
        let key_bytes = usize::from(u16::from_le_bytes([head[2], head[3]]));
        let value_bytes = u32::from_le_bytes([head[4], head[5], head[6], head[7]]) as usize;
        let (key, rest) = rest.split_at_checked(key_bytes)?;
        let (value, rest) = rest.split_at_checked(value_bytes)?;
        self.rest = rest;
        let expires_at_ms = u64::from_le_bytes(*head.last_chunk()?);
        Some(Packed {
            table: head[1],
            key,
            value: (head[0] == PUT).then_some(value),
            expires_at_ms: (expires_at_ms != 0).then_some(expires_at_ms),
        })
    }
}

/// The writes of calls, each under the claim on its shard. The writes of a call are stored together or not at all. A call with an
/// invalid claim does not affect the others.
#[derive(Debug)]
pub struct Batch {
    /// Counts the batches of one owner, from 1.
    pub number: u64,
    /// The tables that its writes name by their positions.
    pub tables: Arc<[Arc<TableName>]>,
    /// How long it may wait to share a commit with others.
    pub(super) commit_delay: Duration,
    bytes: Vec<u8>,
    calls: Vec<(Arc<Claim>, usize)>,
}

impl Batch {
    pub(super) fn new(number: u64, tables: Arc<[Arc<TableName>]>, commit_delay: Duration) -> Self {
        Batch { number, tables, commit_delay, bytes: Vec::new(), calls: Vec::new() }
    }

    /// Adds the writes of a call.
    pub(super) fn add(&mut self, claim: &Arc<Claim>, gathered: &mut Gathered) {
        self.bytes.extend_from_slice(&gathered.bytes);
        gathered.clear();
        self.calls.push((Arc::clone(claim), self.bytes.len()));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Its approximate size in memory.
    pub fn bytes(&self) -> usize {
        self.bytes.len() + 32 * self.calls.len()
    }

    /// The claim and the writes of each call.
    pub fn calls(&self) -> impl Iterator<Item = (&Arc<Claim>, Unpacked<'_>)> {
        let mut start = 0;
        self.calls.iter().map(move |(claim, end)| {
            let writes = Unpacked { rest: &self.bytes[start..*end] };
            start = *end;
            (claim, writes)
        })
    }

    /// Records that nothing was stored.
    pub fn fail(&self, error: &Error) {
        for (claim, _) in &self.calls {
            claim.fail(self.number, error);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_come_back_in_their_order_and_the_last_of_a_key_counts() {
        let mut gathered = Gathered::default();
        gathered.put(0, b"p", b"a", b"1", None).unwrap();
        gathered.put(1, b"", b"pa", b"other", Some(7)).unwrap();
        gathered.put(0, b"p", b"a", b"", None).unwrap();
        gathered.delete(0, b"p", b"b").unwrap();
        assert_eq!(gathered.get(0, b"pa"), Some(Some(&b""[..])));
        assert_eq!(gathered.get(0, b"pb"), Some(None));
        assert_eq!(gathered.get(0, b"pc"), None);
        let second = gathered.writes().nth(1).unwrap();
        assert_eq!(second, Packed { table: 1, key: b"pa", value: Some(b"other"), expires_at_ms: Some(7) });
        assert_eq!(gathered.by_key(0).len(), 2);
    }

    #[test]
    fn a_joined_row_is_as_one_that_was_put_and_one_that_is_refused_leaves_nothing() {
        let (mut joined, mut put) = (Gathered::default(), Gathered::default());
        fn text(text: &'static [u8]) -> impl FnOnce(&mut Vec<u8>) -> Result<(), Error> {
            move |row| {
                row.extend_from_slice(text);
                Ok(())
            }
        }
        joined.put_joined(3, text(b"key"), text(b"value")).unwrap();
        put.put(3, b"k", b"ey", b"value", None).unwrap();
        assert_eq!(joined.bytes, put.bytes);
        assert_eq!(joined.put_joined(3, text(b""), text(b"value")), Err(Error::InvalidKey { bytes: 0 }));
        assert_eq!(joined.put_joined(3, text(b"key"), |_| Err(Error::Closed)), Err(Error::Closed));
        assert_eq!(joined.bytes, put.bytes);
    }

    #[test]
    fn a_key_out_of_bounds_is_refused_with_its_prefix_counted() {
        let mut gathered = Gathered::default();
        assert_eq!(gathered.put(0, b"", b"", b"", None), Err(Error::InvalidKey { bytes: 0 }));
        assert_eq!(gathered.delete(0, &[1; 400], &[1; 81]), Err(Error::InvalidKey { bytes: 481 }));
        assert!(gathered.is_empty());
    }
}
