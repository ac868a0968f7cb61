//! Rows as most are written: the document has nothing but the list, each row nothing but the two members, and these are texts without
//! escapes. Each byte is looked at once or twice, many at a time. What is written in any other way is left to [`reader`](super::reader).

use memchr::memchr2;

use super::reader::{Found, Wanted};

/// A row in bulk has about as many bytes; what is reserved for them is given back with the request.
const ROW_BYTES: usize = 64;

/// The rows; `None` when something is written in another way, or wrongly.
pub(super) fn read(text: &str, wanted: Wanted<'_>) -> Option<Found> {
    if ![wanted.member, wanted.echo].iter().all(|name| is_plain(name)) {
        return None;
    }
    let mut rest = Rest(text);
    rest.expect(b'{')?;
    let list = rest.string()?;
    wanted.lists.iter().find(|name| *name == list)?;
    rest.expect(b':')?;
    rest.expect(b'[')?;
    let mut found = Found::with_capacity(text.len() / ROW_BYTES, text.len());
    loop {
        rest.row(wanted, &mut found)?;
        match rest.next()? {
            b',' => {}
            b']' => break,
            _ => return None,
        }
    }
    rest.expect(b'}')?;
    rest.0.bytes().all(is_white).then_some(found)
}

fn is_white(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// Whether a text is written as it is.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\')
}

/// What is still to be read.
struct Rest<'t>(&'t str);

impl<'t> Rest<'t> {
    /// The next byte that is no white space.
    fn next(&mut self) -> Option<u8> {
        let bytes = self.0.as_bytes();
        let place = bytes.iter().position(|byte| !is_white(*byte))?;
        // A byte of a longer character is none that anything begins with.
        self.0 = self.0.get(place + 1..)?;
        Some(bytes[place])
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        (self.next()? == byte).then_some(())
    }

    /// A text without escapes.
    fn string(&mut self) -> Option<&'t str> {
        self.expect(b'"')?;
        let end = memchr2(b'"', b'\\', self.0.as_bytes())?;
        let (text, rest) = self.0.split_at(end);
        let has_controls = text.bytes().fold(false, |found, byte| found | (byte < b' '));
        self.0 = rest.strip_prefix('"').filter(|_| !has_controls)?;
        Some(text)
    }

    /// Takes a name and the quote behind it.
    fn is_named(&mut self, name: &str) -> bool {
        let rest = self.0.strip_prefix(name).and_then(|rest| rest.strip_prefix('"'));
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    fn row(&mut self, wanted: Wanted<'_>, found: &mut Found) -> Option<()> {
        let (mut text, mut echo) = (None, None);
        self.expect(b'{')?;
        loop {
            self.expect(b'"')?;
            let is_text = self.is_named(wanted.member);
            if !is_text && !self.is_named(wanted.echo) {
                return None;
            }
            self.expect(b':')?;
            let begins = self.0.trim_ascii_start();
            let value = self.string()?;
            if is_text {
                text = Some(value);
            } else {
                echo = begins.get(..value.len() + 2);
            }
            match self.next()? {
                b',' => {}
                b'}' => break,
                _ => return None,
            }
        }
        found.texts.push(text);
        found.echoes.push(echo);
        Some(())
    }
}
