//! Percent escapes in the parts of a URL.

use std::string::FromUtf8Error;

/// A part of a URL without its percent escapes.
pub(crate) fn decoded(part: &str) -> Result<String, FromUtf8Error> {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let escaped = (first == b'%').then(|| after.get(..2)).flatten();
        let code =
            escaped.and_then(|digits| std::str::from_utf8(digits).ok()).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        (rest, _) = match code {
            Some(byte) => (&after[2..], bytes.push(byte)),
            None => (after, bytes.push(first)),
        };
    }
    String::from_utf8(bytes)
}
