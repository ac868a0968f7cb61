//! The layout of an event in a segment: a word with length and checksum, then time, ID, kind, stream and payload, padded to 8
//! bytes.
//!
//! The first word is written last; until then it marks the record as unfinished. So a process that is killed in the middle leaves
//! that mark, and a zero means the end.

use std::borrow::Cow;
use std::sync::atomic::{Ordering, compiler_fence, fence};

use super::id::Id;

/// The longest name of a stream.
pub const STREAM_BYTES_MAX: usize = 255;
pub(super) const WORD_BYTES: usize = 8;
/// Time, id, kind and the length of the stream's name.
const FIXED_BYTES: usize = 8 + 16 + 1 + 1;
/// The first word of a record while it is written. No record has this length.
const UNFINISHED: u64 = u32::MAX as u64 | (u32::from_le_bytes(*b"open") as u64) << 32;

/// The kind of a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The text of a JSON value.
    Json,
    /// Bytes with a meaning to their receiver only.
    Bytes,
}

/// An accepted event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// When it was accepted, in milliseconds since 1970.
    pub accepted_ms: u64,
    /// Unique; the same if the event is repeated.
    pub id: Id,
    /// What the payload is.
    pub kind: Kind,
    /// Up to `STREAM_BYTES_MAX` bytes; empty if the event has no stream.
    pub stream: Cow<'a, [u8]>,
    /// The event itself.
    pub payload: Cow<'a, [u8]>,
}

/// The content at a place of a segment.
pub(super) enum Parsed<'a> {
    /// A complete record and its size in bytes.
    Record(Record<'a>, usize),
    /// Nothing was written here.
    End,
    /// A record that a process did not finish. Nothing follows it.
    Unfinished,
    /// A record of this many bytes, more than were passed.
    Longer(usize),
    /// Damaged bytes, which would have this length.
    Damaged(usize),
}

/// The size of a record in bytes.
pub(super) fn size(stream_bytes: usize, payload_bytes: usize) -> usize {
    (WORD_BYTES + FIXED_BYTES + stream_bytes + payload_bytes).next_multiple_of(WORD_BYTES)
}

/// Writes a record to the start of `into`, which has room for it. The payload consists of pieces.
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

/// The total size of the pieces of a payload.
pub(super) fn bytes_of(payload: &[&[u8]]) -> usize {
    payload.iter().map(|piece| piece.len()).sum()
}

/// Parses the start of `bytes`.
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
    /// An owned copy of the record.
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
