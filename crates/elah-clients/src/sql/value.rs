//! Values: parameters of statements, and cells of rows.

use std::borrow::Cow;

use super::calendar::{SECONDS_PER_DAY, date_from_days};

/// A date as it is written, without a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Date {
    /// 0 is the year before 1.
    pub year: i64,
    pub month: u8,
    pub day: u8,
}

/// A moment, from 1970-01-01 00:00 UTC. A column without a zone is read, and written, as UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timestamp {
    pub seconds: i64,
    /// Microseconds after `seconds`: less than a million.
    pub micros: u32,
}

impl Timestamp {
    /// Year, month, day, hour, minute and second in UTC.
    pub(super) fn civil(self) -> (i64, u8, u8, u8, u8, u8) {
        let (year, month, day) = date_from_days(self.seconds.div_euclid(SECONDS_PER_DAY));
        let second = self.seconds.rem_euclid(SECONDS_PER_DAY);
        (year, month, day, (second / 3600) as u8, (second / 60 % 60) as u8, (second % 60) as u8)
    }
}

/// A value for a placeholder.
#[derive(Debug, Clone, PartialEq)]
pub enum Param {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    /// A decimal number in digits, with any number of them.
    Decimal(String),
    Text(String),
    Bytes(Vec<u8>),
    /// A JSON document.
    Json(String),
    Date(Date),
    Timestamp(Timestamp),
    Array(Vec<Param>),
}

/// A value of a row.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell<'r> {
    Null,
    Bool(bool),
    Int(i64),
    Unsigned(u64),
    Float(f64),
    /// A decimal number in digits, or `NaN`, `Infinity`, `-Infinity`.
    Decimal(String),
    Text(Cow<'r, str>),
    Bytes(Cow<'r, [u8]>),
    /// A JSON document.
    Json(&'r str),
    Date(Date),
    Timestamp(Timestamp),
    Array(Vec<Cell<'r>>),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_before_1970_have_a_positive_time_of_day() {
        let moment = Timestamp { seconds: -1, micros: 500_000 };
        assert_eq!(moment.civil(), (1969, 12, 31, 23, 59, 59));
        assert_eq!(Timestamp { seconds: 1_795_219_200 + 3_661, micros: 0 }.civil(), (2026, 11, 21, 1, 1, 1));
    }
}
