//! Scores as Ruby's numbers and as the core's multiples of a last digit. Nothing is rounded: a score that does not fit raises.

use elah_ranked_set::{Component, Error as E, Order, Scores, number};
use magnus::value::ReprValue;
use magnus::{Error, Fixnum, Float, Integer, Module, RArray, RModule, RString, Ruby, Value};

use super::errors::raised;
use crate::ruby::utf8::{self, Text};

/// The score of a number, or of an Array of numbers. May call methods of the numbers.
pub(super) fn read(ruby: &Ruby, order: &Order, score: Value) -> Result<Scores, Error> {
    let components = order.components();
    let Some(array) = RArray::from_value(score) else {
        return match components {
            [component] => Ok(Scores::from_slice(&[read_number(ruby, component, score)?])),
            _ => Err(raised(ruby, &E::WrongComponents { given: 1, expected: components.len() })),
        };
    };
    if array.len() != components.len() {
        return Err(raised(ruby, &E::WrongComponents { given: array.len(), expected: components.len() }));
    }
    read_array(ruby, components, array)
}

/// An end of a range of scores, which may omit components; nil is open.
pub(super) fn read_end(ruby: &Ruby, order: &Order, end: Value) -> Result<Option<Scores>, Error> {
    if end.is_nil() {
        return Ok(None);
    }
    let components = order.components();
    match RArray::from_value(end) {
        None => Ok(Some(Scores::from_slice(&[read_number(ruby, &components[0], end)?]))),
        Some(array) if array.is_empty() || array.len() > components.len() => {
            Err(raised(ruby, &E::WrongComponents { given: array.len(), expected: components.len() }))
        }
        Some(array) => read_array(ruby, components, array).map(Some),
    }
}

fn read_array(ruby: &Ruby, components: &[Component], array: RArray) -> Result<Scores, Error> {
    (0..array.len()).zip(components).map(|(at, component)| read_number(ruby, component, array.entry(at as isize)?)).collect()
}

/// A number of one component.
pub(super) fn read_number(ruby: &Ruby, component: &Component, value: Value) -> Result<i64, Error> {
    let decimals = component.decimals;
    let refuse = |error: E| raised(ruby, &error);
    if let Some(small) = Fixnum::from_value(value)
        && let Some(scaled) = small.to_i64().checked_mul(10_i64.pow(u32::from(decimals)))
    {
        return Ok(scaled);
    }
    if let Some(integer) = Integer::from_value(value) {
        let scaled = integer.to_i64().ok().and_then(|integer| integer.checked_mul(10_i64.pow(u32::from(decimals))));
        return match scaled {
            Some(scaled) => Ok(scaled),
            None => number::parse(&integer.to_string(), decimals).map_err(refuse),
        };
    }
    if let Some(float) = Float::from_value(value) {
        let float = float.to_f64();
        let text = if float.is_finite() { float.to_string() } else { value.to_string() };
        return number::parse(&text, decimals).map_err(refuse);
    }
    if let Some(string) = RString::from_value(value) {
        // SAFETY: the text is used before anything of Ruby runs, and `string` is on this stack.
        return match unsafe { utf8::text(magnus::rb_sys::AsRawValue::as_raw(string)) } {
            Text::Utf8 { text, .. } => number::parse(text, decimals),
            Text::Foreign | Text::Broken => Err(E::NotANumber { text: "a text that is not UTF-8".to_owned() }),
        }
        .map_err(refuse);
    }
    read_rational(ruby, decimals, value)
}

/// Any other number, by its `to_r`: a BigDecimal, a Rational.
fn read_rational(ruby: &Ruby, decimals: u8, value: Value) -> Result<i64, Error> {
    let text = || value.inspect();
    let numeric: Value = ruby.class_object().const_get("Numeric")?;
    if !value.funcall::<_, _, bool>("is_a?", (numeric,))? {
        return Err(raised(ruby, &E::NotANumber { text: text() }));
    }
    let rational = match value.funcall::<_, _, Value>("to_r", ()) {
        Ok(rational) => rational,
        // NaN, infinities and complex numbers have none.
        Err(error)
            if [ruby.exception_float_domain_error(), ruby.exception_range_error()].into_iter().any(|it| error.is_kind_of(it)) =>
        {
            return Err(raised(ruby, &E::NotANumber { text: text() }));
        }
        Err(error) => return Err(error),
    };
    let scaled: Value = rational.funcall("*", (10_i64.pow(u32::from(decimals)),))?;
    let denominator: Value = scaled.funcall("denominator", ())?;
    if !denominator.funcall::<_, _, bool>("==", (1,))? {
        return Err(raised(ruby, &E::TooPrecise { text: text(), decimals }));
    }
    let numerator: Integer = scaled.funcall("numerator", ())?;
    numerator.to_i64().map_err(|_| raised(ruby, &E::OutOfRange { text: text(), decimals }))
}

/// A score as a Ruby value: an Integer or a BigDecimal, of several components a frozen Array.
pub(super) fn written(ruby: &Ruby, order: &Order, scores: &[i64]) -> Result<Value, Error> {
    if let ([score], [component]) = (scores, order.components()) {
        return written_number(ruby, component, *score);
    }
    let array = ruby.ary_new_capa(scores.len());
    for (score, component) in scores.iter().zip(order.components()) {
        array.push(written_number(ruby, component, *score)?)?;
    }
    array.freeze();
    Ok(array.as_value())
}

pub(super) fn written_number(ruby: &Ruby, component: &Component, number: i64) -> Result<Value, Error> {
    if component.decimals == 0 {
        return Ok(ruby.integer_from_i64(number).as_value());
    }
    let kernel: RModule = ruby.class_object().const_get("Kernel")?;
    kernel.funcall("BigDecimal", (number::text_of(number, component.decimals),))
}
