//! Parameters in PostgreSQL's input formats: bytes for `bytea`, text for everything else. So its own input functions decide what
//! a value means for a column's type.

use std::borrow::Cow;
use std::error::Error;
use std::fmt::Write;

use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{Format, IsNull, Kind, ToSql, Type};

use crate::sql::value::{Date, Param, Timestamp};

impl ToSql for Param {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        if matches!(self, Param::Null) {
            return Ok(IsNull::Yes);
        }
        out.extend_from_slice(&value(self, ty));
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, ty: &Type) -> Format {
        if is_bytea(ty) && matches!(self, Param::Text(_) | Param::Bytes(_) | Param::Json(_)) {
            Format::Binary
        } else {
            Format::Text
        }
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

/// The type of an array's elements.
fn element(ty: &Type) -> &Type {
    match base(ty).kind() {
        Kind::Array(element) => element,
        _ => ty,
    }
}

fn value<'p>(param: &'p Param, ty: &Type) -> Cow<'p, [u8]> {
    match param {
        Param::Text(text) => text.as_bytes().into(),
        Param::Bytes(bytes) => bytes.into(),
        other if is_json(ty) => json(other).into_bytes().into(),
        Param::Array(elements) => array(elements, element(ty)).into(),
        other => text(other).into_bytes().into(),
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
        Param::Bytes(bytes) => hex(bytes),
        Param::Date(day) => date(*day),
        Param::Timestamp(moment) => timestamp(*moment),
        Param::Array(_) => json(param),
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

/// `{"1",NULL,"a \"b\""}`: each element as if it were a parameter by itself, but bytes of `bytea`, which are written in text here.
fn array(elements: &[Param], ty: &Type) -> Vec<u8> {
    let mut out = b"{".to_vec();
    for (at, element) in elements.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        match element {
            Param::Null => out.extend_from_slice(b"NULL"),
            Param::Array(inner) => out.extend(array(inner, ty)),
            Param::Text(_) | Param::Bytes(_) | Param::Json(_) if is_bytea(ty) => {
                quote(hex(&value(element, ty)).as_bytes(), &mut out)
            }
            other => quote(&value(other, ty), &mut out),
        }
    }
    out.push(b'}');
    out
}

fn quote(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    for byte in text {
        if matches!(byte, b'"' | b'\\') {
            out.push(b'\\');
        }
        out.push(*byte);
    }
    out.push(b'"');
}

/// The text form of `bytea`.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold("\\x".to_owned(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
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
        assert_eq!(array(&param, &Type::TEXT), br#"{{"1",NULL},"a \"b\" \\ {c}","NULL"}"#);
        assert_eq!(array(&[], &Type::TEXT), b"{}");
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
