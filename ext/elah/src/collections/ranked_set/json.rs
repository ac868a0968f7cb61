//! Members of a ranked set as JSON: one call and one String for any number of them.

use elah_ranked_set::{Error as E, Order, RankedSet, Row, Rows, Standing, name_text};
use magnus::rb_sys::AsRawValue;
use magnus::value::ReprValue;
use magnus::{Error, Module, RClass, RString, Ruby, TryConvert, Value, method};

use super::errors::raised;
use super::words::{OPERATORS, STYLES};
use super::{RubyRankedSet, scores, structs, with_name};
use crate::entity::shards::index::{self, RubyIndex};
use crate::ruby::errors::class;
use crate::ruby::receiver::Receiver;
use crate::ruby::utf8::{self, Text};

/// Most rows are no longer.
pub(super) const USUAL_ROW_BYTES: usize = 64;

impl RubyRankedSet {
    /// The object of a member, nil if there is no such member.
    fn row_json(ruby: &Ruby, set: Receiver<Self>, member: RString, style: Value) -> Result<Value, Error> {
        let style = STYLES.read(ruby, style)?;
        let mut out = Vec::with_capacity(USUAL_ROW_BYTES);
        let found = with_name(member, |name| {
            let inner = set.set.borrow();
            inner.row_of(name, style).map(|row| set.write_row(&mut out, &row))
        });
        match found {
            None => Ok(ruby.qnil().as_value()),
            Some(written) => {
                written.map_err(|error| raised(ruby, &error))?;
                if ruby.block_given() {
                    push_more(ruby, &mut out, member.as_value())?;
                }
                out.push(b'}');
                text(&out)
            }
        }
    }

    /// The list of the members at some positions.
    fn rows_json(ruby: &Ruby, set: Receiver<Self>, start: usize, count: usize, style: Value) -> Result<Value, Error> {
        let style = STYLES.read(ruby, style)?;
        set.list_json(ruby, |inner| Some(inner.rows(start..start.saturating_add(count), style)))
    }

    /// The list of a member and its neighbours, nil if there is no such member.
    fn around_json(ruby: &Ruby, set: Receiver<Self>, member: RString, distance: usize, style: Value) -> Result<Value, Error> {
        let style = STYLES.read(ruby, style)?;
        set.list_json(ruby, |inner| with_name(member, |name| inner.rows_around(name, distance, style)))
    }

    /// The list of rows, nil for none.
    fn list_json(&self, ruby: &Ruby, rows: impl FnOnce(&RankedSet) -> Option<Rows<'_>>) -> Result<Value, Error> {
        let set = self.set.borrow();
        let Some(rows) = rows(&set) else { return Ok(ruby.qnil().as_value()) };
        let mut out = Vec::with_capacity(2 + rows.len() * USUAL_ROW_BYTES);
        if !ruby.block_given() {
            self.write_rows(&mut out, rows).map_err(|error| raised(ruby, &error))?;
            return text(&out);
        }
        // The block may change the set, so everything is read first.
        let rows: Result<Vec<_>, E> = rows.map(|row| self.owned(&row)).collect();
        drop(set);
        out.push(b'[');
        for (place, (row, name)) in rows.map_err(|error| raised(ruby, &error))?.into_iter().enumerate() {
            if place > 0 {
                out.push(b',');
            }
            out.extend_from_slice(&row);
            push_more(ruby, &mut out, structs::name(ruby, &name)?)?;
            out.push(b'}');
        }
        out.push(b']');
        text(&out)
    }

    /// Appends the list of rows.
    pub(super) fn write_rows(&self, out: &mut Vec<u8>, rows: Rows<'_>) -> Result<(), E> {
        out.push(b'[');
        for (place, row) in rows.enumerate() {
            if place > 0 {
                out.push(b',');
            }
            self.write_row(out, &row)?;
            out.push(b'}');
        }
        out.push(b']');
        Ok(())
    }

    /// Appends the object of a row, without its last brace.
    pub(super) fn write_row(&self, out: &mut Vec<u8>, row: &Row<'_>) -> Result<(), E> {
        out.push(b'{');
        row.write_json(out, &self.order)
    }

    /// The output of `write_row`, and the name of the member.
    fn owned(&self, row: &Row<'_>) -> Result<(Vec<u8>, Vec<u8>), E> {
        let mut out = Vec::with_capacity(USUAL_ROW_BYTES);
        self.write_row(&mut out, row).map(|()| (out, row.name.to_vec()))
    }

    /// Submits a score, and returns the result. With an index of an entity, the member's row is added to the call's writes first.
    fn submit_json(ruby: &Ruby, set: Receiver<Self>, arguments: &[Value]) -> Result<Value, Error> {
        let [member, score, operator, style, index, prefix] = arguments else {
            let message = format!("submit_json_native takes 6 arguments, not {}.", arguments.len());
            return Err(Error::new(ruby.exception_arg_error(), message));
        };
        let (operator, style) = (OPERATORS.read(ruby, *operator)?, STYLES.read(ruby, *style)?);
        let scores = scores::read(ruby, &set.order, *score)?;
        let index = if index.is_nil() { None } else { Some(index::native(ruby, index)?) };
        let (member, prefix) = (RString::try_convert(*member)?, RString::try_convert(*prefix)?);
        let mut out = Vec::with_capacity(2 * USUAL_ROW_BYTES);
        let done = with_name(member, |name| {
            let text = name_text(name)?;
            let done = with_name(prefix, |prefix| {
                let store = gathers_row(index, prefix, name, &set.order);
                set.set.borrow_mut().submit_stored(name, &scores, operator, style, store)
            })?;
            done.write_json(&mut out, text, &set.order);
            Ok(())
        });
        done.map_err(|refused: Refused| refused.raised(ruby))?;
        set.report(ruby);
        text(&out)
    }
}

/// A function that adds a member's row to an index, if there is one.
pub(super) fn gathers_row(
    index: Option<&RubyIndex>,
    prefix: &[u8],
    name: &[u8],
    order: &Order,
) -> impl FnOnce(&Standing) -> Result<(), Refused> {
    move |standing| {
        let Some(index) = index else { return Ok(()) };
        index.put_written(
            |key| Ok(RankedSet::write_row_key(key, prefix, name)?),
            |value| {
                standing.write_row(value, order, name);
                Ok(())
            },
        )
    }
}

/// Why a submission was refused.
pub(super) enum Refused {
    Set(E),
    Store(elah_store::Error),
}

impl Refused {
    fn raised(&self, ruby: &Ruby) -> Error {
        match self {
            Refused::Set(error) => raised(ruby, error),
            Refused::Store(error) => crate::store::raised(ruby, error),
        }
    }
}

impl From<E> for Refused {
    fn from(error: E) -> Self {
        Refused::Set(error)
    }
}

impl From<elah_store::Error> for Refused {
    fn from(error: elah_store::Error) -> Self {
        Refused::Store(error)
    }
}

fn text(json: &[u8]) -> Result<Value, Error> {
    utf8::new_string(json, json.is_ascii()).map(|text| text.as_value())
}

/// Appends the block's result for a member: more of its object, or nil.
fn push_more(ruby: &Ruby, out: &mut Vec<u8>, member: Value) -> Result<(), Error> {
    let more: Value = ruby.yield_value(member)?;
    if more.is_nil() {
        return Ok(());
    }
    let Some(more) = RString::from_value(more) else {
        let message = format!("The block must return JSON as a String, or nil, not {}.", more.class());
        return Err(Error::new(ruby.exception_type_error(), message));
    };
    // SAFETY: `more` is on this stack, and its text is copied before Ruby runs again.
    match unsafe { utf8::text(more.as_raw()) } {
        Text::Utf8 { text, .. } => out.extend_from_slice(text.as_bytes()),
        Text::Foreign | Text::Broken => {
            return Err(Error::new(class(ruby, "JSON::GenerateError"), "The result of the block is not valid UTF-8."));
        }
    }
    Ok(())
}

pub(super) fn init(class: RClass) -> Result<(), Error> {
    class.define_method("row_json_native", method!(RubyRankedSet::row_json, 2))?;
    class.define_method("rows_json_native", method!(RubyRankedSet::rows_json, 3))?;
    class.define_method("around_json_native", method!(RubyRankedSet::around_json, 3))?;
    class.define_method("submit_json_native", method!(RubyRankedSet::submit_json, -1))?;
    Ok(())
}
