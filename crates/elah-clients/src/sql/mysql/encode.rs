//! Parameters in MySQL's binary protocol.

use mysql_async::{Params, Value};

use crate::sql::calendar::date_from_days;
use crate::sql::statement::Statement;
use crate::sql::value::Param;

/// The parameters of a statement, in order.
pub(super) fn params(statement: &Statement) -> Params {
    match &*statement.params {
        [] => Params::Empty,
        params => Params::Positional(params.iter().map(value).collect()),
    }
}

fn value(param: &Param) -> Value {
    match param {
        Param::Null => Value::NULL,
        Param::Bool(value) => Value::Int((*value).into()),
        Param::Int(number) => Value::Int(*number),
        Param::Float(number) => Value::Double(*number),
        Param::Decimal(text) | Param::Text(text) | Param::Json(text) => Value::Bytes(text.clone().into_bytes()),
        Param::Bytes(bytes) => Value::Bytes(bytes.clone()),
        Param::Date(days) => {
            let (year, month, day) = date_from_days(*days);
            Value::Date(year_of(year), month, day, 0, 0, 0, 0)
        }
        Param::Timestamp(moment) => {
            let (year, month, day, hour, minute, second) = moment.civil();
            Value::Date(year_of(year), month, day, hour, minute, second, moment.micros)
        }
        // The caller refuses arrays: MySQL has none.
        Param::Array(_) => Value::NULL,
    }
}

/// The server refuses a year that does not fit; it knows the years 0 to 9999.
fn year_of(year: i64) -> u16 {
    u16::try_from(year).unwrap_or(u16::MAX)
}
