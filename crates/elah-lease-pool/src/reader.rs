//! Reads the fields of a row, and refuses a row that ends too soon.

use crate::Error;

pub(crate) struct Reader<'r> {
    rest: &'r [u8],
}

impl<'r> Reader<'r> {
    pub(crate) fn new(row: &'r [u8]) -> Self {
        Reader { rest: row }
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Result<&'r [u8], Error> {
        let (bytes, rest) = self.rest.split_at_checked(count).ok_or(Error::InvalidRow { why: "it ends too soon" })?;
        self.rest = rest;
        Ok(bytes)
    }

    pub(crate) fn byte(&mut self) -> Result<u8, Error> {
        self.bytes(1).map(|bytes| bytes[0])
    }

    pub(crate) fn number(&mut self) -> Result<u64, Error> {
        let bytes = self.bytes(8)?;
        Ok(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// A number that fits a time or an item.
    pub(crate) fn signed(&mut self) -> Result<i64, Error> {
        i64::try_from(self.number()?).map_err(|_| Error::InvalidRow { why: "a number is too large" })
    }

    /// A session, or nothing for one of no bytes.
    pub(crate) fn session(&mut self) -> Result<Option<&'r [u8]>, Error> {
        let length = self.byte()?;
        self.bytes(length.into()).map(|session| (!session.is_empty()).then_some(session))
    }

    pub(crate) fn rest(self) -> &'r [u8] {
        self.rest
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }
}

/// Appends a session with its length.
pub(crate) fn write_session(session: Option<&[u8]>, into: &mut Vec<u8>) {
    let session = session.unwrap_or_default();
    into.push(session.len() as u8);
    into.extend_from_slice(session);
}
