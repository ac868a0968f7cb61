//! A string as written in the text.

use std::borrow::Cow;

/// The checked text between the quotes of a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Raw<'t> {
    pub(crate) text: &'t str,
    pub(crate) is_escaped: bool,
}

impl<'t> Raw<'t> {
    /// The string's value. Borrowed unless it has escapes.
    #[inline]
    pub fn read(self) -> Cow<'t, str> {
        if self.is_escaped { Cow::Owned(self.unescaped()) } else { Cow::Borrowed(self.text) }
    }

    fn unescaped(self) -> String {
        let mut out = String::with_capacity(self.text.len());
        let mut rest = self.text;
        while let Some(at) = rest.find('\\') {
            out.push_str(&rest[..at]);
            let escape = rest.as_bytes().get(at + 1).copied().unwrap_or(b'\\');
            rest = rest.get(at + 2..).unwrap_or_default();
            out.push(match escape {
                b'b' => '\u{8}',
                b'f' => '\u{c}',
                b'n' => '\n',
                b'r' => '\r',
                b't' => '\t',
                b'u' => character(&mut rest),
                other => char::from(other),
            });
        }
        out.push_str(rest);
        out
    }
}

/// The character of `XXXX` or `XXXX\uXXXX` at the beginning of `rest`.
fn character(rest: &mut &str) -> char {
    let first = unit(rest, 0);
    *rest = rest.get(4..).unwrap_or_default();
    if !(0xd800..0xdc00).contains(&first) {
        return char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER);
    }
    let second = unit(rest, 2);
    *rest = rest.get(6..).unwrap_or_default();
    char::from_u32(0x10000 + ((first - 0xd800) << 10) + second.wrapping_sub(0xdc00)).unwrap_or(char::REPLACEMENT_CHARACTER)
}

fn unit(text: &str, at: usize) -> u32 {
    text.get(at..at + 4).and_then(|digits| u32::from_str_radix(digits, 16).ok()).unwrap_or(0)
}
