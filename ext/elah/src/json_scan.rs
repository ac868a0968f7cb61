//! Walks over the text of JSON in one pass, as strictly as `Elah::JSON.parse`, and makes nothing of it. What only a closer look can judge is
//! left to that.

use std::borrow::Cow;

/// Deeper ones are left to `Elah::JSON.parse`, which allows 100 levels, the list among them.
const DEPTH_MAX: usize = 98;
/// No shorter number without an exponent is too large for a float.
const DIGITS_MAX: usize = 300;

/// Walks over a text. Every step answers `None` where the text is not what it looks for.
pub(crate) struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

/// A text as it was sent, without its quotes.
pub(crate) struct Raw<'a> {
    text: &'a str,
    is_escaped: bool,
}

impl<'a> Raw<'a> {
    /// What it says.
    #[inline]
    pub(crate) fn read(self) -> Option<Cow<'a, str>> {
        if !self.is_escaped {
            return Some(Cow::Borrowed(self.text));
        }
        serde_json::from_str(&format!("\"{}\"", self.text)).ok().map(Cow::Owned)
    }
}

impl<'a> Scanner<'a> {
    #[inline]
    pub(crate) fn new(text: &'a str) -> Self {
        Scanner { text, at: 0 }
    }

    /// Where it stands in the text.
    #[inline]
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// Nothing but blanks are left.
    pub(crate) fn end(&mut self) -> Option<()> {
        self.skip_blanks();
        self.peek().is_none().then_some(())
    }

    #[inline]
    pub(crate) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    #[inline]
    pub(crate) fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    #[inline]
    pub(crate) fn take(&mut self, byte: u8) -> Option<()> {
        (self.next()? == byte).then_some(())
    }

    /// Whether a line ended among them.
    #[inline]
    pub(crate) fn skip_blanks(&mut self) -> bool {
        let mut has_line_break = false;
        while let Some(byte @ (b' ' | b'\t' | b'\n' | b'\r')) = self.peek() {
            has_line_break |= byte == b'\n';
            self.at += 1;
        }
        has_line_break
    }

    /// An object; `each` is given the name of each member and walks over its value.
    pub(crate) fn members(&mut self, mut each: impl FnMut(&mut Self, Raw<'a>) -> Option<()>) -> Option<()> {
        self.take(b'{')?;
        self.skip_blanks();
        if self.peek()? == b'}' {
            return self.take(b'}');
        }
        loop {
            let name = self.string()?;
            self.skip_blanks();
            self.take(b':')?;
            self.skip_blanks();
            each(self, name)?;
            self.skip_blanks();
            match self.next()? {
                b',' => self.skip_blanks(),
                b'}' => return Some(()),
                _ => return None,
            };
        }
    }

    #[inline]
    fn elements(&mut self, depth: usize) -> Option<()> {
        self.take(b'[')?;
        self.skip_blanks();
        if self.peek()? == b']' {
            return self.take(b']');
        }
        loop {
            self.value(depth)?;
            self.skip_blanks();
            match self.next()? {
                b',' => self.skip_blanks(),
                b']' => return Some(()),
                _ => return None,
            };
        }
    }

    /// Any value inside of `depth` others.
    #[inline]
    pub(crate) fn value(&mut self, depth: usize) -> Option<()> {
        match self.peek()? {
            b'"' => self.string().map(drop),
            b'{' if depth < DEPTH_MAX => self.members(|scanner, _| scanner.value(depth + 1)),
            b'[' if depth < DEPTH_MAX => self.elements(depth + 1),
            b't' => self.word("true"),
            b'f' => self.word("false"),
            b'n' => self.word("null"),
            b'-' | b'0'..=b'9' => self.number(),
            _ => None,
        }
    }

    #[inline]
    fn word(&mut self, word: &str) -> Option<()> {
        let is_there = self.text.as_bytes()[self.at..].starts_with(word.as_bytes());
        self.at += word.len();
        is_there.then_some(())
    }

    #[inline]
    fn number(&mut self) -> Option<()> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek()? == b'0' {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        let has_exponent = matches!(self.peek(), Some(b'e' | b'E'));
        if has_exponent {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        let number = &self.text[start..self.at];
        let is_short = !has_exponent && number.len() <= DIGITS_MAX;
        (is_short || number.parse::<f64>().is_ok_and(f64::is_finite)).then_some(())
    }

    /// One at least.
    #[inline]
    fn digits(&mut self) -> Option<()> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        (self.at > start).then_some(())
    }

    #[inline]
    pub(crate) fn string(&mut self) -> Option<Raw<'a>> {
        self.take(b'"')?;
        let start = self.at;
        let mut is_escaped = false;
        loop {
            let rest = &self.text.as_bytes()[self.at..];
            self.at += rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20))?;
            match self.next()? {
                b'"' => return Some(Raw { text: &self.text[start..self.at - 1], is_escaped }),
                b'\\' => {
                    is_escaped = true;
                    self.escaped()?;
                }
                _ => return None,
            }
        }
    }

    /// What follows a backslash. A surrogate stands in a pair.
    fn escaped(&mut self) -> Option<()> {
        match self.next()? {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(()),
            b'u' => match self.unit()? {
                0xd800..0xdc00 => {
                    self.take(b'\\')?;
                    self.take(b'u')?;
                    (0xdc00..0xe000).contains(&self.unit()?).then_some(())
                }
                0xdc00..0xe000 => None,
                _ => Some(()),
            },
            _ => None,
        }
    }

    /// Four hexadecimal digits.
    fn unit(&mut self) -> Option<u32> {
        (0..4).try_fold(0, |unit, _| Some(unit << 4 | char::from(self.next()?).to_digit(16)?))
    }
}
