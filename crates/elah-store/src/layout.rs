//! How keys and values lie in LMDB. All tables share its one tree; the first two bytes of a key say whose it is.
//!
//! | first bytes | rest of the key | value |
//! |---|---|---|
//! | 0, 0 | `format` | see [`format`](super::format) |
//! | 0, 0 | `version` | the version of Elah that has given the file its format |
//! | 0, 0 | `identity` | a random number, by which a journal names the file; absent in the first files of format 1 |
//! | 0, 1 | kind, name | table id, number of entries |
//! | 0, 2 | file name of a journal | the last generation that has been folded in |
//! | 0, 3 | time of expiry (big endian), table id, key | nothing |
//! | 0, 4 | shard | its epoch and owner, see [`claim`](super::claim) |
//! | 0, 5 | | the number of shards |
//! | 0, 6 | | the number of takeovers |
//! | 0, 7 | number | never committed, see [`engine`](super::engine) |
//! | table id >= 16 | key | table: a tag, the time of expiry if there is one, the bytes; counter: the count |

use super::bounds::{KEY_BYTES_MAX, VALUE_BYTES_MAX};
use super::error::Error;

pub(super) const FORMAT_KEY: &[u8] = b"\0\0format";
pub(super) const VERSION_KEY: &[u8] = b"\0\0version";
pub(super) const IDENTITY_KEY: &[u8] = b"\0\0identity";
pub(super) const TABLES: [u8; 2] = [0, 1];
pub(super) const JOURNALS: [u8; 2] = [0, 2];
pub(super) const EXPIRIES: [u8; 2] = [0, 3];
pub(super) const CLAIMS: [u8; 2] = [0, 4];
pub(super) const SHARDS: [u8; 2] = [0, 5];
pub(super) const TAKEOVERS: [u8; 2] = [0, 6];
pub(super) const PROBE: [u8; 2] = [0, 7];
const FIRST_TABLE: u16 = 16;

/// Identifies a table inside the file. IDs are never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct TableId(pub(super) u16);

impl TableId {
    pub(super) fn first() -> Self {
        TableId(FIRST_TABLE)
    }

    pub(super) fn next(self) -> Self {
        TableId(self.0 + 1)
    }
}

/// Tables hold bytes, counters hold integers; each kind has its own names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Table,
    Counter,
}

impl Kind {
    pub(super) fn tag(self) -> u8 {
        match self {
            Kind::Table => b't',
            Kind::Counter => b'c',
        }
    }
}

/// A key in LMDB, on the stack: two bytes of table ID, then the caller's key.
pub(super) struct FullKey {
    bytes: [u8; 2 + KEY_BYTES_MAX],
    len: usize,
}

impl FullKey {
    pub(super) fn new(table: TableId, key: &[u8]) -> Result<Self, Error> {
        check_key(key)?;
        let mut bytes = [0; 2 + KEY_BYTES_MAX];
        bytes[..2].copy_from_slice(&table.0.to_be_bytes());
        bytes[2..2 + key.len()].copy_from_slice(key);
        Ok(FullKey { bytes, len: 2 + key.len() })
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

pub(super) fn check_key(key: &[u8]) -> Result<(), Error> {
    if key.is_empty() || key.len() > KEY_BYTES_MAX {
        return Err(Error::InvalidKey { bytes: key.len() });
    }
    Ok(())
}

pub(super) fn check_value(value: &[u8]) -> Result<(), Error> {
    check_value_bytes(value.len())
}

pub(super) fn check_value_bytes(bytes: usize) -> Result<(), Error> {
    if bytes > VALUE_BYTES_MAX { Err(Error::ValueTooLong { bytes }) } else { Ok(()) }
}

pub(super) fn table_key(kind: Kind, name: &str) -> Vec<u8> {
    [&TABLES, &[kind.tag()][..], name.as_bytes()].concat()
}

/// The ID and the number of entries in a table's row.
pub(super) fn table_row(row: &[u8]) -> Option<(TableId, u64)> {
    let (id, count) = row.split_first_chunk::<2>()?;
    Some((TableId(u16::from_be_bytes(*id)), u64::from_le_bytes(count.try_into().ok()?)))
}

pub(super) fn encode_table_row(id: TableId, count: u64) -> [u8; 10] {
    let mut row = [0; 10];
    row[..2].copy_from_slice(&id.0.to_be_bytes());
    row[2..].copy_from_slice(&count.to_le_bytes());
    row
}

pub(super) fn journal_key(name: &str) -> Vec<u8> {
    [&JOURNALS, name.as_bytes()].concat()
}

pub(super) fn expiry_key(expires_at_ms: u64, table: TableId, key: &[u8]) -> Vec<u8> {
    [&EXPIRIES, &expires_at_ms.to_be_bytes()[..], &table.0.to_be_bytes(), key].concat()
}

/// The time, table and key of an entry of the expiry index.
pub(super) fn expiry_entry(entry: &[u8]) -> Option<(u64, TableId, &[u8])> {
    let (expires_at_ms, rest) = entry.strip_prefix(&EXPIRIES)?.split_first_chunk::<8>()?;
    let (table, key) = rest.split_first_chunk::<2>()?;
    Some((u64::from_be_bytes(*expires_at_ms), TableId(u16::from_be_bytes(*table)), key))
}

const PLAIN: u8 = 0;
const EXPIRING: u8 = 1;

/// A table's value with its expiry, in milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Value<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) expires_at_ms: Option<u64>,
}

impl<'a> Value<'a> {
    pub(super) fn decode(stored: &'a [u8]) -> Result<Self, Error> {
        let damaged = || Error::Failed { why: "a stored value has no valid header".to_owned() };
        match stored.split_first().ok_or_else(damaged)? {
            (&PLAIN, bytes) => Ok(Value { bytes, expires_at_ms: None }),
            (&EXPIRING, rest) => {
                let (time, bytes) = rest.split_first_chunk::<8>().ok_or_else(damaged)?;
                Ok(Value { bytes, expires_at_ms: Some(u64::from_le_bytes(*time)) })
            }
            _ => Err(damaged()),
        }
    }

    pub(super) fn encode(self) -> Vec<u8> {
        let mut stored = Vec::new();
        self.encode_into(&mut stored);
        stored
    }

    /// Like `encode`, into a reused buffer.
    pub(super) fn encode_into(self, stored: &mut Vec<u8>) {
        stored.clear();
        stored.reserve(9 + self.bytes.len());
        match self.expires_at_ms {
            None => stored.push(PLAIN),
            Some(time) => {
                stored.push(EXPIRING);
                stored.extend_from_slice(&time.to_le_bytes());
            }
        }
        stored.extend_from_slice(self.bytes);
    }

    pub(super) fn is_expired(&self, now_ms: u64) -> bool {
        self.expires_at_ms.is_some_and(|time| time <= now_ms)
    }
}

pub(super) fn decode_count(stored: &[u8]) -> Result<i64, Error> {
    let bytes = stored
        .try_into()
        .map_err(|_| Error::Failed { why: format!("a stored count has {} bytes instead of 8", stored.len()) })?;
    Ok(i64::from_le_bytes(bytes))
}
