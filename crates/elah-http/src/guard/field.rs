//! One header or trailer line: a name, a colon and a value.

use super::bytes::{TOKEN, class_of, is_field_value};
use super::rejection::Rejection;

/// Splits a header or trailer line at its colon. Also returns all classes that bytes of the name belong to.
pub(super) fn split_field(line: &[u8]) -> Result<(&[u8], &[u8], u8), Rejection> {
    let mut classes = 0;
    let mut name_bytes = 0;
    for &byte in line {
        let class = class_of(byte);
        if class & TOKEN == 0 {
            break;
        }
        classes |= class;
        name_bytes += 1;
    }
    let (name, rest) = line.split_at(name_bytes);
    if name.is_empty() || rest.first() != Some(&b':') {
        return Err(match line.first() {
            Some(b' ' | b'\t') => Rejection::folded_header(),
            _ => Rejection::header_name(line),
        });
    }
    let value = &rest[1..];
    if !is_field_value(value) {
        return Err(Rejection::header_value(name));
    }
    Ok((name, value, classes))
}
