//! A cursor over JSON text.

use crate::fault::{Fault, Reason};
use crate::number::{Number, SHORT_DIGITS};
use crate::raw::Raw;

/// A shorter number without an exponent always fits a float.
const FINITE_DIGITS: usize = 300;

/// A value, or the opening bracket of one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Token<'t> {
    Null,
    Bool(bool),
    Number(Number<'t>),
    Text(Raw<'t>),
    Array,
    Object,
}

/// A position in a text. A copy advances independently.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'t> {
    text: &'t str,
    at: usize,
    /// Whether the last thing read was the bracket of an array or object.
    is_opened: bool,
}

impl<'t> Cursor<'t> {
    #[inline]
    pub fn new(text: &'t str) -> Self {
        Cursor { text, at: 0, is_opened: false }
    }

    /// The offset in the text, in bytes.
    #[inline]
    pub fn at(&self) -> usize {
        self.at
    }

    /// Skips blanks and returns the byte that follows, `None` at the end of the text.
    #[inline]
    pub fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while self.at < bytes.len() {
            let byte = bytes[self.at];
            if byte > b' ' || !matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
                return Some(byte);
            }
            self.at += 1;
        }
        None
    }

    /// Reads a value; of an array or an object its opening bracket.
    ///
    /// # Errors
    /// A fault when no value stands there.
    #[expect(clippy::should_implement_trait, reason = "it can fail, and ends with its document")]
    #[inline]
    pub fn next(&mut self) -> Result<Token<'t>, Fault> {
        let Some(byte) = self.peek() else { return Err(self.fault(Reason::EndInValue)) };
        match byte {
            b'"' => {
                self.at += 1;
                self.string().map(Token::Text)
            }
            b'-' | b'0'..=b'9' => self.number().map(Token::Number),
            b'{' => {
                self.open();
                Ok(Token::Object)
            }
            b'[' => {
                self.open();
                Ok(Token::Array)
            }
            b't' => self.word("true", Token::Bool(true)),
            b'f' => self.word("false", Token::Bool(false)),
            b'n' => self.word("null", Token::Null),
            _ => Err(self.fault(Reason::ExpectedValue)),
        }
    }

    /// Whether another element follows in the array that is open; its closing bracket is read when none does.
    ///
    /// # Errors
    /// A fault when neither stands there.
    #[inline]
    pub fn element(&mut self) -> Result<bool, Fault> {
        let is_first = std::mem::take(&mut self.is_opened);
        match self.peek() {
            Some(b']') => {
                self.at += 1;
                Ok(false)
            }
            Some(_) if is_first => Ok(true),
            Some(b',') => {
                self.at += 1;
                if self.peek() == Some(b']') { Err(self.fault(Reason::TrailingComma)) } else { Ok(true) }
            }
            Some(_) => Err(self.fault(Reason::ExpectedElementEnd)),
            None => Err(self.fault(Reason::EndInArray)),
        }
    }

    /// The name of the next member of the object that is open, with its colon; `None` at the closing bracket, which is read.
    ///
    /// # Errors
    /// A fault when neither stands there.
    #[inline]
    pub fn member(&mut self) -> Result<Option<Raw<'t>>, Fault> {
        let is_first = std::mem::take(&mut self.is_opened);
        let mut next = self.peek();
        if next == Some(b'}') {
            self.at += 1;
            return Ok(None);
        }
        if !is_first {
            match next {
                Some(b',') => {
                    self.at += 1;
                    next = self.peek();
                }
                Some(_) => return Err(self.fault(Reason::ExpectedMemberEnd)),
                None => {}
            }
        }
        match next {
            Some(b'"') => self.at += 1,
            Some(b'}') => return Err(self.fault(Reason::TrailingComma)),
            Some(_) => return Err(self.fault(Reason::ExpectedName)),
            None => return Err(self.fault(Reason::EndInObject)),
        }
        let name = self.string()?;
        match self.peek() {
            Some(b':') => {
                self.at += 1;
                Ok(Some(name))
            }
            Some(_) => Err(self.fault(Reason::ExpectedColon)),
            None => Err(self.fault(Reason::EndInObject)),
        }
    }

    /// Skips a value with at most this many levels of nesting. It recurses once for each.
    ///
    /// # Errors
    /// A fault if there is no such value.
    pub fn skip(&mut self, levels: usize) -> Result<(), Fault> {
        match self.next()? {
            Token::Array => {
                let levels = self.deeper(levels)?;
                while self.element()? {
                    self.skip(levels)?;
                }
            }
            Token::Object => {
                let levels = self.deeper(levels)?;
                while self.member()?.is_some() {
                    self.skip(levels)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Checks that nothing but blanks is left.
    ///
    /// # Errors
    /// A fault when something is.
    #[inline]
    pub fn end(&mut self) -> Result<(), Fault> {
        if self.peek().is_some() { Err(self.fault(Reason::TrailingCharacters)) } else { Ok(()) }
    }

    #[cold]
    fn fault(&self, reason: Reason) -> Fault {
        Fault { reason, at: self.at }
    }

    fn deeper(&self, levels: usize) -> Result<usize, Fault> {
        levels.checked_sub(1).ok_or_else(|| self.fault(Reason::TooDeep))
    }

    #[inline]
    fn open(&mut self) {
        self.at += 1;
        self.is_opened = true;
    }

    #[inline]
    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn word(&mut self, word: &str, token: Token<'t>) -> Result<Token<'t>, Fault> {
        for expected in word.bytes() {
            match self.byte() {
                Some(byte) if byte == expected => self.at += 1,
                Some(_) => return Err(self.fault(Reason::ExpectedWord)),
                None => return Err(self.fault(Reason::EndInValue)),
            }
        }
        Ok(token)
    }

    fn number(&mut self) -> Result<Number<'t>, Fault> {
        let start = self.at;
        let is_negative = self.byte() == Some(b'-');
        self.at += usize::from(is_negative);
        let mut digits = 0;
        if self.byte() == Some(b'0') {
            self.at += 1;
            if matches!(self.byte(), Some(b'0'..=b'9')) {
                return Err(self.fault(Reason::InvalidNumber));
            }
        } else {
            digits = self.digits(0)?;
        }
        let mut count = self.at - start - usize::from(is_negative);
        let mut decimals = 0;
        let mut is_integer = true;
        let mut has_exponent = false;
        if self.byte() == Some(b'.') {
            is_integer = false;
            self.at += 1;
            let point = self.at;
            digits = self.digits(digits)?;
            decimals = self.at - point;
            count += decimals;
        }
        if matches!(self.byte(), Some(b'e' | b'E')) {
            (is_integer, has_exponent) = (false, true);
            self.at += 1;
            if matches!(self.byte(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits(0)?;
        }
        let is_short = count <= SHORT_DIGITS && !has_exponent;
        let number = Number { text: &self.text[start..self.at], digits, decimals: is_short.then_some(decimals), is_integer };
        if (has_exponent || count > FINITE_DIGITS) && !number.float().is_finite() {
            return Err(self.fault(Reason::NumberOutOfRange));
        }
        Ok(number)
    }

    /// Reads at least one digit. Returns `number` with the digits appended; of too many, the last ones.
    #[inline]
    fn digits(&mut self, mut number: u64) -> Result<u64, Fault> {
        let bytes = self.text.as_bytes();
        let start = self.at;
        let mut at = start;
        while at < bytes.len() {
            let digit = bytes[at].wrapping_sub(b'0');
            if digit > 9 {
                break;
            }
            number = number.wrapping_mul(10).wrapping_add(u64::from(digit));
            at += 1;
        }
        self.at = at;
        if at > start {
            return Ok(number);
        }
        Err(self.fault(if at < bytes.len() { Reason::InvalidNumber } else { Reason::EndInValue }))
    }

    /// The rest of a string whose opening quote was read.
    #[inline]
    fn string(&mut self) -> Result<Raw<'t>, Fault> {
        let start = self.at;
        let mut is_escaped = false;
        loop {
            self.at = plain_end(self.text.as_bytes(), self.at);
            match self.byte() {
                Some(b'"') => {
                    let text = &self.text[start..self.at];
                    self.at += 1;
                    return Ok(Raw { text, is_escaped });
                }
                Some(b'\\') => {
                    is_escaped = true;
                    self.at += 1;
                    self.escape()?;
                }
                Some(_) => return Err(self.fault(Reason::ControlCharacter)),
                None => return Err(self.fault(Reason::EndInString)),
            }
        }
    }

    /// The rest of an escape, after its backslash. A surrogate must be in a pair.
    fn escape(&mut self) -> Result<(), Fault> {
        match self.escaped_byte()? {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Ok(()),
            b'u' => match self.unit()? {
                0xd800..0xdc00 => {
                    let is_pair =
                        self.escaped_byte()? == b'\\' && self.escaped_byte()? == b'u' && (0xdc00..0xe000).contains(&self.unit()?);
                    if is_pair { Ok(()) } else { Err(self.fault(Reason::LoneSurrogate)) }
                }
                0xdc00..0xe000 => Err(self.fault(Reason::LoneSurrogate)),
                _ => Ok(()),
            },
            _ => {
                self.at -= 1;
                Err(self.fault(Reason::InvalidEscape))
            }
        }
    }

    fn escaped_byte(&mut self) -> Result<u8, Fault> {
        let byte = self.byte().ok_or_else(|| self.fault(Reason::EndInString))?;
        self.at += 1;
        Ok(byte)
    }

    /// Four hexadecimal digits.
    fn unit(&mut self) -> Result<u32, Fault> {
        let mut unit = 0;
        for _ in 0..4 {
            let byte = self.byte().ok_or_else(|| self.fault(Reason::EndInString))?;
            let digit = char::from(byte).to_digit(16).ok_or_else(|| self.fault(Reason::InvalidEscape))?;
            unit = unit << 4 | digit;
            self.at += 1;
        }
        Ok(unit)
    }
}

const ONES: u64 = u64::from_ne_bytes([1; 8]);
const HIGH_BITS: u64 = ONES << 7;

/// The offset of the first byte from `at` on that ends or interrupts a string: a quote, a backslash or a control character.
#[inline]
fn plain_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(chunk) = bytes.get(at..at + 8) {
        let mut eight = [0; 8];
        eight.copy_from_slice(chunk);
        let word = u64::from_le_bytes(eight);
        let quote = word ^ (ONES * b'"' as u64);
        let backslash = word ^ (ONES * b'\\' as u64);
        // A subtraction borrows from the high bit of each byte that was too small; bytes above the first such byte do not matter.
        let found = (word.wrapping_sub(ONES * 0x20) & !word)
            | (quote.wrapping_sub(ONES) & !quote)
            | (backslash.wrapping_sub(ONES) & !backslash);
        let found = found & HIGH_BITS;
        if found != 0 {
            return at + found.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    while at < bytes.len() && !matches!(bytes[at], b'"' | b'\\' | 0..0x20) {
        at += 1;
    }
    at
}
