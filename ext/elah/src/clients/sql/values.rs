//! Rows as Ruby objects. A column's name is one String object for all rows of the process.

use arrayvec::ArrayVec;
use elah_clients::sql::{Cell, Date, Rows, Timestamp};
use magnus::time::{Offset, Timespec};
use magnus::value::ReprValue;
use magnus::{Error, IntoValue, Module, RArray, RClass, RHash, RModule, Ruby, Value};

use super::errors::raised;
use crate::ruby::utf8;

/// Pairs that are added to a Hash in one call.
const PAIRS: usize = 32;

/// The form in which the caller wants the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// An Array of Hashes.
    Hashes,
    /// An Array of Arrays.
    Arrays,
    /// The first row as a Hash, or nil.
    First,
    /// The first value of the first row, or nil.
    Value,
    /// The numbers of changed rows and of the new row.
    Counts,
}

impl Shape {
    pub(super) fn from_number(ruby: &Ruby, number: u8) -> Result<Shape, Error> {
        let shapes = [Shape::Hashes, Shape::Arrays, Shape::First, Shape::Value, Shape::Counts];
        shapes
            .get(usize::from(number))
            .copied()
            .ok_or_else(|| Error::new(ruby.exception_arg_error(), format!("There is no shape {number}.")))
    }
}

pub(super) fn shaped(ruby: &Ruby, rows: &Rows, shape: Shape) -> Result<Value, Error> {
    match shape {
        Shape::Hashes => {
            let names = names(ruby, rows)?;
            let array = ruby.ary_new_capa(rows.len());
            for row in 0..rows.len() {
                array.push(hash(ruby, rows, row, names)?)?;
            }
            Ok(array.as_value())
        }
        Shape::Arrays => {
            let array = ruby.ary_new_capa(rows.len());
            for row in 0..rows.len() {
                let values = ruby.ary_new_capa(rows.width());
                for column in 0..rows.width() {
                    values.push(cell(ruby, rows, row, column)?)?;
                }
                array.push(values)?;
            }
            Ok(array.as_value())
        }
        Shape::First if rows.is_empty() => Ok(ruby.qnil().as_value()),
        Shape::First => Ok(hash(ruby, rows, 0, names(ruby, rows)?)?.as_value()),
        Shape::Value => cell(ruby, rows, 0, 0),
        Shape::Counts => Ok((rows.affected_rows, rows.last_insert_id).into_value_with(ruby)),
    }
}

fn names(ruby: &Ruby, rows: &Rows) -> Result<RArray, Error> {
    let names = ruby.ary_new_capa(rows.width());
    for column in 0..rows.width() {
        names.push(utf8::interned(&rows.column_name(column))?)?;
    }
    Ok(names)
}

fn hash(ruby: &Ruby, rows: &Rows, row: usize, names: RArray) -> Result<RHash, Error> {
    let hash = ruby.hash_new();
    let mut column = 0;
    while column < rows.width() {
        // On the stack, where Ruby's collector finds its values.
        let mut pairs = ArrayVec::<Value, { 2 * PAIRS }>::new();
        while column < rows.width() && !pairs.is_full() {
            pairs.push(names.entry(column as isize)?);
            pairs.push(cell(ruby, rows, row, column)?);
            column += 1;
        }
        hash.bulk_insert(&pairs)?;
    }
    Ok(hash)
}

fn cell(ruby: &Ruby, rows: &Rows, row: usize, column: usize) -> Result<Value, Error> {
    value(ruby, &rows.cell(row, column).map_err(|error| raised(ruby, &error))?)
}

/// A Date that shows what the server has. Those of October 1582 that Ruby's usual calendar lacks have the Gregorian one.
fn date(ruby: &Ruby, Date { year, month, day }: Date) -> Result<Value, Error> {
    let class: RClass = ruby.class_object().const_get("Date")?;
    match (year, month, day) {
        (1582, 10, 5..=14) => class.funcall("new", (year, month, day, f64::NEG_INFINITY)),
        date => class.funcall("new", date),
    }
}

fn value(ruby: &Ruby, cell: &Cell<'_>) -> Result<Value, Error> {
    Ok(match cell {
        Cell::Null => ruby.qnil().as_value(),
        Cell::Bool(value) => value.into_value_with(ruby),
        Cell::Int(number) => ruby.integer_from_i64(*number).as_value(),
        Cell::Unsigned(number) => ruby.integer_from_u64(*number).as_value(),
        Cell::Float(number) => ruby.float_from_f64(*number).as_value(),
        Cell::Decimal(digits) => {
            ruby.class_object().const_get::<_, RModule>("Kernel")?.funcall("BigDecimal", (digits.as_str(),))?
        }
        Cell::Text(text) => utf8::new_string(text.as_bytes(), text.is_ascii())?.as_value(),
        Cell::Bytes(bytes) => ruby.str_from_slice(bytes).as_value(),
        Cell::Json(text) => {
            let json: RModule = ruby.class_object().const_get::<_, RModule>("Elah")?.const_get("JSON")?;
            json.funcall("parse", (*text,))?
        }
        Cell::Date(day) => date(ruby, *day)?,
        Cell::Timestamp(Timestamp { seconds, micros }) => {
            let moment = Timespec { tv_sec: *seconds, tv_nsec: i64::from(*micros) * 1000 };
            ruby.time_timespec_new(moment, Offset::utc())?.as_value()
        }
        Cell::Array(cells) => {
            let array = ruby.ary_new_capa(cells.len());
            for cell in cells {
                array.push(value(ruby, cell)?)?;
            }
            array.as_value()
        }
    })
}
