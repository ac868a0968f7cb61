//! Keys of the rows of a pool: ordered by the time of the step.
//!
//! A key is the length of the prefix (1 byte), the prefix, `s` for a step or `t` for a snapshot, and the time (8 bytes, big endian).

use crate::Error;

/// Bytes of a prefix, the name of a pool among others in the same table.
pub const PREFIX_BYTES_MAX: usize = 255;
const TIME_BYTES: usize = 8;

/// What a row holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Step,
    Snapshot,
}

impl Kind {
    fn tag(self) -> u8 {
        match self {
            Kind::Step => b's',
            Kind::Snapshot => b't',
        }
    }
}

/// Writes and reads the keys of one pool's rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    head: Vec<u8>,
}

impl Key {
    /// Keys under a prefix.
    ///
    /// # Errors
    /// [`Error::PrefixTooLong`]
    pub fn new(prefix: &[u8]) -> Result<Self, Error> {
        let length = u8::try_from(prefix.len()).map_err(|_| Error::PrefixTooLong { bytes: prefix.len() })?;
        Ok(Key { head: [&[length], prefix].concat() })
    }

    /// Appends the key of a row.
    pub fn write(&self, kind: Kind, time: i64, into: &mut Vec<u8>) {
        into.extend_from_slice(&self.head);
        into.push(kind.tag());
        into.extend_from_slice(&(time.max(0) as u64).to_be_bytes());
    }

    /// The key of a row.
    pub fn of(&self, kind: Kind, time: i64) -> Vec<u8> {
        let mut key = Vec::with_capacity(self.head.len() + 1 + TIME_BYTES);
        self.write(kind, time, &mut key);
        key
    }

    /// What the keys of all rows of a kind begin with.
    pub fn prefix(&self, kind: Kind) -> Vec<u8> {
        [&self.head[..], &[kind.tag()]].concat()
    }

    /// The time in a key of this pool.
    ///
    /// # Errors
    /// [`Error::InvalidRow`]
    pub fn time(&self, key: &[u8]) -> Result<i64, Error> {
        let time = key.strip_prefix(&self.head[..]).and_then(|rest| rest.get(1..)).and_then(|time| time.try_into().ok());
        let time = time.map(u64::from_be_bytes).and_then(|time| i64::try_from(time).ok());
        time.ok_or(Error::InvalidRow { why: "its key has no time" })
    }
}
