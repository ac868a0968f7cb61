//! A decimal number, kept as a whole multiple of its last digit, as text.

/// The text of a number, with all its decimals: 1250 with two decimals is `12.50`.
pub fn text_of(number: i64, decimals: u8) -> String {
    if decimals == 0 {
        return number.to_string();
    }
    let width = usize::from(decimals) + 1;
    let digits = format!("{:0width$}", number.unsigned_abs());
    let (whole, fraction) = digits.split_at(digits.len() - usize::from(decimals));
    format!("{}{whole}.{fraction}", if number < 0 { "-" } else { "" })
}
