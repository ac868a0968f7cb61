//! Ruby objects as parameters of a statement.

use elah_clients::sql::{Date, Engine, Param, Timestamp};
use magnus::value::{Fixnum, Flonum, ReprValue};
use magnus::{
    Error, Float, Integer, Module, RArray, RClass, RHash, RModule, RString, Ruby, Symbol, TryConvert, Value, rb_sys::AsRawValue,
};

use crate::ruby::utf8::{self, Text};

/// Levels of nested arrays.
const DEPTH_MAX: u32 = 6;

pub(super) fn params(ruby: &Ruby, values: RArray, engine: Engine) -> Result<Vec<Param>, Error> {
    (0..values.len()).map(|at| param(ruby, values.entry(at as isize)?, engine, 0)).collect()
}

fn param(ruby: &Ruby, value: Value, engine: Engine, depth: u32) -> Result<Param, Error> {
    if value.is_nil() {
        return Ok(Param::Null);
    }
    if let Some(number) = Fixnum::from_value(value) {
        return Ok(Param::Int(number.to_i64()));
    }
    if let Some(string) = RString::from_value(value) {
        return text(ruby, string);
    }
    if let Some(number) = Flonum::from_value(value) {
        return Ok(Param::Float(number.to_f64()));
    }
    if value.is_kind_of(ruby.class_true_class()) || value.is_kind_of(ruby.class_false_class()) {
        return Ok(Param::Bool(value.to_bool()));
    }
    if let Some(number) = Integer::from_value(value) {
        return Ok(number.to_i64().map_or_else(|_| Param::Decimal(number.to_string()), Param::Int));
    }
    if let Some(number) = Float::from_value(value) {
        return Ok(Param::Float(number.to_f64()));
    }
    if let Some(symbol) = Symbol::from_value(value) {
        return Ok(Param::Text(symbol.name()?.into_owned()));
    }
    if let Some(array) = RArray::from_value(value) {
        if engine == Engine::Postgres && depth < DEPTH_MAX {
            let elements = (0..array.len()).map(|at| param(ruby, array.entry(at as isize)?, engine, depth + 1));
            return elements.collect::<Result<_, _>>().map(Param::Array);
        }
    } else if RHash::from_value(value).is_some() {
        let json: RModule = ruby.class_object().const_get::<_, RModule>("Elah")?.const_get("JSON")?;
        return json.funcall("generate", (value,)).map(Param::Json);
    }
    other(ruby, value)
}

/// Values of classes that are looked up by name, because they are not in Ruby's core.
fn other(ruby: &Ruby, value: Value) -> Result<Param, Error> {
    let is_a = |name: &str| ruby.class_object().const_get::<_, RClass>(name).is_ok_and(|class| value.is_kind_of(class));
    if value.is_kind_of(ruby.class_time()) {
        return moment(value);
    }
    if is_a("BigDecimal") {
        return value.funcall("to_s", ("F",)).map(Param::Decimal);
    }
    if is_a("DateTime") {
        return moment(value.funcall("to_time", ())?);
    }
    if is_a("Date") {
        return date(value);
    }
    let message = format!(
        "A parameter is nil, true, false, an Integer, Float, BigDecimal, String, Symbol, Time, Date, Hash (as JSON) or, for PostgreSQL, \
         an Array of those, not a {}",
        value.class()
    );
    Err(Error::new(ruby.exception_arg_error(), message))
}

/// The servers get what the Date shows, by whichever calendar, as from every other driver.
fn date(date: Value) -> Result<Param, Error> {
    let (year, month, day) = (date.funcall("year", ())?, date.funcall("month", ())?, date.funcall("mday", ())?);
    Ok(Param::Date(Date { year, month, day }))
}

fn moment(time: Value) -> Result<Param, Error> {
    let seconds = time.funcall("to_i", ())?;
    let micros = time.funcall("usec", ())?;
    Ok(Param::Timestamp(Timestamp { seconds, micros }))
}

/// A String with an encoding is text, one without is bytes.
fn text(ruby: &Ruby, string: RString) -> Result<Param, Error> {
    // SAFETY: `string` is on this stack, and no Ruby code runs while its text is copied.
    let copied = unsafe {
        if rb_sys::ENCODING_GET(string.as_raw()) == rb_sys::rb_ascii8bit_encindex() {
            return Ok(Param::Bytes(string.as_slice().to_vec()));
        }
        match utf8::text(string.as_raw()) {
            Text::Utf8 { text, .. } => Some(text.to_owned()),
            Text::Foreign => None,
            Text::Broken => {
                let message = "A text parameter is not valid in its encoding; bytes are sent as a String in BINARY encoding";
                return Err(Error::new(ruby.exception_arg_error(), message));
            }
        }
    };
    match copied {
        Some(text) => Ok(Param::Text(text)),
        None => String::try_convert(utf8::converted(string.as_raw())?).map(Param::Text),
    }
}
