//! The parser of replies, in both versions of the protocol, RESP2 and RESP3.

use std::fmt;

use bytes::Bytes;

use crate::redis::error::Refusal;

/// Received bytes that are not a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Malformed(pub(crate) String);

impl fmt::Display for Malformed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "what came is not the protocol of Redis: {}", self.0)
    }
}

/// No valid line is longer; the length of a text precedes it.
const LINE_BYTES_MAX: usize = 64 * 1024;
/// The longest text that Redis stores.
const TEXT_BYTES_MAX: u64 = 512 * 1024 * 1024;
/// Longer arrays count as a broken stream.
const ENTRIES_MAX: u64 = 1 << 28;

/// Finds the end of replies. It continues where it stopped, so a long reply that arrives in pieces is scanned once.
#[derive(Debug, Default)]
pub(crate) struct Framer {
    /// Number of values still expected; 0 between replies.
    values: u64,
    /// How far the bytes of the current replies have been scanned.
    at: usize,
}

impl Framer {
    pub(crate) fn is_between(&self) -> bool {
        self.values == 0
    }

    /// Expects this many values in a row.
    pub(crate) fn expect(&mut self, values: u32) {
        self.values = u64::from(values);
        self.at = 0;
    }

    /// The length of the expected replies when all of them are in `bytes`, which begin with the first one.
    pub(crate) fn end(&mut self, bytes: &[u8]) -> Result<Option<usize>, Malformed> {
        while self.values > 0 {
            let Some(item) = next_header(bytes, self.at)? else { return Ok(None) };
            let end = item.at + item.text.map_or(0, |len| len + 2);
            if end > bytes.len() {
                return Ok(None);
            }
            self.at = end;
            self.values = self.values - 1 + item.values;
        }
        Ok(Some(self.at))
    }
}

struct Header<'a> {
    kind: u8,
    line: &'a [u8],
    /// The position after the line.
    at: usize,
    /// The length of the text that follows.
    text: Option<usize>,
    /// The number of values that follow as parts of this one.
    values: u64,
}

fn next_header(bytes: &[u8], at: usize) -> Result<Option<Header<'_>>, Malformed> {
    let rest = &bytes[at..];
    let Some(&kind) = rest.first() else { return Ok(None) };
    let Some(end) = rest.iter().position(|byte| *byte == b'\n') else {
        return if rest.len() > LINE_BYTES_MAX { Err(Malformed("a line without an end".to_owned())) } else { Ok(None) };
    };
    if end < 2 || rest[end - 1] != b'\r' {
        return Err(Malformed(format!("a line that begins with {:?}", char::from(kind))));
    }
    let line = &rest[1..end - 1];
    let mut header = Header { kind, line, at: at + end + 1, text: None, values: 0 };
    match kind {
        b'+' | b'-' | b':' | b',' | b'#' | b'(' | b'_' => {}
        b'$' | b'=' | b'!' => header.text = length(line, TEXT_BYTES_MAX)?.map(|len| len as usize),
        b'*' | b'~' | b'>' => header.values = length(line, ENTRIES_MAX)?.unwrap_or(0),
        b'%' => header.values = 2 * length(line, ENTRIES_MAX)?.unwrap_or(0),
        // An attribute is a value of its own, and so is the value that it describes.
        b'|' => header.values = 2 * length(line, ENTRIES_MAX)?.unwrap_or(0) + 1,
        _ => return Err(Malformed(format!("a value of the kind {:?}", char::from(kind)))),
    }
    Ok(Some(header))
}

/// A length, or `None` for -1, which means nil.
fn length(line: &[u8], max: u64) -> Result<Option<u64>, Malformed> {
    if line == b"-1" {
        return Ok(None);
    }
    match number(line) {
        Some(len) if (0..=max as i64).contains(&len) => Ok(Some(len as u64)),
        _ => Err(Malformed("a length that is not a number, or is too large".to_owned())),
    }
}

fn number(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// One element of a reply. An aggregate has the number of the items that follow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Item<'a> {
    Nil,
    Text(&'a [u8]),
    Integer(i64),
    /// The decimal digits of a number beyond 64 bits.
    BigInteger(&'a [u8]),
    Float(f64),
    Boolean(bool),
    /// An error of the server, such as `WRONGTYPE Operation against ...`.
    Refusal(&'a [u8]),
    /// An array of this many items, which follow.
    Array(usize),
    /// A map of this many pairs of items, which follow.
    Map(usize),
}

/// The complete replies to some commands.
#[derive(Debug, Clone)]
pub struct Replies {
    bytes: Bytes,
    at: usize,
}

impl Replies {
    /// `bytes` are complete replies, as found by a `Framer`.
    pub(crate) fn new(bytes: Bytes) -> Self {
        Replies { bytes, at: 0 }
    }

    /// The next item; nil after the last one.
    pub fn next_item(&mut self) -> Item<'_> {
        self.skip_attributes();
        let Ok(Some(header)) = next_header(&self.bytes, self.at) else { return Item::Nil };
        self.at = header.at + header.text.map_or(0, |len| len + 2);
        let text = header.text.and_then(|len| self.bytes.get(header.at..header.at + len));
        let line = header.line;
        match header.kind {
            b'$' => text.map_or(Item::Nil, Item::Text),
            // Three letters and a colon name the format of the text.
            b'=' => text.map_or(Item::Nil, |text| Item::Text(text.get(4..).unwrap_or(text))),
            b'!' => Item::Refusal(text.unwrap_or_default()),
            b'+' => Item::Text(line),
            b'-' => Item::Refusal(line),
            b':' => number(line).map_or(Item::BigInteger(line), Item::Integer),
            b'(' => Item::BigInteger(line),
            b',' => Item::Float(std::str::from_utf8(line).ok().and_then(|text| text.parse().ok()).unwrap_or(f64::NAN)),
            b'#' => Item::Boolean(line == b"t"),
            b'*' | b'~' | b'>' if line != b"-1" => Item::Array(header.values as usize),
            b'%' => Item::Map(header.values as usize / 2),
            _ => Item::Nil,
        }
    }

    /// Skips the replies before the results of a transaction with this many commands. The replies to `MULTI` and to each command
    /// come first; the first error among them is the reason for missing results.
    pub fn enter_transaction(&mut self, commands: u32) -> Result<(), Refusal> {
        let mut refusal = None;
        for _ in 0..=commands {
            if let Item::Refusal(line) = self.next_item() {
                refusal = refusal.or_else(|| Some(Refusal::new(line)));
            }
        }
        refusal.map_or(Ok(()), Err)
    }

    /// The bytes of the next replies, as many as given.
    pub(crate) fn take(&mut self, replies: u32) -> Bytes {
        let from = self.at;
        (0..replies).for_each(|_| self.skip());
        self.bytes.slice(from..self.at)
    }

    /// Skips the next item with all its parts.
    pub fn skip(&mut self) {
        let parts = match self.next_item() {
            Item::Array(len) => len,
            Item::Map(pairs) => pairs * 2,
            _ => 0,
        };
        (0..parts).for_each(|_| self.skip());
    }

    /// Skips the attributes of the next value.
    fn skip_attributes(&mut self) {
        while self.bytes.get(self.at) == Some(&b'|') {
            let Ok(Some(header)) = next_header(&self.bytes, self.at) else { return };
            let values = header.values;
            self.at = header.at;
            (1..values).for_each(|_| self.skip());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(bytes: &[u8], values: u32) -> Result<Option<usize>, Malformed> {
        let mut framer = Framer::default();
        framer.expect(values);
        framer.end(bytes)
    }

    const MIXED: &[u8] = b"*3\r\n$3\r\na\nb\r\n%1\r\n+k\r\n:-7\r\n*-1\r\n$-1\r\n,1.5\r\n#t\r\n(123456789012345678901\r\n_\r\n=5\r\ntxt:x\r\n!5\r\nERR x\r\n";

    #[test]
    fn replies_end_where_they_end_however_they_come() {
        assert_eq!(end(MIXED, 8), Ok(Some(MIXED.len())));
        let mut framer = Framer::default();
        framer.expect(8);
        for len in 0..MIXED.len() {
            assert_eq!(framer.end(&MIXED[..len]), Ok(None), "after {len} bytes");
        }
        assert_eq!(framer.end(MIXED), Ok(Some(MIXED.len())));
        assert!(framer.is_between());
    }

    #[test]
    fn what_follows_is_left_alone() {
        assert_eq!(end(b"+OK\r\n+NEXT\r\n", 1), Ok(Some(5)));
        assert_eq!(end(b"|1\r\n+ttl\r\n:3\r\n$1\r\nx\r\n+NEXT\r\n", 1), Ok(Some(21)));
    }

    #[test]
    fn replies_are_read_item_by_item() {
        let mut replies = Replies::new(Bytes::from_static(MIXED));
        let expected = [
            Item::Array(3),
            Item::Text(b"a\nb"),
            Item::Map(1),
            Item::Text(b"k"),
            Item::Integer(-7),
            Item::Nil,
            Item::Nil,
            Item::Float(1.5),
            Item::Boolean(true),
            Item::BigInteger(b"123456789012345678901"),
            Item::Nil,
            Item::Text(b"x"),
            Item::Refusal(b"ERR x"),
            Item::Nil,
        ];
        for item in expected {
            assert_eq!(replies.next_item(), item);
        }
    }

    #[test]
    fn what_is_skipped_or_taken_is_whole() {
        let mut replies = Replies::new(Bytes::from_static(b"*2\r\n*1\r\n:1\r\n:2\r\n|1\r\n+a\r\n+b\r\n:3\r\n"));
        assert_eq!(replies.clone().take(2), b"*2\r\n*1\r\n:1\r\n:2\r\n|1\r\n+a\r\n+b\r\n:3\r\n".as_slice());
        replies.skip();
        assert_eq!(replies.next_item(), Item::Integer(3));
    }

    #[test]
    fn what_is_no_reply_is_refused() {
        for bytes in [b"HTTP/1.1 400 Bad Request\r\n".as_slice(), b"$-2\r\n", b"$99999999999\r\n", b"*x\r\n", b"+OK\n", b"\n"] {
            assert!(end(bytes, 1).is_err(), "{:?}", String::from_utf8_lossy(bytes));
        }
        assert!(end(&[b'+'; LINE_BYTES_MAX + 2], 1).is_err());
    }
}
