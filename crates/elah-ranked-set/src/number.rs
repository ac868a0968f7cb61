//! Decimal numbers as whole multiples of their last digit, without rounding: 12.5 with two decimals is 1250.

pub use super::decimal::text_of;
use super::error::Error;

/// Digits that are certainly out of range, with any number of decimals.
const DIGITS_MAX: i64 = 40;
/// Characters of a refused text that an error quotes.
const QUOTED_CHARS: usize = 40;

/// Parses a number: digits with an optional sign, point and exponent, as in `-12.50` or `1e3`.
///
/// # Errors
/// `NotANumber`, `TooPrecise` if digits after the last decimal are not 0, and `OutOfRange`.
pub fn parse(text: &str, decimals: u8) -> Result<i64, Error> {
    let number = Digits::read(text).ok_or_else(|| Error::NotANumber { text: quoted(text) })?;
    let exponent = number.exponent + i64::from(decimals);
    let digits = number.digits.len() as i64;
    if digits == 0 {
        return Ok(0);
    }
    if exponent < 0 {
        return Err(Error::TooPrecise { text: quoted(text), decimals });
    }
    let out_of_range = || Error::OutOfRange { text: quoted(text), decimals };
    if digits + exponent > DIGITS_MAX - 2 {
        return Err(out_of_range());
    }
    let magnitude = number.digits.bytes().fold(0_i128, |sum, digit| sum * 10 + i128::from(digit - b'0'));
    let magnitude = magnitude * 10_i128.pow(exponent as u32);
    i64::try_from(if number.is_negative { -magnitude } else { magnitude }).map_err(|_| out_of_range())
}

/// `digits` without zeros at either end, times ten to the power of `exponent`.
struct Digits {
    is_negative: bool,
    digits: String,
    exponent: i64,
}

impl Digits {
    fn read(text: &str) -> Option<Self> {
        let is_negative = text.starts_with('-');
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
        let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, read_exponent(exponent)?),
            None => (unsigned, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if whole.len() + fraction.len() == 0 || !is_digits(whole) || !is_digits(fraction) {
            return None;
        }
        let all = [whole, fraction].concat();
        let digits = all.trim_end_matches('0');
        let zeros = all.len() - digits.len();
        let exponent = exponent - fraction.len() as i64 + zeros as i64;
        Some(Digits { is_negative, digits: digits.trim_start_matches('0').to_owned(), exponent })
    }
}

/// An exponent; one far out of range is clamped to a number that still is.
fn read_exponent(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let magnitude = digits.parse::<i64>().unwrap_or(i64::MAX).min(1 << 40);
    Some(if text.starts_with('-') { -magnitude } else { magnitude })
}

fn quoted(text: &str) -> String {
    if text.is_empty() {
        return "an empty text".to_owned();
    }
    match text.char_indices().nth(QUOTED_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Error, parse, text_of};

    #[test]
    fn texts_become_exact_numbers() {
        let cases = [
            ("0", 0, 0),
            ("-0.00", 2, 0),
            ("12.5", 2, 1250),
            ("+7", 0, 7),
            (".5", 1, 5),
            ("5.", 1, 50),
            ("1e3", 0, 1000),
            ("12.50e-1", 2, 125),
            ("9223372036854775807", 0, i64::MAX),
            ("-9223372036854775808", 0, i64::MIN),
            ("-92233720368547758.08", 2, i64::MIN),
            ("0000000000000000000000000000000000000000000000000001", 0, 1),
            ("0e999999999999999999999", 0, 0),
        ];
        for (text, decimals, number) in cases {
            assert_eq!(parse(text, decimals), Ok(number), "{text}");
        }
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for text in ["", "NaN", "Infinity", "-inf", "1,5", "1_000", " 1", "1 ", "0x10", "1e", "e5", ".", "--1", "1.2.3", "٣"] {
            assert!(matches!(parse(text, 2), Err(Error::NotANumber { .. })), "{text}");
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for text in ["9223372036854775808", "-9223372036854775809", "1e400", "1e99999999999999999999", "-1e19"] {
            assert!(matches!(parse(text, 0), Err(Error::OutOfRange { .. })), "{text}");
        }
        for text in ["0.5", "1.25e1", "1e-400", "1e-99999999999999999999"] {
            assert!(matches!(parse(text, 0), Err(Error::TooPrecise { .. })), "{text}");
        }
        let error = parse("9223372036854775808", 2).expect_err("too large").to_string();
        assert_eq!(
            error,
            "A score of 9223372036854775808 is out of range: it must be -92233720368547758.08 to 92233720368547758.07."
        );
    }

    #[test]
    fn numbers_become_texts() {
        let cases = [(0, 2, "0.00"), (-5, 2, "-0.05"), (1250, 2, "12.50"), (i64::MIN, 0, "-9223372036854775808")];
        for (number, decimals, text) in cases {
            assert_eq!(text_of(number, decimals), text);
            assert_eq!(parse(text, decimals), Ok(number));
        }
        assert_eq!(text_of(i64::MIN, 18), "-9.223372036854775808");
    }
}
