//! The place and reason of a fault in a text that is not JSON.

use std::fmt;

/// Why a text is not JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    ExpectedValue,
    ExpectedName,
    ExpectedColon,
    ExpectedElementEnd,
    ExpectedMemberEnd,
    TrailingComma,
    TrailingCharacters,
    ExpectedWord,
    InvalidNumber,
    NumberOutOfRange,
    InvalidEscape,
    ControlCharacter,
    LoneSurrogate,
    TooDeep,
    EndInValue,
    EndInString,
    EndInArray,
    EndInObject,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::ExpectedValue => "expected value",
            Reason::ExpectedName => "key must be a string",
            Reason::ExpectedColon => "expected `:`",
            Reason::ExpectedElementEnd => "expected `,` or `]`",
            Reason::ExpectedMemberEnd => "expected `,` or `}`",
            Reason::TrailingComma => "trailing comma",
            Reason::TrailingCharacters => "trailing characters",
            Reason::ExpectedWord => "expected ident",
            Reason::InvalidNumber => "invalid number",
            Reason::NumberOutOfRange => "number out of range",
            Reason::InvalidEscape => "invalid escape",
            Reason::ControlCharacter => "control character (\\u0000-\\u001F) found while parsing a string",
            Reason::LoneSurrogate => "lone surrogate in hex escape",
            Reason::TooDeep => "nested too deep",
            Reason::EndInValue => "EOF while parsing a value",
            Reason::EndInString => "EOF while parsing a string",
            Reason::EndInArray => "EOF while parsing a list",
            Reason::EndInObject => "EOF while parsing an object",
        })
    }
}

/// A reason, and the offset of its cause in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    pub reason: Reason,
    pub at: usize,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.reason, self.at)
    }
}

impl std::error::Error for Fault {}

/// The line, counted from 1, and the column of the byte at offset `at`: the number of bytes of its line up to it, itself
/// included. For an offset after the end, the place of the last byte.
pub fn place(text: &str, at: usize) -> (usize, usize) {
    let before = &text.as_bytes()[..text.len().min(at + 1)];
    let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    (1 + before.iter().filter(|byte| **byte == b'\n').count(), before.len() - line_start)
}
