//! Rows of steps: one for each lease, renewal and release.
//!
//! A value is `L`, `N` or `R`, item, due and serial (8 bytes each, little endian), the session with its length (1 byte), and the data of
//! the lease to the end.

use crate::reader::{Reader, write_session};
use crate::{Error, Lease};

/// What a step did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Lease,
    Renewal,
    Release,
}

/// A step as its row tells of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step<'r> {
    pub action: Action,
    /// When it happened.
    pub at: i64,
    pub item: i64,
    /// When the hold ends by this step.
    pub due: i64,
    pub serial: u64,
    pub session: Option<&'r [u8]>,
    /// What the caller has stored with the lease.
    pub data: &'r [u8],
}

impl Action {
    fn tag(self) -> u8 {
        match self {
            Action::Lease => b'L',
            Action::Renewal => b'N',
            Action::Release => b'R',
        }
    }

    /// Appends the value of the row of a step.
    pub fn write(self, lease: &Lease<'_>, data: &[u8], into: &mut Vec<u8>) {
        into.push(self.tag());
        into.extend_from_slice(&lease.item.to_le_bytes());
        into.extend_from_slice(&lease.due.to_le_bytes());
        into.extend_from_slice(&lease.serial.to_le_bytes());
        write_session(lease.session.as_deref(), into);
        into.extend_from_slice(data);
    }
}

impl<'r> Step<'r> {
    /// Reads a row.
    ///
    /// # Errors
    /// [`Error::InvalidRow`]
    pub fn read(at: i64, value: &'r [u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(value);
        let action = match reader.byte()? {
            b'L' => Action::Lease,
            b'N' => Action::Renewal,
            b'R' => Action::Release,
            _ => return Err(Error::InvalidRow { why: "its step is unknown" }),
        };
        let (item, due, serial) = (reader.signed()?, reader.signed()?, reader.number()?);
        Ok(Step { action, at, item, due, serial, session: reader.session()?, data: reader.rest() })
    }
}
