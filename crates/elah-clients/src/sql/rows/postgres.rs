//! Values of rows from PostgreSQL's binary formats.

use std::borrow::Cow;
use std::error::Error;
use std::fmt::Write;

use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, Kind, Type};

use crate::sql::calendar::{MICROS_PER_SECOND, SECONDS_PER_DAY, date_from_days};
use crate::sql::value::{Cell, Date, Timestamp};

/// 2000-01-01, from which PostgreSQL counts.
const EPOCH_DAYS: i64 = 10_957;

/// Nested arrays and domains; PostgreSQL itself allows 6 dimensions.
const DIMENSIONS_MAX: i32 = 6;

type Failed = Box<dyn Error + Sync + Send>;

/// The value of a column; an error is the end of a sentence about it.
pub(crate) fn cell(row: &Row, column: usize) -> Result<Cell<'_>, String> {
    let Some(described) = row.columns().get(column) else { return Ok(Cell::Null) };
    row.try_get::<_, Decoded<'_>>(column).map(|decoded| decoded.0).map_err(|error| {
        let cause = std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
        format!("of type {} cannot be read: {cause}", described.type_().name())
    })
}

struct Decoded<'r>(Cell<'r>);

impl<'r> FromSql<'r> for Decoded<'r> {
    fn from_sql(ty: &Type, raw: &'r [u8]) -> Result<Self, Failed> {
        decode(ty, raw).map(Decoded)
    }

    fn from_sql_null(_: &Type) -> Result<Self, Failed> {
        Ok(Decoded(Cell::Null))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

fn decode<'r>(ty: &Type, raw: &'r [u8]) -> Result<Cell<'r>, Failed> {
    Ok(match *ty {
        Type::BOOL => Cell::Bool(bool::from_sql(ty, raw)?),
        Type::INT2 => Cell::Int(i16::from_sql(ty, raw)?.into()),
        Type::INT4 => Cell::Int(i32::from_sql(ty, raw)?.into()),
        Type::INT8 => Cell::Int(i64::from_sql(ty, raw)?),
        Type::OID | Type::XID => Cell::Int(u32::from_be_bytes(raw.try_into()?).into()),
        // Converted by its shortest digits: 0.1 stays 0.1.
        Type::FLOAT4 => Cell::Float(f32::from_sql(ty, raw)?.to_string().parse()?),
        Type::FLOAT8 => Cell::Float(f64::from_sql(ty, raw)?),
        Type::NUMERIC => Cell::Decimal(numeric(raw)?),
        Type::TEXT | Type::VARCHAR | Type::BPCHAR | Type::NAME | Type::CHAR | Type::UNKNOWN | Type::XML => text(raw)?,
        Type::BYTEA => Cell::Bytes(Cow::Borrowed(raw)),
        Type::JSON => Cell::Json(std::str::from_utf8(raw)?),
        // The first byte is the version of the format.
        Type::JSONB => Cell::Json(std::str::from_utf8(raw.get(1..).unwrap_or_default())?),
        Type::UUID => Cell::Text(uuid(raw)?.into()),
        Type::DATE => date(i32::from_be_bytes(raw.try_into()?)),
        Type::TIMESTAMP | Type::TIMESTAMPTZ => timestamp(i64::from_be_bytes(raw.try_into()?)),
        Type::TIME => Cell::Text(time_of_day(i64::from_be_bytes(raw.try_into()?)).into()),
        Type::VOID => Cell::Null,
        _ => return decode_by_kind(ty, raw),
    })
}

fn decode_by_kind<'r>(ty: &Type, raw: &'r [u8]) -> Result<Cell<'r>, Failed> {
    match ty.kind() {
        Kind::Domain(base) => decode(base, raw),
        Kind::Enum(_) => text(raw),
        Kind::Array(element) => array(element, raw),
        _ if matches!(ty.name(), "citext" | "ltree") => text(raw),
        _ => Err("it has no Ruby class here; cast it in the statement, as in name::text".into()),
    }
}

fn text(raw: &[u8]) -> Result<Cell<'_>, Failed> {
    Ok(Cell::Text(Cow::Borrowed(std::str::from_utf8(raw)?)))
}

fn uuid(raw: &[u8]) -> Result<String, Failed> {
    let raw: [u8; 16] = raw.try_into()?;
    let mut text = String::with_capacity(36);
    for (at, byte) in raw.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        write!(text, "{byte:02x}")?;
    }
    Ok(text)
}

fn date(days: i32) -> Cell<'static> {
    match days {
        i32::MAX => Cell::Float(f64::INFINITY),
        i32::MIN => Cell::Float(f64::NEG_INFINITY),
        days => {
            let (year, month, day) = date_from_days(EPOCH_DAYS + i64::from(days));
            Cell::Date(Date { year, month, day })
        }
    }
}

fn timestamp(micros: i64) -> Cell<'static> {
    match micros {
        i64::MAX => Cell::Float(f64::INFINITY),
        i64::MIN => Cell::Float(f64::NEG_INFINITY),
        micros => Cell::Timestamp(Timestamp {
            seconds: EPOCH_DAYS * SECONDS_PER_DAY + micros.div_euclid(MICROS_PER_SECOND),
            micros: micros.rem_euclid(MICROS_PER_SECOND) as u32,
        }),
    }
}

fn time_of_day(micros: i64) -> String {
    let (second, micros) = (micros / MICROS_PER_SECOND, micros % MICROS_PER_SECOND);
    let text = format!("{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60);
    if micros == 0 { text } else { format!("{text}.{micros:06}") }
}

/// Groups of four decimal digits, the weight of the first, and the number of digits after the point.
fn numeric(raw: &[u8]) -> Result<String, Failed> {
    let (head, groups) = raw.split_at_checked(8).ok_or("too few bytes")?;
    let number = |at: usize| i16::from_be_bytes([head[at], head[at + 1]]);
    let (weight, sign, scale) = (i32::from(number(2)), number(4) as u16, number(6) as usize);
    match sign {
        0xC000 => return Ok("NaN".to_owned()),
        0xD000 => return Ok("Infinity".to_owned()),
        0xF000 => return Ok("-Infinity".to_owned()),
        _ => {}
    }
    let groups: Vec<i32> = groups.chunks_exact(2).map(|pair| i16::from_be_bytes([pair[0], pair[1]]).into()).collect();
    let group = |place: i32| usize::try_from(place).ok().and_then(|place| groups.get(place)).copied().unwrap_or(0);
    let mut text = if sign == 0x4000 { "-" } else { "" }.to_owned();
    if weight < 0 {
        text.push('0');
    }
    for place in 0..=weight {
        if place == 0 { write!(text, "{}", group(place))? } else { write!(text, "{:04}", group(place))? }
    }
    if scale > 0 {
        let mut fraction = String::with_capacity(scale + 4);
        let mut place = weight + 1;
        // A number below 0.0001 begins with groups that are not sent.
        for _ in 0..(-1 - weight).max(0) {
            fraction.push_str("0000");
        }
        if weight < -1 {
            place = 0;
        }
        while fraction.len() < scale {
            write!(fraction, "{:04}", group(place))?;
            place += 1;
        }
        fraction.truncate(scale);
        text.push('.');
        text.push_str(&fraction);
    }
    Ok(text)
}

/// Reads the parts of an array in order.
struct Reader<'r>(&'r [u8]);

impl<'r> Reader<'r> {
    fn take(&mut self, count: usize) -> Result<&'r [u8], Failed> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or("too few bytes")?;
        self.0 = rest;
        Ok(taken)
    }

    fn int(&mut self) -> Result<i32, Failed> {
        Ok(i32::from_be_bytes(self.take(4)?.try_into()?))
    }
}

/// The number of dimensions, a flag, the type of the elements, the size and the lower bound of each dimension, the elements.
fn array<'r>(element: &Type, raw: &'r [u8]) -> Result<Cell<'r>, Failed> {
    let mut reader = Reader(raw);
    let dimensions = reader.int()?;
    reader.take(8)?;
    if !(0..=DIMENSIONS_MAX).contains(&dimensions) {
        return Err("too many dimensions".into());
    }
    let mut sizes = Vec::new();
    for _ in 0..dimensions {
        sizes.push(reader.int()?);
        reader.int()?;
    }
    if sizes.is_empty() {
        return Ok(Cell::Array(Vec::new()));
    }
    elements(element, &sizes, &mut reader)
}

fn elements<'r>(element: &Type, sizes: &[i32], reader: &mut Reader<'r>) -> Result<Cell<'r>, Failed> {
    let Some((size, inner)) = sizes.split_first() else {
        return match reader.int()? {
            -1 => Ok(Cell::Null),
            bytes => decode(element, reader.take(usize::try_from(bytes)?)?),
        };
    };
    let mut cells = Vec::new();
    for _ in 0..*size {
        cells.push(elements(element, inner, reader)?);
    }
    Ok(Cell::Array(cells))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(weight: i16, sign: u16, scale: u16, groups: &[i16]) -> String {
        let mut raw = Vec::new();
        raw.extend((groups.len() as i16).to_be_bytes());
        raw.extend(weight.to_be_bytes());
        raw.extend(sign.to_be_bytes());
        raw.extend(scale.to_be_bytes());
        groups.iter().for_each(|group| raw.extend(group.to_be_bytes()));
        numeric(&raw).unwrap()
    }

    #[test]
    fn numerics_have_all_their_digits() {
        assert_eq!(number(0, 0, 0, &[]), "0");
        assert_eq!(number(0, 0, 2, &[12, 3400]), "12.34");
        assert_eq!(number(1, 0x4000, 0, &[1, 5]), "-10005");
        assert_eq!(number(2, 0, 0, &[1]), "100000000");
        assert_eq!(number(-1, 0, 4, &[12]), "0.0012");
        assert_eq!(number(-2, 0, 8, &[12]), "0.00000012");
        assert_eq!(number(-3, 0, 12, &[7]), "0.000000000007");
        assert_eq!(number(0, 0, 3, &[]), "0.000");
        assert_eq!(number(0, 0xC000, 0, &[]), "NaN");
        assert_eq!(number(0, 0xF000, 0, &[]), "-Infinity");
    }

    #[test]
    fn arrays_nest_and_broken_ones_are_refused() {
        let mut raw = Vec::new();
        for word in [2, 0, 23, 2, 1, 1, 1, 4, 7, -1] {
            raw.extend(i32::to_be_bytes(word));
        }
        let nested = Cell::Array(vec![Cell::Array(vec![Cell::Int(7)]), Cell::Array(vec![Cell::Null])]);
        assert_eq!(array(&Type::INT4, &raw).unwrap(), nested);
        assert!(array(&Type::INT4, &raw[..raw.len() - 6]).is_err());
        assert!(array(&Type::INT4, &[0; 12]).is_ok_and(|cell| cell == Cell::Array(Vec::new())));
    }

    #[test]
    fn the_ends_of_time_are_infinite() {
        assert_eq!(timestamp(i64::MAX), Cell::Float(f64::INFINITY));
        assert_eq!(date(i32::MIN), Cell::Float(f64::NEG_INFINITY));
        assert_eq!(timestamp(-1), Cell::Timestamp(Timestamp { seconds: 946_684_799, micros: 999_999 }));
        assert_eq!(time_of_day(3_661_000_001), "01:01:01.000001");
    }
}
