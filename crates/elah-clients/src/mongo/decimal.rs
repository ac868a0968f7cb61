//! Decimal128 as text, the form that it shares with Ruby's BigDecimal.

use std::str::FromStr;

use mongodb::bson::Decimal128;

/// The 16 bytes of the decimal number in `text`; `None` if it has more than 34 digits or too large an exponent.
pub fn decimal_from_text(text: &str) -> Option<[u8; 16]> {
    Decimal128::from_str(text).ok().map(|decimal| decimal.bytes())
}

/// The number as text: `12.50`, `1E+3`, `NaN`, `Infinity`.
pub fn decimal_to_text(bytes: [u8; 16]) -> String {
    Decimal128::from_bytes(bytes).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        for text in ["0", "12.50", "-0.001", "1E+3", "NaN", "9999999999999999999999999999999999"] {
            assert_eq!(decimal_from_text(text).map(decimal_to_text).as_deref(), Some(text));
        }
        assert_eq!(decimal_from_text("0.125e2").map(decimal_to_text).as_deref(), Some("12.5"));
        assert_eq!(decimal_from_text("12345678901234567890123456789012345"), None);
        assert_eq!(decimal_from_text("1e7000"), None);
    }
}
