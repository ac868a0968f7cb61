//! Parameters of a header value, and the name and file name of a `Content-Disposition`, read as Rack reads them.

use encoding_rs::{Encoding, UTF_8};

/// `name=value` of a header value.
pub(super) struct Parameter<'h> {
    pub(super) name: &'h str,
    /// Without the surrounding quotes; backslashes are still there.
    pub(super) value: &'h [u8],
}

/// The parameters after the first `;`, up to the first invalid one.
pub(super) fn parameters(header: &[u8]) -> impl Iterator<Item = Parameter<'_>> {
    let mut rest = memchr::memchr(b';', header).map_or(&[][..], |at| &header[at + 1..]);
    std::iter::from_fn(move || {
        let equals = memchr::memchr(b'=', rest)?;
        let name = std::str::from_utf8(rest[..equals].trim_ascii_start()).ok()?;
        let after = &rest[equals + 1..];
        let (value, length) = match after.strip_prefix(b"\"") {
            Some(quoted) => {
                let end = quoted_end(quoted)?;
                (&quoted[..end], end + 2)
            }
            None => {
                let end = memchr::memchr3(b';', b' ', b'\t', after).unwrap_or(after.len());
                (&after[..end], end)
            }
        };
        let behind = &after[length..];
        rest = memchr::memchr(b';', behind).map_or(&[][..], |at| &behind[at + 1..]);
        Some(Parameter { name, value })
    })
}

/// The quote that ends the text: the first without a backslash before it, or else the last one, because some clients send paths
/// with single backslashes.
fn quoted_end(quoted: &[u8]) -> Option<usize> {
    let is_escaped = |at: &usize| *at > 0 && quoted[at - 1] == b'\\';
    memchr::memchr_iter(b'"', quoted).find(|at| !is_escaped(at)).or_else(|| memchr::memrchr(b'"', quoted))
}

/// The name and the file name of a part.
pub(super) struct Disposition {
    pub(super) name: Option<String>,
    pub(super) filename: Option<String>,
}

impl Disposition {
    pub(super) fn parse(header: &[u8]) -> Self {
        let value = |wanted: &str| {
            parameters(header).find(|parameter| parameter.name.eq_ignore_ascii_case(wanted)).map(|parameter| parameter.value)
        };
        let name = value("name").map(without_backslashes).filter(|name| !name.is_empty());
        let filename = value("filename").map(plain_filename).or_else(|| value("filename*").map(extended_filename));
        Self {
            name: name.and_then(|name| String::from_utf8(name).ok()),
            filename: filename.map(|filename| file_name(basename(&filename))),
        }
    }
}

fn plain_filename(value: &[u8]) -> String {
    let decoded = percent_decoded(value);
    let has_path_backslashes = decoded.windows(2).any(|pair| pair[0] == b'\\' && !matches!(pair[1], b'\\' | b'"'));
    let name = if has_path_backslashes { decoded } else { without_backslashes(&decoded) };
    String::from_utf8_lossy(&name).into_owned()
}

/// RFC 8187: `UTF-8'en'na%C3%AFve.txt`
fn extended_filename(value: &[u8]) -> String {
    let mut fields = value.splitn(3, |byte| *byte == b'\'');
    let (charset, _, name) = (fields.next().unwrap_or_default(), fields.next(), fields.next().unwrap_or_default());
    let encoding = Encoding::for_label(charset).unwrap_or(UTF_8);
    encoding.decode(&percent_decoded(name)).0.into_owned()
}

fn without_backslashes(value: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(value.len());
    let mut bytes = value.iter();
    while let Some(byte) = bytes.next() {
        let kept = if *byte == b'\\' { bytes.next().unwrap_or(byte) } else { byte };
        plain.push(*kept);
    }
    plain
}

/// Decodes percent escapes if every percent sign begins one; leaves a name such as `100%.txt` unchanged.
fn percent_decoded(value: &[u8]) -> Vec<u8> {
    let digit = |at: usize| value.get(at).and_then(|byte| (*byte as char).to_digit(16));
    let mut decoded = Vec::with_capacity(value.len());
    let mut at = 0;
    while let Some(byte) = value.get(at) {
        if *byte != b'%' {
            decoded.push(*byte);
            at += 1;
            continue;
        }
        let (Some(high), Some(low)) = (digit(at + 1), digit(at + 2)) else { return value.to_vec() };
        decoded.push((high * 16 + low) as u8);
        at += 3;
    }
    decoded
}

/// A name that a file can have: control characters become underscores, as do the dots of `.` and `..`.
fn file_name(name: &str) -> String {
    let is_folder = matches!(name, "." | "..");
    name.chars().map(|character| if is_folder || character.is_control() { '_' } else { character }).collect()
}

/// Without the folders that some clients send.
fn basename(filename: &str) -> &str {
    let trimmed = filename.trim_end_matches(['/', '\\']);
    trimmed.rsplit(['/', '\\']).next().unwrap_or(trimmed)
}
