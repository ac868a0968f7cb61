//! Parameters in PostgreSQL's input formats: bytes for `bytea`, text for everything else. So its own input functions decide what
//! a value means for a column's type.

use std::error::Error;
use std::fmt::Write;

use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{Format, IsNull, Kind, ToSql, Type};

use crate::sql::value::{Date, Param, Timestamp};

impl ToSql for Param {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Param::Null => return Ok(IsNull::Yes),
            Param::Text(text) => out.extend_from_slice(text.as_bytes()),
            Param::Bytes(bytes) => out.extend_from_slice(bytes),
            other if is_json(ty) => out.extend_from_slice(json(other).as_bytes()),
            Param::Array(elements) => out.extend_from_slice(array(elements).as_bytes()),
            other => out.extend_from_slice(text(other).as_bytes()),
        }
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, ty: &Type) -> Format {
        if is_bytea(ty) && matches!(self, Param::Text(_) | Param::Bytes(_)) { Format::Binary } else { Format::Text }
    }

    fn to_sql_checked(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        self.to_sql(ty, out)
    }
}

fn is_bytea(ty: &Type) -> bool {
    *base(ty) == Type::BYTEA
}

fn is_json(ty: &Type) -> bool {
    [Type::JSON, Type::JSONB].contains(base(ty))
}

/// The type below the domains.
fn base(ty: &Type) -> &Type {
    match ty.kind() {
        Kind::Domain(below) => base(below),
        _ => ty,
    }
}

fn text(param: &Param) -> String {
    match param {
        Param::Null => "NULL".to_owned(),
        Param::Bool(value) => if *value { "t" } else { "f" }.to_owned(),
        Param::Int(number) => number.to_string(),
        // What floating-point types, numbers, dates and times all read.
        Param::Float(number) if number.is_infinite() => if *number > 0.0 { "infinity" } else { "-infinity" }.to_owned(),
        Param::Float(number) => format!("{number:?}"),
        Param::Decimal(text) | Param::Text(text) | Param::Json(text) => text.clone(),
        Param::Bytes(bytes) => bytes.iter().fold("\\x".to_owned(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        }),
        Param::Date(day) => date(*day),
        Param::Timestamp(moment) => timestamp(*moment),
        Param::Array(elements) => array(elements),
    }
}

fn date(Date { year, month, day }: Date) -> String {
    // There is no year 0: the one before 1 is 1 BC.
    if year > 0 { format!("{year:04}-{month:02}-{day:02}") } else { format!("{:04}-{month:02}-{day:02} BC", 1 - year) }
}

fn timestamp(moment: Timestamp) -> String {
    let (year, month, day, hour, minute, second) = moment.civil();
    let (shown, era) = if year > 0 { (year, "") } else { (1 - year, " BC") };
    format!("{shown:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{:06}+00{era}", moment.micros)
}

/// `{1,NULL,"a \"b\""}`
fn array(elements: &[Param]) -> String {
    let elements: Vec<_> = elements
        .iter()
        .map(|element| match element {
            Param::Null => "NULL".to_owned(),
            Param::Array(inner) => array(inner),
            other => format!("\"{}\"", text(other).replace('\\', "\\\\").replace('"', "\\\"")),
        })
        .collect();
    format!("{{{}}}", elements.join(","))
}

fn json(param: &Param) -> String {
    match param {
        Param::Null => "null".to_owned(),
        Param::Bool(value) => value.to_string(),
        Param::Int(_) | Param::Float(_) | Param::Decimal(_) | Param::Json(_) => text(param),
        Param::Array(elements) => format!("[{}]", elements.iter().map(json).collect::<Vec<_>>().join(",")),
        // Bytes that are no text: the server refuses them as they are written here.
        Param::Bytes(bytes) => std::str::from_utf8(bytes).map_or_else(|_| text(param), json_string),
        Param::Text(_) | Param::Date(_) | Param::Timestamp(_) => json_string(&text(param)),
    }
}

fn json_string(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            control if control < ' ' => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(control));
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_quote_what_they_hold() {
        let inner = Param::Array(vec![Param::Int(1), Param::Null]);
        let param = [inner, Param::Text("a \"b\" \\ {c}".to_owned()), Param::Text("NULL".to_owned())];
        assert_eq!(array(&param), r#"{{"1",NULL},"a \"b\" \\ {c}","NULL"}"#);
        assert_eq!(array(&[]), "{}");
    }

    #[test]
    fn json_arrays_are_json() {
        let param = Param::Array(vec![Param::Text("a\"\n".to_owned()), Param::Json("{\"b\":1}".to_owned()), Param::Null]);
        assert_eq!(json(&param), r#"["a\"\u000a",{"b":1},null]"#);
    }

    #[test]
    fn dates_before_the_year_1_are_bc() {
        assert_eq!(date(Date { year: 0, month: 12, day: 31 }), "0001-12-31 BC");
        assert_eq!(date(Date { year: 1970, month: 1, day: 1 }), "1970-01-01");
        assert_eq!(timestamp(Timestamp { seconds: -1, micros: 5 }), "1969-12-31 23:59:59.000005+00");
    }
}
