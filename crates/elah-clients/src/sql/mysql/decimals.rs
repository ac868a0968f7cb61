//! Decimal parameters of MySQL and MariaDB. The protocol's library has no type for them, so they travel as texts, and the server would
//! compute with a text as a floating-point number. A `CAST` makes it compute with a decimal of the same digits.
//!
//! A column converts a text exactly, so a whole value of a row in `VALUES` needs none. That way an INSERT of many rows stays one
//! prepared statement, whatever the scales of its values.

use std::borrow::Cow;

use crate::sql::statement::Statement;
use crate::sql::value::Param;

/// The most digits of a decimal, and the most after its point.
const DIGITS_MAX: usize = 65;
const SCALE_MAX: usize = 30;

/// Bytes that the casts add to a statement, at most.
pub(super) fn cast_bytes(statement: &Statement) -> usize {
    "CAST( AS DECIMAL(65,30))".len() * statement.params.iter().filter(|param| scale(param).is_some()).count()
}

/// The text of the statement, with a cast around each placeholder of a decimal. One whose placeholders cannot be told stays as it
/// is, and so does a number with more digits than the server has.
pub(super) fn exact(statement: &Statement) -> Cow<'_, str> {
    let sql = &*statement.sql;
    if statement.params.iter().all(|param| scale(param).is_none()) {
        return Cow::Borrowed(sql);
    }
    let mut text = String::with_capacity(sql.len() + cast_bytes(statement));
    let mut copied = 0;
    let mut params = statement.params.iter();
    for mark in Marks::of(sql) {
        let Some(param) = params.next() else { return Cow::Borrowed(sql) };
        if let (Some(scale), false) = (scale(param), mark.is_whole_value) {
            text.push_str(&sql[copied..mark.at]);
            text.push_str(&format!("CAST(? AS DECIMAL({DIGITS_MAX},{scale}))"));
            copied = mark.at + 1;
        }
    }
    text.push_str(&sql[copied..]);
    if params.next().is_some() { Cow::Borrowed(sql) } else { Cow::Owned(text) }
}

/// Digits after the point of a decimal that is sent as a text and that the server can have.
fn scale(param: &Param) -> Option<usize> {
    let Param::Decimal(text) = param else { return None };
    if text.parse::<u64>().is_ok() {
        return None; // which is sent as an integer
    }
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let is_number = !whole.is_empty() && whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit());
    let is_within = fraction.len() <= SCALE_MAX && whole.len() + fraction.len() <= DIGITS_MAX;
    (is_number && is_within).then_some(fraction.len())
}

/// A placeholder.
struct Mark {
    at: usize,
    /// Whether it is all of a value in a row of `VALUES`.
    is_whole_value: bool,
}

/// The placeholders of a statement, outside of literals, quoted names and comments.
struct Marks<'s> {
    sql: &'s [u8],
    at: usize,
    /// Number of open parentheses.
    depth: usize,
    /// Whether rows of `VALUES` may follow.
    in_values: bool,
    /// The byte before, without white space and comments.
    before: u8,
}

impl<'s> Marks<'s> {
    fn of(sql: &'s str) -> Self {
        Marks { sql: sql.as_bytes(), at: 0, depth: 0, in_values: false, before: 0 }
    }

    fn rest(&self) -> &'s [u8] {
        &self.sql[self.at.min(self.sql.len())..]
    }

    fn skip_past(&mut self, end: &[u8]) {
        let rest = self.rest();
        self.at += rest.windows(end.len()).position(|window| window == end).map_or(rest.len(), |found| found + end.len());
    }

    /// A doubled quote ends one literal and begins the next, which has the same effect.
    fn skip_quoted(&mut self, quote: u8) {
        while let Some(&byte) = self.sql.get(self.at) {
            self.at += if byte == b'\\' && quote != b'`' { 2 } else { 1 };
            if byte == quote {
                return;
            }
        }
    }

    fn skip_word(&mut self, start: usize) {
        self.at += self.rest().iter().take_while(|byte| is_of_name(**byte)).count();
        if self.depth == 0 {
            let word = &self.sql[start..self.at];
            self.in_values = word.eq_ignore_ascii_case(b"VALUES") || word.eq_ignore_ascii_case(b"VALUE");
        }
    }

    fn is_whole_value(&self) -> bool {
        let after = self.rest().iter().find(|byte| !byte.is_ascii_whitespace());
        self.in_values && self.depth == 1 && matches!(self.before, b'(' | b',') && matches!(after, Some(b')' | b','))
    }
}

impl Iterator for Marks<'_> {
    type Item = Mark;

    fn next(&mut self) -> Option<Mark> {
        while let Some(&byte) = self.sql.get(self.at) {
            let start = self.at;
            self.at += 1;
            match (byte, self.rest()) {
                (b'#', _) => self.skip_past(b"\n"),
                (b'-', [b'-', after, ..]) if after.is_ascii_whitespace() => self.skip_past(b"\n"),
                // Text in `/*! */` is run.
                (b'/', [b'*', after, ..]) if !matches!(after, b'!' | b'M') => self.skip_past(b"*/"),
                (b' ' | b'\t' | b'\n' | b'\r', _) => {}
                _ => {
                    let mark = (byte == b'?').then(|| Mark { at: start, is_whole_value: self.is_whole_value() });
                    match byte {
                        b'\'' | b'"' | b'`' => self.skip_quoted(byte),
                        b'(' => self.depth += 1,
                        b')' => self.depth = self.depth.saturating_sub(1),
                        _ if is_of_name(byte) => self.skip_word(start),
                        b',' => {}
                        _ => self.in_values &= self.depth > 0,
                    }
                    self.before = byte;
                    if mark.is_some() {
                        return mark;
                    }
                }
            }
        }
        None
    }
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || byte >= 0x80
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_cast_where_the_server_may_compute_with_them() {
        for (sql, expected) in [
            ("SELECT ? + n", "SELECT CAST(? AS DECIMAL(65,2)) + n"),
            ("UPDATE t SET n = n + ? WHERE a = '?'", "UPDATE t SET n = n + CAST(? AS DECIMAL(65,2)) WHERE a = '?'"),
            (r"SELECT 'it\'s ?', `a?`, ? # ?", r"SELECT 'it\'s ?', `a?`, CAST(? AS DECIMAL(65,2)) # ?"),
            ("SELECT /* ? */ ? -- ?\n", "SELECT /* ? */ CAST(? AS DECIMAL(65,2)) -- ?\n"),
            ("SELECT 1--? /*! + 1 */", "SELECT 1--CAST(? AS DECIMAL(65,2)) /*! + 1 */"),
            ("INSERT INTO t VALUES (1, ?)", "INSERT INTO t VALUES (1, ?)"),
            ("INSERT INTO t (a) values ( ? ), (2)", "INSERT INTO t (a) values ( ? ), (2)"),
            ("INSERT INTO t VALUES (1 + ?)", "INSERT INTO t VALUES (1 + CAST(? AS DECIMAL(65,2)))"),
            ("INSERT INTO t VALUES (abs(?))", "INSERT INTO t VALUES (abs(CAST(? AS DECIMAL(65,2))))"),
            (
                "INSERT INTO t VALUES (1) ON DUPLICATE KEY UPDATE n = VALUES(n) + greatest(n, ?)",
                "INSERT INTO t VALUES (1) ON DUPLICATE KEY UPDATE n = VALUES(n) + greatest(n, CAST(? AS DECIMAL(65,2)))",
            ),
            ("SELECT ?, ?", "SELECT ?, ?"),
            ("SELECT 1", "SELECT 1"),
        ] {
            let statement = Statement::new(sql.to_owned(), vec![Param::Decimal("-12.50".to_owned())]);
            assert_eq!(exact(&statement), expected);
        }
    }

    #[test]
    fn the_scale_is_that_of_the_number() {
        let cases = [("0.1", Some(1)), ("18446744073709551616", Some(0)), ("NaN", None), ("-Infinity", None)];
        for (text, expected) in cases {
            assert_eq!(scale(&Param::Decimal(text.to_owned())), expected);
        }
        assert_eq!(scale(&Param::Decimal(format!("0.{}", "1".repeat(31)))), None);
        assert_eq!(scale(&Param::Decimal("1".repeat(66))), None);
        assert_eq!(scale(&Param::Decimal("18446744073709551615".to_owned())), None);
        assert_eq!(scale(&Param::Text("0.1".to_owned())), None);
    }
}
