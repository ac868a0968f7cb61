//! The frames of a link, and their parser, which accepts bytes in any pieces.
//!
//! A frame is its length (4 bytes, little-endian like all numbers, without itself), its kind (1 byte), and:
//!
//! | kind | then |
//! |---|---|
//! | hello 0 | `ELAHLINK`, the protocol's version (2 bytes); on TCP then who says it (`hello.rs`) |
//! | call 1 | id (8), items (4), microseconds until its deadline (8), payload |
//! | reply 2 | id (8), items (4) to which it replies, payload |
//! | failure 3 | id (8), reason (1) |
//! | cancel 4 | id (8) |

use std::fmt;
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};

pub(crate) const VERSION: u16 = 1;

/// Whether the two ends understand each other: the later version speaks the earlier one, too, so that workers are replaced one by one.
pub(crate) fn is_understood(version: u16) -> bool {
    version.abs_diff(VERSION) <= 1
}

const MAGIC: &[u8; 8] = b"ELAHLINK";
const LENGTH_BYTES: usize = 4;
/// The most bytes between a frame's length and its payload.
const HEADER_BYTES: usize = 1 + 8 + 4 + 8;
/// The bytes of a frame from its kind to its id.
const NAME_BYTES: usize = 1 + 8;
/// The highest limit of payloads that a worker can have.
const PAYLOAD_BYTES_HIGHEST: usize = 256 * 1024 * 1024;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Frame {
    /// The first frame in both directions.
    Hello { version: u16, rest: Bytes },
    /// A call that expects replies to `items` items. Only the application knows the meaning of the payload.
    Call { id: u64, items: u32, remaining: Duration, payload: Bytes },
    /// Replies to `items` items of the call, which may get its replies in several parts.
    Reply { id: u64, items: u32, payload: Bytes },
    /// The call gets no reply.
    Failure { id: u64, reason: Reason },
    /// Nobody waits for the reply any more.
    Cancel { id: u64 },
    /// A call that is longer than this end allows. Its payload is skipped.
    LongCall { id: u64 },
    /// A reply that is longer than this end allows. Its payload is skipped.
    LongReply { id: u64 },
}

/// Why the worker at the other end does not reply to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// It has as many calls of this link as it may have. It has not run this one.
    Overloaded,
    /// It has run the call but dropped the reply, because too many bytes of replies are unread.
    Unread,
    /// It allows no call of this length. It has not run this one.
    TooLong,
}

/// Received bytes that are not a frame of a link.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Malformed {
    TooLong { bytes: usize, max: usize },
    TooShort { kind: u8 },
    UnknownKind(u8),
    UnknownReason(u8),
    NoHello,
    OtherVersion(u16),
    SecondHello,
    WrongDirection,
    NoItems,
    TooManyReplies,
    IdTaken,
}

impl fmt::Display for Malformed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Malformed::TooLong { bytes, max } => write!(formatter, "it sent a frame of {bytes} bytes, and {max} are allowed"),
            Malformed::TooShort { kind } => write!(formatter, "it sent a frame of kind {kind} that is too short"),
            Malformed::UnknownKind(kind) => write!(formatter, "it sent a frame of the unknown kind {kind}"),
            Malformed::UnknownReason(reason) => write!(formatter, "it gave the unknown reason {reason}"),
            Malformed::NoHello => formatter.write_str("it did not begin as a link of Elah does"),
            Malformed::OtherVersion(version) => write!(formatter, "it speaks version {version}, and this worker {VERSION}"),
            Malformed::SecondHello => formatter.write_str("it said hello twice"),
            Malformed::WrongDirection => formatter.write_str("it sent what only the other side sends"),
            Malformed::NoItems => formatter.write_str("it sent a call or a reply without items"),
            Malformed::TooManyReplies => formatter.write_str("it sent more replies than it got calls"),
            Malformed::IdTaken => formatter.write_str("it used the id of a call that is open"),
        }
    }
}

impl Frame {
    /// Appends the frame to `bytes`.
    #[cfg(test)]
    pub(crate) fn encode(&self, bytes: &mut Vec<u8>) {
        match self {
            Frame::Hello { version, rest } => hello(bytes, *version, rest),
            Frame::Call { id, items, remaining, payload } => call(bytes, *id, *items, *remaining, payload),
            Frame::Reply { id, items, payload } => reply(bytes, *id, *items, payload),
            Frame::Failure { id, reason } => failure(bytes, *id, *reason),
            Frame::Cancel { id } => cancel(bytes, *id),
            Frame::LongCall { id } => {
                begin(bytes, 1, 8);
                bytes.extend_from_slice(&id.to_le_bytes());
            }
            Frame::LongReply { id } => {
                begin(bytes, 2, 8);
                bytes.extend_from_slice(&id.to_le_bytes());
            }
        }
    }
}

pub(crate) fn hello(bytes: &mut Vec<u8>, version: u16, rest: &[u8]) {
    begin(bytes, 0, MAGIC.len() + 2 + rest.len());
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&version.to_le_bytes());
    bytes.extend_from_slice(rest);
}

pub(crate) fn call(bytes: &mut Vec<u8>, id: u64, items: u32, remaining: Duration, payload: &[u8]) {
    let micros = u64::try_from(remaining.as_micros()).unwrap_or(u64::MAX);
    begin(bytes, 1, 20 + payload.len());
    bytes.extend_from_slice(&id.to_le_bytes());
    bytes.extend_from_slice(&items.to_le_bytes());
    bytes.extend_from_slice(&micros.to_le_bytes());
    bytes.extend_from_slice(payload);
}

pub(crate) fn reply(bytes: &mut Vec<u8>, id: u64, items: u32, payload: &[u8]) {
    begin(bytes, 2, 12 + payload.len());
    bytes.extend_from_slice(&id.to_le_bytes());
    bytes.extend_from_slice(&items.to_le_bytes());
    bytes.extend_from_slice(payload);
}

pub(crate) fn failure(bytes: &mut Vec<u8>, id: u64, reason: Reason) {
    begin(bytes, 3, 9);
    bytes.extend_from_slice(&id.to_le_bytes());
    bytes.push(match reason {
        Reason::Overloaded => 1,
        Reason::Unread => 2,
        Reason::TooLong => 3,
    });
}

pub(crate) fn cancel(bytes: &mut Vec<u8>, id: u64) {
    begin(bytes, 4, 8);
    bytes.extend_from_slice(&id.to_le_bytes());
}

/// The limits of payloads keep the length far below 4 bytes.
fn begin(bytes: &mut Vec<u8>, kind: u8, length: usize) {
    bytes.extend_from_slice(&u32::try_from(1 + length).unwrap_or(u32::MAX).to_le_bytes());
    bytes.push(kind);
}

/// Removes the first frame from `incoming`; `None` if it is not complete. Payloads share the memory of `incoming`. Of a call or a reply
/// that is too long only the id is read: the other end may have a higher limit, and other calls. `to_skip`, at first 0, counts what has
/// not arrived of it.
pub(crate) fn take(incoming: &mut BytesMut, to_skip: &mut usize, payload_bytes_max: usize) -> Result<Option<Frame>, Malformed> {
    skip(incoming, to_skip);
    let Some(length) = length(incoming) else { return Ok(None) };
    let max = HEADER_BYTES + payload_bytes_max;
    if length > max {
        let refused = Malformed::TooLong { bytes: length, max };
        let is_possible = length <= HEADER_BYTES + PAYLOAD_BYTES_HIGHEST;
        return match incoming.get(LENGTH_BYTES).copied() {
            None | Some(1 | 2) if is_possible && incoming.len() < LENGTH_BYTES + NAME_BYTES => Ok(None),
            Some(kind @ (1 | 2)) if is_possible => {
                let is_call = kind == 1;
                incoming.advance(LENGTH_BYTES + 1);
                let id = incoming.get_u64_le();
                *to_skip = length - NAME_BYTES;
                skip(incoming, to_skip);
                Ok(Some(if is_call { Frame::LongCall { id } } else { Frame::LongReply { id } }))
            }
            _ => Err(refused),
        };
    }
    if incoming.len() < LENGTH_BYTES + length {
        return Ok(None);
    }
    incoming.advance(LENGTH_BYTES);
    let mut rest = incoming.split_to(length).freeze();
    let kind = rest.try_get_u8().map_err(|_| Malformed::UnknownKind(0))?;
    read(kind, rest).map(Some)
}

fn skip(incoming: &mut BytesMut, to_skip: &mut usize) {
    let here = incoming.len().min(*to_skip);
    incoming.advance(here);
    *to_skip -= here;
}

/// How many bytes the frame at the front of `incoming` still lacks, if known.
pub(crate) fn missing_bytes(incoming: &BytesMut) -> usize {
    length(incoming).map_or(0, |length| (LENGTH_BYTES + length).saturating_sub(incoming.len()))
}

fn length(incoming: &BytesMut) -> Option<usize> {
    incoming.first_chunk().map(|length: &[u8; LENGTH_BYTES]| u32::from_le_bytes(*length) as usize)
}

fn read(kind: u8, mut rest: Bytes) -> Result<Frame, Malformed> {
    let too_short = |_| Malformed::TooShort { kind };
    if kind == 0 {
        if !rest.starts_with(MAGIC) {
            return Err(Malformed::NoHello);
        }
        rest.advance(MAGIC.len());
        return Ok(Frame::Hello { version: rest.try_get_u16_le().map_err(too_short)?, rest });
    }
    if kind > 4 {
        return Err(Malformed::UnknownKind(kind));
    }
    let id = rest.try_get_u64_le().map_err(too_short)?;
    Ok(match kind {
        1 => {
            let items = rest.try_get_u32_le().map_err(too_short)?;
            let remaining = Duration::from_micros(rest.try_get_u64_le().map_err(too_short)?);
            Frame::Call { id, items: some(items)?, remaining, payload: rest }
        }
        2 => Frame::Reply { id, items: some(rest.try_get_u32_le().map_err(too_short)?)?, payload: rest },
        3 => Frame::Failure {
            id,
            reason: match rest.try_get_u8().map_err(too_short)? {
                1 => Reason::Overloaded,
                2 => Reason::Unread,
                3 => Reason::TooLong,
                other => return Err(Malformed::UnknownReason(other)),
            },
        },
        _ => Frame::Cancel { id },
    })
}

fn some(items: u32) -> Result<u32, Malformed> {
    if items == 0 { Err(Malformed::NoItems) } else { Ok(items) }
}

#[cfg(test)]
mod tests;
