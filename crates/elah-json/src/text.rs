//! A writer of JSON strings and numbers. Structure (objects, arrays, order, depth) is the caller's.

use std::io::Write;

/// Bytes tested at once for one that must be escaped; the compiler turns such a test into a few vector instructions.
const SCAN_BYTES: usize = 16;
const HEX_DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Appends `text` as a JSON string with its quotes. Escapes what RFC 8259 demands and nothing else.
pub fn write_string(out: &mut Vec<u8>, text: &str) {
    let bytes = text.as_bytes();
    out.reserve(bytes.len() + 2);
    out.push(b'"');
    let mut written = 0;
    let mut at = 0;
    while let Some(found) = next_escaped(bytes, at) {
        out.extend_from_slice(&bytes[written..found]);
        write_escape(out, bytes[found]);
        written = found + 1;
        at = written;
    }
    out.extend_from_slice(&bytes[written..]);
    out.push(b'"');
}

fn must_be_escaped(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

fn next_escaped(bytes: &[u8], mut at: usize) -> Option<usize> {
    while let Some(chunk) = bytes[at..].first_chunk::<SCAN_BYTES>() {
        if chunk.iter().fold(false, |found, byte| found | must_be_escaped(*byte)) {
            break;
        }
        at += SCAN_BYTES;
    }
    bytes[at..].iter().position(|byte| must_be_escaped(*byte)).map(|offset| at + offset)
}

fn write_escape(out: &mut Vec<u8>, byte: u8) {
    let short = match byte {
        b'"' => b'"',
        b'\\' => b'\\',
        0x08 => b'b',
        b'\t' => b't',
        b'\n' => b'n',
        0x0c => b'f',
        b'\r' => b'r',
        _ => {
            let digits = [HEX_DIGITS[usize::from(byte >> 4)], HEX_DIGITS[usize::from(byte & 15)]];
            out.extend_from_slice(b"\\u00");
            out.extend_from_slice(&digits);
            return;
        }
    };
    out.extend_from_slice(&[b'\\', short]);
}

/// Appends a finite number in the form of Ruby's `Float#to_s`: the fewest digits that read back as the same number, with a point,
/// and with an exponent below 0.0001 and from 10^15 on (10^16 for a number with a fraction).
///
/// Infinite numbers and NaN have no form in JSON; the caller refuses them.
pub fn write_float(out: &mut Vec<u8>, number: f64) {
    let magnitude = number.abs();
    let has_fraction = magnitude < 1e16 && magnitude.fract() != 0.0;
    if magnitude == 0.0 || (1e-4..1e15).contains(&magnitude) || (magnitude >= 1e15 && has_fraction) {
        out.extend_from_slice(zmij::Buffer::new().format_finite(number).as_bytes());
        return;
    }
    let scientific = format!("{number:e}");
    let (mantissa, exponent) = scientific.split_once('e').expect("the form has an exponent");
    let exponent: i32 = exponent.parse().expect("the exponent is a number of at most three digits");
    let point = if mantissa.contains('.') { "" } else { ".0" };
    let sign = if exponent < 0 { '-' } else { '+' };
    write!(out, "{mantissa}{point}e{sign}{:02}", exponent.abs()).expect("a vector takes all");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn string(text: &str) -> String {
        let mut out = Vec::new();
        write_string(&mut out, text);
        String::from_utf8(out).expect("text")
    }

    fn float(number: f64) -> String {
        let mut out = Vec::new();
        write_float(&mut out, number);
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn only_what_must_be_escaped_is_escaped() {
        assert_eq!(string(""), r#""""#);
        assert_eq!(string("a\"b\\c/d\u{7f}\u{e9}\u{2028}"), "\"a\\\"b\\\\c/d\u{7f}\u{e9}\u{2028}\"");
        assert_eq!(string("\0\u{1}\u{8}\t\n\u{b}\u{c}\r\u{1f}"), r#""\u0000\u0001\b\t\n\u000b\f\r\u001f""#);
    }

    #[test]
    fn an_escape_is_found_at_every_place_of_a_long_text() {
        for length in 1..70 {
            for at in 0..length {
                let mut text = "x".repeat(length);
                text.replace_range(at..=at, "\n");
                assert_eq!(string(&text), format!("\"{}\"", text.replace('\n', "\\n")));
            }
        }
    }

    #[test]
    fn floats_have_the_form_that_ruby_gives_them() {
        for (number, text) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (-1.5, "-1.5"),
            (100.0, "100.0"),
            (123456.789, "123456.789"),
            (0.1, "0.1"),
            (0.0001, "0.0001"),
            (0.00012345, "0.00012345"),
            (0.00001, "1.0e-05"),
            (0.000012345, "1.2345e-05"),
            (999999999999999.9, "999999999999999.9"),
            (1e15, "1.0e+15"),
            (1641901258665403.5, "1641901258665403.5"),
            (9999999999999998.0, "9.999999999999998e+15"),
            (1e16, "1.0e+16"),
            (1.25e20, "1.25e+20"),
            (1e100, "1.0e+100"),
            (5e-324, "5.0e-324"),
            (f64::MAX, "1.7976931348623157e+308"),
            (0.1 + 0.2, "0.30000000000000004"),
        ] {
            assert_eq!(float(number), text);
        }
    }
}
