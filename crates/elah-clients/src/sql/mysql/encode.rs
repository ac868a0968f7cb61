//! Parameters in MySQL's binary protocol.

use mysql_async::{Params, Value};

use super::decimals::cast_bytes;
use crate::sql::statement::Statement;
use crate::sql::value::Param;

/// The parameters of a statement, in order.
pub(super) fn params(statement: &Statement) -> Params {
    match &*statement.params {
        [] => Params::Empty,
        params => Params::Positional(params.iter().map(value).collect()),
    }
}

/// Bytes of the longest packet that carries the statement, at most: its text, or its parameters each with type and length.
pub(super) fn bytes(statement: &Statement) -> usize {
    const OF_A_PACKET: usize = 64;
    const OF_A_PARAM: usize = 16;
    let value_bytes = |param: &Param| match param {
        Param::Decimal(text) | Param::Text(text) | Param::Json(text) => text.len(),
        Param::Bytes(bytes) => bytes.len(),
        _ => 0,
    };
    let of_params = statement.params.iter().map(|param| value_bytes(param) + OF_A_PARAM).sum::<usize>();
    OF_A_PACKET + of_params.max(statement.sql.len() + cast_bytes(statement))
}

fn value(param: &Param) -> Value {
    match param {
        Param::Null => Value::NULL,
        Param::Bool(value) => Value::Int((*value).into()),
        Param::Int(number) => Value::Int(*number),
        Param::Float(number) => Value::Double(*number),
        // An integer above those of `Param::Int`.
        Param::Decimal(text) => text.parse().map_or_else(|_| Value::Bytes(text.clone().into_bytes()), Value::UInt),
        Param::Text(text) | Param::Json(text) => Value::Bytes(text.clone().into_bytes()),
        Param::Bytes(bytes) => Value::Bytes(bytes.clone()),
        Param::Date(date) => Value::Date(year_of(date.year), date.month, date.day, 0, 0, 0, 0),
        Param::Timestamp(moment) => {
            let (year, month, day, hour, minute, second) = moment.civil();
            Value::Date(year_of(year), month, day, hour, minute, second, moment.micros)
        }
        // The caller refuses arrays: MySQL has none.
        Param::Array(_) => Value::NULL,
    }
}

/// A year that the server knows: it would store the zero date for any other.
fn year_of(year: i64) -> u16 {
    u16::try_from(year).unwrap_or_default()
}

/// The first year among the parameters that the server does not know.
pub(super) fn unknown_year(statement: &Statement) -> Option<i64> {
    let years = statement.params.iter().filter_map(|param| match param {
        Param::Date(date) => Some(date.year),
        Param::Timestamp(moment) => Some(moment.civil().0),
        _ => None,
    });
    years.into_iter().find(|year| !(0..=9999).contains(year))
}
