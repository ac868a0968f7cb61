//! Strict percent-decoding of URL text: a broken escape or text that is not UTF-8 is an error.

use std::borrow::Cow;
use std::fmt;

/// Why a piece of URL text cannot be decoded. Positions are byte offsets into the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeError {
    /// A `%` that is not followed by two hexadecimal digits.
    Escape { at: usize },
    /// The decoded bytes are not UTF-8.
    Utf8,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Escape { at } => write!(f, "the percent sign at byte {at} is not followed by two hexadecimal digits"),
            Self::Utf8 => write!(f, "the decoded text is not valid UTF-8"),
        }
    }
}

impl std::error::Error for DecodeError {}

/// What `+` means: itself in a path, a space in a query string or a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plus {
    Literal,
    Space,
}

/// Decodes `text`; borrows it if nothing needs decoding.
///
/// # Errors
/// [`DecodeError`] for a broken escape or a result that is not UTF-8.
pub fn decode(text: &[u8], plus: Plus) -> Result<Cow<'_, str>, DecodeError> {
    let special = |byte: &u8| *byte == b'%' || (plus == Plus::Space && *byte == b'+');
    let Some(first) = text.iter().position(special) else {
        return std::str::from_utf8(text).map(Cow::Borrowed).map_err(|_| DecodeError::Utf8);
    };
    let mut decoded = Vec::with_capacity(text.len());
    decoded.extend_from_slice(&text[..first]);
    let mut at = first;
    while at < text.len() {
        match text[at] {
            b'%' => {
                decoded.push(escaped_byte(text, at).ok_or(DecodeError::Escape { at })?);
                at += 3;
            }
            b'+' if plus == Plus::Space => {
                decoded.push(b' ');
                at += 1;
            }
            byte => {
                decoded.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8(decoded).map(Cow::Owned).map_err(|_| DecodeError::Utf8)
}

fn escaped_byte(text: &[u8], at: usize) -> Option<u8> {
    let high = hex_digit(*text.get(at + 1)?)?;
    let low = hex_digit(*text.get(at + 2)?)?;
    Some(high << 4 | low)
}

fn hex_digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_is_borrowed() {
        assert!(matches!(decode(b"abc", Plus::Space), Ok(Cow::Borrowed("abc"))));
        assert!(matches!(decode(b"a+b", Plus::Literal), Ok(Cow::Borrowed("a+b"))));
    }

    #[test]
    fn escapes_and_plus_are_decoded() {
        assert_eq!(decode(b"a+b%20c%2Fd", Plus::Space).as_deref(), Ok("a b c/d"));
        assert_eq!(decode(b"caf%c3%A9", Plus::Literal).as_deref(), Ok("caf\u{e9}"));
        assert_eq!(decode(b"%00", Plus::Literal).as_deref(), Ok("\0"));
    }

    #[test]
    fn broken_escapes_name_their_place() {
        for (text, at) in [("%", 0), ("a%2", 1), ("%41%zz", 3), ("%%41", 0), ("ab%+1", 2)] {
            assert_eq!(decode(text.as_bytes(), Plus::Space), Err(DecodeError::Escape { at }), "{text}");
        }
    }

    #[test]
    fn text_that_is_not_utf8_is_refused() {
        assert_eq!(decode(b"%ff", Plus::Literal), Err(DecodeError::Utf8));
        assert_eq!(decode(b"\xff", Plus::Literal), Err(DecodeError::Utf8));
        assert_eq!(decode(b"%ed%a0%80", Plus::Literal), Err(DecodeError::Utf8));
    }
}
