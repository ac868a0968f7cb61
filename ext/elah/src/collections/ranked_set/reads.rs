//! Reading a ranked set from Ruby.

use std::ops::Range;

use elah_ranked_set::{RankedSet, Rows, Style};
use magnus::scan_args::{get_kwargs, scan_args};
use magnus::value::ReprValue;
use magnus::{Error, Module, RArray, RClass, RString, Ruby, TryConvert, Value, method};

use super::errors::raised;
use super::structs::Taken;
use super::words::STYLES;
use super::{RubyRankedSet, scores, string, structs, with_name};
use crate::ruby::receiver::Receiver;

impl RubyRankedSet {
    /// `rank(member, style: :ordinal)`. It has no Ruby method in between, which would cost a tenth of the time.
    fn rank(ruby: &Ruby, set: Receiver<Self>, arguments: &[Value]) -> Result<Value, Error> {
        let (member, style) = match arguments {
            [member] => (RString::try_convert(*member)?, Style::Ordinal),
            _ => with_style(ruby, arguments)?,
        };
        let rank = with_name(member, |name| set.set.borrow().rank(name, style));
        Ok(rank.map_or(ruby.qnil().as_value(), |rank| structs::rank(ruby, rank)))
    }

    /// The ranks of an Array of members, nil for a missing one.
    fn ranks(ruby: &Ruby, set: Receiver<Self>, members: RArray, style: Value) -> Result<RArray, Error> {
        let style = STYLES.read(ruby, style)?;
        // SAFETY: `members` is on this stack and holds the Strings, and nothing of Ruby runs until the ranks are there.
        let entries = unsafe { members.as_slice() };
        let strings: Vec<RString> = entries.iter().map(|entry| string(ruby, *entry)).collect::<Result<_, Error>>()?;
        // SAFETY: as above.
        let names: Vec<&[u8]> = strings.iter().map(|string| unsafe { string.as_slice() }).collect();
        let ranks = set.set.borrow().ranks(&names, style);
        let array = ruby.ary_new_capa(ranks.len());
        for rank in ranks {
            array.push(rank.map(|rank| structs::rank(ruby, rank)))?;
        }
        Ok(array)
    }

    fn score(ruby: &Ruby, set: Receiver<Self>, member: RString) -> Result<Value, Error> {
        match with_name(member, |name| set.set.borrow().standing(name)) {
            None => Ok(ruby.qnil().as_value()),
            Some(standing) => scores::written(ruby, &set.order, &standing.scores),
        }
    }

    fn is_member(set: Receiver<Self>, member: RString) -> bool {
        with_name(member, |name| set.set.borrow().standing(name).is_some())
    }

    fn better_than(set: Receiver<Self>, member: RString) -> Option<usize> {
        with_name(member, |name| set.set.borrow().better_than(name))
    }

    fn row(ruby: &Ruby, set: Receiver<Self>, member: RString, style: Value) -> Result<Value, Error> {
        let style = STYLES.read(ruby, style)?;
        let name = super::to_bytes(member);
        let row = set.set.borrow().row_of(&name, style).map(|row| (structs::name(ruby, row.name), row.rank, row.scores));
        match row {
            None => Ok(ruby.qnil().as_value()),
            Some((name, rank, scores)) => structs::row(ruby, &set.order, name?, rank, &scores),
        }
    }

    fn rows(ruby: &Ruby, set: Receiver<Self>, start: usize, count: usize, style: Value) -> Result<RArray, Error> {
        set.rows_at(ruby, start..start.saturating_add(count), style)
    }

    fn rows_at(&self, ruby: &Ruby, positions: Range<usize>, style: Value) -> Result<RArray, Error> {
        let style = STYLES.read(ruby, style)?;
        Ok(self.read_rows(ruby, |set| Some(set.rows(positions, style)))?.unwrap_or_else(|| ruby.ary_new()))
    }

    /// Decimals are made by a method of Ruby, during which other threads may change the set: it is not borrowed then.
    fn read_rows<R>(&self, ruby: &Ruby, read: R) -> Result<Option<RArray>, Error>
    where
        R: for<'s> FnOnce(&'s RankedSet) -> Option<Rows<'s>>,
    {
        let set = self.set.borrow();
        let Some(rows) = read(&set) else { return Ok(None) };
        let taken = Taken::new(ruby, &self.order, rows)?;
        drop(set);
        taken.rows(ruby, &self.order).map(Some)
    }

    fn around(ruby: &Ruby, set: Receiver<Self>, member: RString, distance: usize, style: Value) -> Result<Value, Error> {
        let style = STYLES.read(ruby, style)?;
        let name = super::to_bytes(member);
        let rows = set.read_rows(ruby, |set| set.rows_around(&name, distance, style))?;
        Ok(rows.map_or(ruby.qnil().as_value(), |rows| rows.as_value()))
    }

    fn cursor(ruby: &Ruby, set: Receiver<Self>, member: RString) -> Value {
        let cursor = with_name(member, |name| set.set.borrow().cursor(name));
        cursor.map_or(ruby.qnil().as_value(), |cursor| ruby.str_from_slice(&cursor).as_value())
    }

    /// The first position and the rows after a cursor, or before it.
    fn page(
        ruby: &Ruby,
        set: Receiver<Self>,
        cursor: RString,
        is_before: bool,
        limit: usize,
        style: Value,
    ) -> Result<RArray, Error> {
        let positions = with_name(cursor, |cursor| match is_before {
            true => set.set.borrow().before(cursor, limit),
            false => set.set.borrow().after(cursor, limit),
        });
        let positions = positions.map_err(|error| raised(ruby, &error))?;
        let page = ruby.ary_new_capa(2);
        page.push(positions.start)?;
        page.push(set.rows_at(ruby, positions, style)?)?;
        Ok(page)
    }

    /// The first position and the number of members between two scores.
    fn span(ruby: &Ruby, set: Receiver<Self>, from: Value, to: Value, excludes_to: bool) -> Result<RArray, Error> {
        let (from, to) = (scores::read_end(ruby, &set.order, from)?, scores::read_end(ruby, &set.order, to)?);
        let span = set.set.borrow().span(from.as_deref(), to.as_deref(), excludes_to);
        let span = span.map_err(|error| raised(ruby, &error))?;
        Ok(ruby.ary_new_from_values(&[span.start, span.len()].map(|number| ruby.integer_from_u64(number as u64))))
    }

    /// `[[from, to, count], ...]` for bounds in an Array, or for a number of equal parts.
    fn histogram(ruby: &Ruby, set: Receiver<Self>, bounds_or_parts: Value) -> Result<RArray, Error> {
        let component = set.order.components()[0];
        let buckets = match RArray::from_value(bounds_or_parts) {
            Some(array) => {
                let bounds = (0..array.len()).map(|at| scores::read_number(ruby, &component, array.entry(at as isize)?));
                let bounds: Vec<i64> = bounds.collect::<Result<_, Error>>()?;
                set.set.borrow().histogram(&bounds)
            }
            None => {
                let parts = TryConvert::try_convert(bounds_or_parts)?;
                set.set.borrow().equal_histogram(parts)
            }
        };
        let array = ruby.ary_new();
        for bucket in buckets.map_err(|error| raised(ruby, &error))? {
            let end = |end: Option<i64>| end.map(|end| scores::written_number(ruby, &component, end)).transpose();
            let (from, to, count) = (end(bucket.from)?, end(bucket.to)?, bucket.count);
            let parts = ruby.ary_new_capa(3);
            parts.push(from)?;
            parts.push(to)?;
            parts.push(count)?;
            array.push(parts)?;
        }
        Ok(array)
    }

    fn len(set: Receiver<Self>) -> usize {
        set.set.borrow().len()
    }

    fn version(set: Receiver<Self>) -> u64 {
        set.set.borrow().version()
    }

    fn distinct_scores(&self) -> usize {
        self.set.borrow().scores()
    }

    fn bytes(&self) -> usize {
        self.set.borrow().bytes()
    }
}

/// One member and the keyword `style:`.
fn with_style(ruby: &Ruby, arguments: &[Value]) -> Result<(RString, Style), Error> {
    let arguments = scan_args::<(RString,), (), (), (), _, ()>(arguments)?;
    let style = get_kwargs::<_, (), (Option<Value>,), ()>(arguments.keywords, &[], &["style"])?.optional.0;
    Ok((arguments.required.0, style.map_or(Ok(Style::Ordinal), |style| STYLES.read(ruby, style))?))
}

pub(super) fn init(class: RClass) -> Result<(), Error> {
    class.define_method("rank", method!(RubyRankedSet::rank, -1))?;
    class.define_method("ranks_native", method!(RubyRankedSet::ranks, 2))?;
    class.define_method("score", method!(RubyRankedSet::score, 1))?;
    class.define_method("member?", method!(RubyRankedSet::is_member, 1))?;
    class.define_method("better_than_native", method!(RubyRankedSet::better_than, 1))?;
    class.define_method("row_native", method!(RubyRankedSet::row, 2))?;
    class.define_method("rows_native", method!(RubyRankedSet::rows, 3))?;
    class.define_method("around_native", method!(RubyRankedSet::around, 3))?;
    class.define_method("cursor_native", method!(RubyRankedSet::cursor, 1))?;
    class.define_method("page_native", method!(RubyRankedSet::page, 4))?;
    class.define_method("span_native", method!(RubyRankedSet::span, 3))?;
    class.define_method("histogram_native", method!(RubyRankedSet::histogram, 1))?;
    class.define_method("size", method!(RubyRankedSet::len, 0))?;
    class.define_method("version", method!(RubyRankedSet::version, 0))?;
    class.define_method("distinct_scores", method!(RubyRankedSet::distinct_scores, 0))?;
    class.define_method("bytes", method!(RubyRankedSet::bytes, 0))?;
    Ok(())
}
