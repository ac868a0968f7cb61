//! Values of rows from MySQL's binary and text protocols.

use std::borrow::Cow;

use mysql_async::consts::{ColumnFlags, ColumnType as Type};
use mysql_async::{Column, Row, Value};

use crate::sql::calendar::{SECONDS_PER_DAY, days_from_date};
use crate::sql::value::{Cell, Date, Timestamp};

/// The character set of binary data.
const BINARY: u16 = 63;

/// The value of a column; an error is the end of a sentence about it.
pub(crate) fn cell(row: &Row, column: usize) -> Result<Cell<'_>, String> {
    let (Some(value), Some(described)) = (row.as_ref(column), row.columns_ref().get(column)) else { return Ok(Cell::Null) };
    Ok(match value {
        Value::NULL => Cell::Null,
        Value::Int(number) if is_boolean(described) => Cell::Bool(*number != 0),
        Value::Int(number) => Cell::Int(*number),
        Value::UInt(number) => Cell::Unsigned(*number),
        // Converted by its shortest digits: 0.1 stays 0.1.
        Value::Float(number) => Cell::Float(number.to_string().parse().unwrap_or(f64::from(*number))),
        Value::Double(number) => Cell::Float(*number),
        Value::Date(year, month, day, hour, minute, second, micros) => moment(
            described,
            [*year, (*month).into(), (*day).into(), (*hour).into(), (*minute).into(), (*second).into()],
            *micros,
        ),
        Value::Time(is_negative, days, hours, minutes, seconds, micros) => {
            let text = time_of_day(*is_negative, days * 24 + u32::from(*hours), *minutes, *seconds, *micros);
            Cell::Text(text.into())
        }
        Value::Bytes(bytes) => {
            return from_bytes(described, bytes).ok_or_else(|| "cannot be read: it is not what its type says".to_owned());
        }
    })
}

/// BOOLEAN is TINYINT(1) here.
fn is_boolean(column: &Column) -> bool {
    column.column_type() == Type::MYSQL_TYPE_TINY && column.column_length() == 1
}

fn from_bytes<'r>(column: &Column, bytes: &'r [u8]) -> Option<Cell<'r>> {
    let text = || std::str::from_utf8(bytes).ok();
    Some(match column.column_type() {
        Type::MYSQL_TYPE_DECIMAL | Type::MYSQL_TYPE_NEWDECIMAL => Cell::Decimal(text()?.to_owned()),
        Type::MYSQL_TYPE_JSON => Cell::Json(text()?),
        Type::MYSQL_TYPE_TINY if is_boolean(column) => Cell::Bool(text()? != "0"),
        Type::MYSQL_TYPE_TINY
        | Type::MYSQL_TYPE_SHORT
        | Type::MYSQL_TYPE_INT24
        | Type::MYSQL_TYPE_LONG
        | Type::MYSQL_TYPE_LONGLONG
        | Type::MYSQL_TYPE_YEAR => match column.flags().contains(ColumnFlags::UNSIGNED_FLAG) {
            true => Cell::Unsigned(text()?.parse().ok()?),
            false => Cell::Int(text()?.parse().ok()?),
        },
        Type::MYSQL_TYPE_FLOAT | Type::MYSQL_TYPE_DOUBLE => Cell::Float(text()?.parse().ok()?),
        Type::MYSQL_TYPE_DATE | Type::MYSQL_TYPE_NEWDATE | Type::MYSQL_TYPE_DATETIME | Type::MYSQL_TYPE_TIMESTAMP => {
            moment_from_text(column, text()?)?
        }
        Type::MYSQL_TYPE_BIT | Type::MYSQL_TYPE_GEOMETRY => Cell::Bytes(Cow::Borrowed(bytes)),
        Type::MYSQL_TYPE_TIME => Cell::Text(Cow::Borrowed(text()?)),
        _ if column.character_set() == BINARY => Cell::Bytes(Cow::Borrowed(bytes)),
        _ => Cell::Text(Cow::Borrowed(text()?)),
    })
}

/// The year, month, day, hour, minute and second. MySQL's zero date is not a date.
fn moment(column: &Column, civil: [u16; 6], micros: u32) -> Cell<'static> {
    let [year, month, day, hour, minute, second] = civil;
    if month == 0 || day == 0 {
        return Cell::Null;
    }
    let (year, month, day) = (year.into(), month as u8, day as u8);
    if matches!(column.column_type(), Type::MYSQL_TYPE_DATE | Type::MYSQL_TYPE_NEWDATE) {
        return Cell::Date(Date { year, month, day });
    }
    let seconds =
        days_from_date(year, month, day) * SECONDS_PER_DAY + i64::from(hour) * 3600 + i64::from(minute) * 60 + i64::from(second);
    Cell::Timestamp(Timestamp { seconds, micros })
}

/// `2026-11-21` or `2026-11-21 01:02:03.456`
fn moment_from_text(column: &Column, text: &str) -> Option<Cell<'static>> {
    let (civil, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut numbers = [0; 6];
    for (number, part) in numbers.iter_mut().zip(civil.split(['-', ' ', ':'])) {
        *number = part.parse().ok()?;
    }
    let micros = format!("{fraction:0<6}").parse().ok()?;
    Some(moment(column, numbers, micros))
}

/// A length of time, from -838:59:59 to 838:59:59.
fn time_of_day(is_negative: bool, hours: u32, minutes: u8, seconds: u8, micros: u32) -> String {
    let sign = if is_negative { "-" } else { "" };
    let text = format!("{sign}{hours:02}:{minutes:02}:{seconds:02}");
    if micros == 0 { text } else { format!("{text}.{micros:06}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(column_type: Type) -> Column {
        Column::new(column_type)
    }

    #[test]
    fn moments_are_read_from_text_as_from_numbers() {
        let datetime = column(Type::MYSQL_TYPE_DATETIME);
        let expected = Cell::Timestamp(Timestamp { seconds: 1_795_222_861, micros: 450_000 });
        assert_eq!(moment(&datetime, [2026, 11, 21, 1, 1, 1], 450_000), expected);
        assert_eq!(moment_from_text(&datetime, "2026-11-21 01:01:01.45"), Some(expected));
        assert_eq!(
            moment_from_text(&column(Type::MYSQL_TYPE_DATE), "2026-11-21"),
            Some(Cell::Date(Date { year: 2026, month: 11, day: 21 }))
        );
        assert_eq!(moment_from_text(&datetime, "0000-00-00 00:00:00"), Some(Cell::Null));
        assert_eq!(moment_from_text(&datetime, "soon"), None);
    }

    #[test]
    fn lengths_of_time_are_text() {
        assert_eq!(time_of_day(true, 25, 1, 2, 0), "-25:01:02");
        assert_eq!(time_of_day(false, 1, 1, 2, 30), "01:01:02.000030");
    }
}
