//! The end of a message's body: Content-Length, Transfer-Encoding and the chunked coding.

use memchr::memchr;

use super::GuardLimits;
use super::bytes::{TOKEN, count_of, is_value_byte, without_blanks_before};
use super::field::split_field;
use super::rejection::{CONTENT_LENGTH_DIGITS_MAX, Rejection};

/// Hex digits of a chunk size that always fit 64 bits.
const CHUNK_SIZE_DIGITS_MAX: usize = 16;
/// Bytes of one chunk-size line with its extensions and CR LF.
const CHUNK_LINE_BYTES_MAX: usize = 1024;
/// Bytes of all chunk extensions of one body; hyper's limit is 16 KiB.
const EXTENSION_BYTES_MAX: usize = 8192;
/// Bytes of all trailer lines of one body; hyper's limit is 16 KiB.
const TRAILER_BYTES_MAX: usize = 8192;

/// Fields that frame or route a message, or grant rights. Elah drops all trailers, but a later program that merges them into the
/// headers must not find one of these (RFC 9110 6.5.1).
const NEVER_TRAILERS: [&[u8]; 13] = [
    b"authorization",
    b"connection",
    b"content-length",
    b"cookie",
    b"expect",
    b"forwarded",
    b"host",
    b"max-forwards",
    b"proxy-authorization",
    b"te",
    b"trailer",
    b"transfer-encoding",
    b"upgrade",
];

/// How the end of a body is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Body {
    Empty,
    /// A body of this many bytes, more than 0.
    Length(u64),
    Chunked,
}

/// What a head says about the length of its body, so far.
#[derive(Debug, Default)]
pub(super) struct Framing {
    content_length: Option<u64>,
    is_chunked: bool,
}

impl Framing {
    /// Accepts one Content-Length. RFC 9110 8.6 lets a recipient merge equal ones or refuse. No client sends two, and servers
    /// that merged were vulnerable to smuggling (CVE-2020-7671).
    pub(super) fn content_length(&mut self, value: &[u8]) -> Result<(), Rejection> {
        if self.content_length.is_some() {
            return Err(Rejection::repeated_content_length());
        }
        if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
            return Err(Rejection::content_length(value));
        }
        let bytes = value.iter().fold(0, |bytes: u64, digit| bytes.saturating_mul(10).saturating_add(u64::from(digit - b'0')));
        if value.len() > CONTENT_LENGTH_DIGITS_MAX && value[0] == b'0' {
            return Err(Rejection::content_length(value));
        }
        self.content_length = Some(bytes);
        Ok(())
    }

    /// Accepts `chunked`, once. Other codings before a last `chunked` are well-formed but not implemented. If `chunked` is not
    /// last, the end of the body is unknown (RFC 9112 6.3).
    pub(super) fn transfer_encoding(&mut self, value: &[u8]) -> Result<(), Rejection> {
        if self.is_chunked {
            return Err(Rejection::repeated_transfer_encoding());
        }
        if value.eq_ignore_ascii_case(b"chunked") {
            self.is_chunked = true;
            return Ok(());
        }
        let mut codings = value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii);
        let is_last_chunked = codings.next_back().is_some_and(|coding| coding.eq_ignore_ascii_case(b"chunked"));
        let is_foreign = |coding: &[u8]| {
            !coding.is_empty() && count_of(TOKEN, coding) == coding.len() && !coding.eq_ignore_ascii_case(b"chunked")
        };
        let mut others = codings.peekable();
        if is_last_chunked && others.peek().is_some() && others.all(is_foreign) {
            return Err(Rejection::transfer_encoding_not_implemented(value));
        }
        Err(Rejection::transfer_encoding(value))
    }

    /// Decides when the head is complete.
    pub(super) fn body(&self, is_http_1_1: bool, limits: &GuardLimits) -> Result<Body, Rejection> {
        match (self.is_chunked, self.content_length) {
            (true, Some(_)) => Err(Rejection::ambiguous_length()),
            (true, None) if !is_http_1_1 => Err(Rejection::transfer_encoding_in_1_0()),
            (true, None) => Ok(Body::Chunked),
            (false, None | Some(0)) => Ok(Body::Empty),
            (false, Some(bytes)) if bytes > limits.body_bytes_max => Err(Rejection::body_too_large(limits.body_bytes_max)),
            (false, Some(bytes)) => Ok(Body::Length(bytes)),
        }
    }
}

/// How far a chunked body has been read.
#[derive(Debug, Default)]
pub(super) struct ChunkScan {
    part: ChunkPart,
    /// Bytes of the current line known to contain no LF.
    searched: usize,
    body_bytes: u64,
    extension_bytes: usize,
    trailer_bytes: usize,
    trailers: usize,
}

#[derive(Debug, Default, Clone, Copy)]
enum ChunkPart {
    #[default]
    SizeLine,
    /// Remaining bytes of the chunk.
    Data(u64),
    /// The CR LF after the data.
    DataEnd,
    TrailerLine,
    End,
}

impl ChunkScan {
    /// Continues in `input`, which begins where the last call ended. Returns the number of bytes that may pass and whether the
    /// body ends with them.
    ///
    /// An error counts only if nothing may pass before it. Otherwise the bytes before the fault pass, and the next call begins at
    /// the fault and finds it again. So a part changes nothing until it is accepted.
    pub(super) fn scan(&mut self, input: &[u8], limits: &GuardLimits) -> Result<(usize, bool), Rejection> {
        let mut passed = 0;
        loop {
            match self.part_bytes(&input[passed..], limits) {
                Ok(0) => return Ok((passed, false)),
                Ok(bytes) => passed += bytes,
                Err(rejection) if passed == 0 => return Err(rejection),
                Err(_) => return Ok((passed, false)),
            }
            if matches!(self.part, ChunkPart::End) {
                return Ok((passed, true));
            }
        }
    }

    /// How many bytes at the front of `input` belong to the current part and may pass; 0 while it is incomplete.
    fn part_bytes(&mut self, input: &[u8], limits: &GuardLimits) -> Result<usize, Rejection> {
        match self.part {
            ChunkPart::SizeLine => self.size_line(input, limits),
            ChunkPart::Data(left) => {
                let bytes = usize::try_from(left).unwrap_or(usize::MAX).min(input.len());
                let left = left - bytes as u64;
                self.part = if left == 0 { ChunkPart::DataEnd } else { ChunkPart::Data(left) };
                Ok(bytes)
            }
            ChunkPart::DataEnd => match input {
                [] | [b'\r'] => Ok(0),
                [b'\r', b'\n', ..] => {
                    self.part = ChunkPart::SizeLine;
                    Ok(2)
                }
                _ => Err(Rejection::chunk("The data of a chunk is not followed by CR LF.")),
            },
            ChunkPart::TrailerLine => self.trailer_line(input, limits),
            ChunkPart::End => Ok(0),
        }
    }

    /// `chunk-size [ BWS ";" extensions ] CRLF`
    fn size_line(&mut self, input: &[u8], limits: &GuardLimits) -> Result<usize, Rejection> {
        let over = || Rejection::chunk(format!("A chunk-size line is longer than {CHUNK_LINE_BYTES_MAX} bytes."));
        let Some(line) = self.line(input, CHUNK_LINE_BYTES_MAX, over)? else { return Ok(0) };
        let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        let extensions = &line[digits..];
        if !(1..=CHUNK_SIZE_DIGITS_MAX).contains(&digits) || !are_extensions(extensions) {
            return Err(Rejection::chunk(format!(
                "A chunk size is not a number of 1 to {CHUNK_SIZE_DIGITS_MAX} hexadecimal digits, or its line is malformed."
            )));
        }
        let extension_bytes = self.extension_bytes + extensions.len();
        if extension_bytes > EXTENSION_BYTES_MAX {
            return Err(Rejection::chunk(format!("The chunk extensions are longer than {EXTENSION_BYTES_MAX} bytes.")));
        }
        let size = line[..digits].iter().fold(0, |size, &digit| size << 4 | hex_value(digit));
        let body_bytes = self.body_bytes.saturating_add(size);
        if body_bytes > limits.body_bytes_max {
            return Err(Rejection::body_too_large(limits.body_bytes_max));
        }
        (self.extension_bytes, self.body_bytes) = (extension_bytes, body_bytes);
        self.part = if size == 0 { ChunkPart::TrailerLine } else { ChunkPart::Data(size) };
        self.searched = 0;
        Ok(line.len() + 2)
    }

    /// A trailer field, or the empty line that ends the body.
    fn trailer_line(&mut self, input: &[u8], limits: &GuardLimits) -> Result<usize, Rejection> {
        let over = || Rejection::trailers_too_large(format!("The trailers are longer than {TRAILER_BYTES_MAX} bytes."));
        let Some(line) = self.line(input, TRAILER_BYTES_MAX - self.trailer_bytes, over)? else { return Ok(0) };
        if line.is_empty() {
            self.part = ChunkPart::End;
            return Ok(2);
        }
        let (name, _, _) = split_field(line)?;
        if NEVER_TRAILERS.iter().any(|never| name.eq_ignore_ascii_case(never)) {
            return Err(Rejection::trailer(name));
        }
        if self.trailers == limits.headers_max {
            return Err(Rejection::trailers_too_large(format!("The body has more than {} trailers.", limits.headers_max)));
        }
        self.trailers += 1;
        self.trailer_bytes += line.len() + 2;
        self.searched = 0;
        Ok(line.len() + 2)
    }

    /// The line at the front of `input` without its CR LF; `None` while it is incomplete, `over` if it exceeds `bytes_max`.
    fn line<'a>(
        &mut self,
        input: &'a [u8],
        bytes_max: usize,
        over: impl FnOnce() -> Rejection,
    ) -> Result<Option<&'a [u8]>, Rejection> {
        let found = memchr(b'\n', &input[self.searched..]);
        // A missing LF is at input.len() or later.
        let line_end = found.map_or(input.len(), |at| self.searched + at) + 1;
        if line_end > bytes_max {
            return Err(over());
        }
        if found.is_none() {
            self.searched = input.len();
            return Ok(None);
        }
        match &input[..line_end] {
            [line @ .., b'\r', b'\n'] => Ok(Some(line)),
            _ => Err(Rejection::bare_line_feed()),
        }
    }
}

/// `*( BWS ";" BWS name [ BWS "=" BWS ( token / quoted-string ) ] )`
fn are_extensions(mut rest: &[u8]) -> bool {
    while !rest.is_empty() {
        let [b';', extension @ ..] = without_blanks_before(rest) else { return false };
        let Some(after_name) = after_token(without_blanks_before(extension)) else { return false };
        rest = match without_blanks_before(after_name) {
            [b'=', value @ ..] => match after_value(without_blanks_before(value)) {
                Some(after_value) => after_value,
                None => return false,
            },
            _ => after_name,
        };
    }
    true
}

fn after_token(bytes: &[u8]) -> Option<&[u8]> {
    let length = count_of(TOKEN, bytes);
    (length > 0).then(|| &bytes[length..])
}

fn after_value(bytes: &[u8]) -> Option<&[u8]> {
    let [b'"', quoted @ ..] = bytes else { return after_token(bytes) };
    let mut is_escaped = false;
    for (at, &byte) in quoted.iter().enumerate() {
        match byte {
            _ if !is_value_byte(byte) => return None,
            b'"' if !is_escaped => return Some(&quoted[at + 1..]),
            _ => is_escaped = byte == b'\\' && !is_escaped,
        }
    }
    None
}

/// The value of an ASCII hexadecimal digit.
fn hex_value(digit: u8) -> u64 {
    u64::from(match digit {
        b'0'..=b'9' => digit - b'0',
        _ => (digit | 0x20) - b'a' + 10,
    })
}
