//! How an event lies in a segment: a word with length and checksum, then time, id, kind, stream and payload, padded to 8 bytes.
//!
//! The first word is written last; until then it says that the record is unfinished. So a process that is killed half-way leaves that mark, and a
//! zero is the end.

use std::borrow::Cow;
use std::sync::atomic::{Ordering, compiler_fence, fence};

use super::id::Id;

/// The longest name of a stream.
pub const STREAM_BYTES_MAX: usize = 255;
pub(super) const WORD_BYTES: usize = 8;
/// Time, id, kind and the length of the stream's name.
const FIXED_BYTES: usize = 8 + 16 + 1 + 1;
/// The first word of a record while it is written. No record is so long.
const UNFINISHED: u64 = u32::MAX as u64 | (u32::from_le_bytes(*b"open") as u64) << 32;

/// What a payload is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The text of a JSON value.
    Json,
    /// Bytes that mean something to their receiver alone.
    Bytes,
}

/// An event as it was accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// When it was accepted, in milliseconds since 1970.
    pub accepted_ms: u64,
    /// Unique; the same when the event comes again.
    pub id: Id,
    /// What the payload is.
    pub kind: Kind,
    /// Up to `STREAM_BYTES_MAX` bytes; empty when the event has no stream.
    pub stream: Cow<'a, [u8]>,
    /// The event itself.
    pub payload: Cow<'a, [u8]>,
}

/// What begins at a place of a segment.
pub(super) enum Parsed<'a> {
    /// A whole record and the bytes that it takes.
    Record(Record<'a>, usize),
    /// Nothing was written here.
    End,
    /// A record that a process began to write and did not finish. Nothing was written behind it.
    Unfinished,
    /// A record that takes so many bytes, more than were given.
    Longer(usize),
    /// Something that was not written so, which would take so many bytes.
    Damaged(usize),
}

/// The bytes that a record takes.
pub(super) fn size(stream_bytes: usize, payload_bytes: usize) -> usize {
    (WORD_BYTES + FIXED_BYTES + stream_bytes + payload_bytes).next_multiple_of(WORD_BYTES)
}

/// Writes a record to the start of `into`, which has room for it. The payload comes in pieces.
pub(super) fn write(into: &mut [u8], accepted_ms: u64, id: &Id, kind: Kind, stream: &[u8], payload: &[&[u8]]) {
    let (word, rest) = into.split_at_mut(WORD_BYTES);
    word.copy_from_slice(&UNFINISHED.to_le_bytes());
    // A process may be killed between any two stores.
    compiler_fence(Ordering::Release);
    let body_bytes = FIXED_BYTES + stream.len() + bytes_of(payload);
    let body = &mut rest[..body_bytes];
    body[..8].copy_from_slice(&accepted_ms.to_le_bytes());
    body[8..24].copy_from_slice(id);
    body[24] = match kind {
        Kind::Json => 0,
        Kind::Bytes => 1,
    };
    body[25] = stream.len() as u8;
    let (name, mut rest) = body[FIXED_BYTES..].split_at_mut(stream.len());
    name.copy_from_slice(stream);
    for piece in payload {
        let (place, after) = rest.split_at_mut(piece.len());
        place.copy_from_slice(piece);
        rest = after;
    }
    let check = crc32fast::hash(body);
    // Other processes read the file while it grows.
    fence(Ordering::Release);
    word.copy_from_slice(&(u64::from(check) << 32 | body_bytes as u64).to_le_bytes());
}

/// The bytes of a payload in pieces.
pub(super) fn bytes_of(payload: &[&[u8]]) -> usize {
    payload.iter().map(|piece| piece.len()).sum()
}

/// Reads what begins at the start of `bytes`.
pub(super) fn parse(bytes: &[u8]) -> Parsed<'_> {
    let Some((word, rest)) = bytes.split_first_chunk::<WORD_BYTES>() else { return Parsed::Longer(WORD_BYTES) };
    let word = u64::from_le_bytes(*word);
    let (body_bytes, check) = ((word & 0xffff_ffff) as usize, (word >> 32) as u32);
    match word {
        0 => return Parsed::End,
        UNFINISHED => return Parsed::Unfinished,
        _ => {}
    }
    let size = size(0, body_bytes.saturating_sub(FIXED_BYTES));
    let Some(padded) = rest.get(..size - WORD_BYTES) else { return Parsed::Longer(size) };
    let Some(record) = padded.get(..body_bytes).and_then(read_body) else { return Parsed::Damaged(size) };
    match crc32fast::hash(&padded[..body_bytes]) == check {
        true => Parsed::Record(record, size),
        false => Parsed::Damaged(size),
    }
}

fn read_body(body: &[u8]) -> Option<Record<'_>> {
    let (time, rest) = body.split_first_chunk::<8>()?;
    let (id, rest) = rest.split_first_chunk::<16>()?;
    let ([kind, stream_bytes], rest) = rest.split_first_chunk::<2>()?;
    let kind = match kind {
        0 => Kind::Json,
        1 => Kind::Bytes,
        _ => return None,
    };
    let (stream, payload) = rest.split_at_checked(usize::from(*stream_bytes))?;
    Some(Record { accepted_ms: u64::from_le_bytes(*time), id: *id, kind, stream: stream.into(), payload: payload.into() })
}

impl Record<'_> {
    /// The same record without the bytes that it was read from.
    pub fn into_owned(self) -> Record<'static> {
        Record {
            accepted_ms: self.accepted_ms,
            id: self.id,
            kind: self.kind,
            stream: self.stream.into_owned().into(),
            payload: self.payload.into_owned().into(),
        }
    }
}
