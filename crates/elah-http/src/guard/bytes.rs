//! Byte classes of HTTP grammar: one table, and the scans that use it.

/// Allowed in a header name (RFC 9110 `tchar`).
pub(super) const TOKEN: u8 = 1;
/// Allowed in a method: a `tchar` that is not a lower-case letter.
pub(super) const METHOD: u8 = 2;
/// Allowed in the path of a target.
pub(super) const PATH: u8 = 4;
/// Allowed in the query of a target.
pub(super) const QUERY: u8 = 8;
/// Allowed in a host name (RFC 3986 `unreserved` and `sub-delims`, except the comma).
pub(super) const HOST: u8 = 16;
/// An underscore.
pub(super) const UNDERSCORE: u8 = 32;

static CLASSES: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    let mut table = [0; 256];
    let mut byte = 0u8;
    while byte < 128 {
        let mut class = 0;
        let is_sign = matches!(
            byte,
            b'!' | b'#' | b'$' | b'%' | b'&' | b'\'' | b'*' | b'+' | b'-' | b'.' | b'^' | b'_' | b'`' | b'|' | b'~'
        );
        if byte.is_ascii_alphanumeric() || is_sign {
            class |= TOKEN;
            if !byte.is_ascii_lowercase() {
                class |= METHOD;
            }
        }
        // Path and query: the ASCII that hyper's URI type accepts, without `#`, which would cut the target there.
        if byte.is_ascii_graphic() && !matches!(byte, b'#' | b'<' | b'>' | b'`' | b'?') {
            class |= PATH;
        }
        if byte.is_ascii_graphic() && !matches!(byte, b'#' | b'<' | b'>' | b'"') {
            class |= QUERY;
        }
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'!' | b'$' | b'&'..=b'+' | b';' | b'=') {
            class |= HOST;
        }
        if byte == b'_' {
            class |= UNDERSCORE;
        }
        table[byte as usize] = class;
        byte += 1;
    }
    table
}

/// The classes of `byte`, as a set of the constants above.
#[inline]
pub(super) fn class_of(byte: u8) -> u8 {
    CLASSES[byte as usize]
}

/// How many bytes at the front of `bytes` belong to `class`.
#[inline]
pub(super) fn count_of(class: u8, bytes: &[u8]) -> usize {
    bytes.iter().position(|&byte| class_of(byte) & class == 0).unwrap_or(bytes.len())
}

/// Whether no byte is a control byte other than HTAB; bytes from 0x80 on are opaque text.
#[inline]
pub(super) fn is_field_value(bytes: &[u8]) -> bool {
    const LOW: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let mut words = bytes.chunks_exact(8);
    for word in &mut words {
        let eight = u64::from_ne_bytes(word.try_into().expect("chunks_exact(8) yields 8 bytes"));
        let is_del = eight ^ (LOW * 0x7f);
        let controls = (eight.wrapping_sub(LOW * 0x20) & !eight) | (is_del.wrapping_sub(LOW) & !is_del);
        // A borrow can also mark the byte above a control byte; then the byte-wise check decides.
        if controls & HIGH != 0 && !word.iter().all(|&byte| is_value_byte(byte)) {
            return false;
        }
    }
    words.remainder().iter().all(|&byte| is_value_byte(byte))
}

/// Whether a header value may hold this byte.
#[inline]
pub(super) fn is_value_byte(byte: u8) -> bool {
    (byte >= b' ' && byte != 0x7f) || byte == b'\t'
}

#[inline]
fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// `bytes` from the first byte on that is neither space nor tab.
#[inline]
pub(super) fn without_blanks_before(bytes: &[u8]) -> &[u8] {
    let blanks = bytes.iter().take_while(|&&byte| is_blank(byte)).count();
    &bytes[blanks..]
}

/// `bytes` without spaces and tabs at both ends.
#[inline]
pub(super) fn trimmed(bytes: &[u8]) -> &[u8] {
    let bytes = without_blanks_before(bytes);
    let blanks = bytes.iter().rev().take_while(|&&byte| is_blank(byte)).count();
    &bytes[..bytes.len() - blanks]
}

/// `bytes` without spaces at both ends. Tabs stay: around a framing value they are legal but never sent, and some parsers read
/// them differently.
#[inline]
pub(super) fn without_spaces(bytes: &[u8]) -> &[u8] {
    let start = bytes.iter().take_while(|&&byte| byte == b' ').count();
    let end = bytes[start..].iter().rev().take_while(|&&byte| byte == b' ').count();
    &bytes[start..bytes.len() - end]
}
