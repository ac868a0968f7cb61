//! Writes to a ranked set from Ruby. Scores are read, which may run Ruby code, before the set is borrowed.

use elah_ranked_set::{RankedSet, Scores, Standing};
use magnus::value::ReprValue;
use magnus::{Error, Module, RArray, RClass, RString, Ruby, Value, method};

use super::errors::raised;
use super::words::{OPERATORS, STYLES};
use super::{RubyRankedSet, scores, string, structs, to_bytes, with_name};
use crate::ruby::receiver::Receiver;

impl RubyRankedSet {
    fn submit(
        ruby: &Ruby,
        set: Receiver<Self>,
        member: RString,
        score: Value,
        operator: Value,
        style: Value,
    ) -> Result<Value, Error> {
        let (operator, style) = (OPERATORS.read(ruby, operator)?, STYLES.read(ruby, style)?);
        let scores = scores::read(ruby, &set.order, score)?;
        let done = with_name(member, |name| set.set.borrow_mut().submit(name, &scores, operator, style));
        let done = done.map_err(|error| raised(ruby, &error))?;
        set.report(ruby);
        structs::submission(ruby, &set.order, structs::member(ruby, member)?, &done)
    }

    /// Submits `[[member, score], ...]`.
    fn submit_all(ruby: &Ruby, set: Receiver<Self>, pairs: RArray, operator: Value) -> Result<usize, Error> {
        let operator = OPERATORS.read(ruby, operator)?;
        let mut submissions = Vec::with_capacity(pairs.len());
        // Owned copies: reading a score may run Ruby code, which may change a member.
        for at in 0..pairs.len() {
            let (member, score) = pairs.entry::<(Value, Value)>(at as isize)?;
            submissions.push((to_bytes(string(ruby, member)?), scores::read(ruby, &set.order, score)?));
        }
        let submissions: Vec<(&[u8], Scores)> = submissions.iter().map(|(name, scores)| (&name[..], scores.clone())).collect();
        let done = set.set.borrow_mut().submit_all(&submissions, operator);
        set.report_now(ruby);
        done.map_err(|error| raised(ruby, &error))
    }

    fn decide(ruby: &Ruby, set: Receiver<Self>, member: RString, score: Value, operator: Value) -> Result<Value, Error> {
        let operator = OPERATORS.read(ruby, operator)?;
        let scores = scores::read(ruby, &set.order, score)?;
        let decided = with_name(member, |name| set.set.borrow_mut().decide(name, &scores, operator));
        match decided.map_err(|error| raised(ruby, &error))? {
            None => Ok(ruby.qnil().as_value()),
            Some(standing) => structs::decision(ruby, &set.order, structs::member(ruby, member)?, &standing),
        }
    }

    /// Sets the score and sequence of a member.
    fn place(
        ruby: &Ruby,
        set: Receiver<Self>,
        member: RString,
        score: Value,
        sequence: u64,
        style: Value,
    ) -> Result<Value, Error> {
        let style = STYLES.read(ruby, style)?;
        let standing = Standing { scores: scores::read(ruby, &set.order, score)?, sequence };
        let done = with_name(member, |name| set.set.borrow_mut().place(name, standing, style));
        let done = done.map_err(|error| raised(ruby, &error))?;
        set.report(ruby);
        structs::submission(ruby, &set.order, structs::member(ruby, member)?, &done)
    }

    fn delete(ruby: &Ruby, set: Receiver<Self>, member: RString) -> Result<Value, Error> {
        let deleted = with_name(member, |name| set.set.borrow_mut().delete(name));
        set.report(ruby);
        match deleted {
            None => Ok(ruby.qnil().as_value()),
            Some(standing) => scores::written(ruby, &set.order, &standing.scores),
        }
    }

    fn clear(ruby: &Ruby, set: Receiver<Self>) {
        set.set.borrow_mut().clear();
        set.report_now(ruby);
    }

    /// `[key, value]` of the row that holds a score in a store.
    fn store_row(
        ruby: &Ruby,
        set: Receiver<Self>,
        prefix: RString,
        member: RString,
        score: Value,
        sequence: u64,
    ) -> Result<RArray, Error> {
        let standing = Standing { scores: scores::read(ruby, &set.order, score)?, sequence };
        let (key, value) = set.set.borrow().row(&to_bytes(prefix), &to_bytes(member), &standing);
        Ok(ruby.ary_new_from_values(&[ruby.str_from_slice(&key), ruby.str_from_slice(&value)]))
    }

    fn store_key(ruby: &Ruby, prefix: RString, member: RString) -> RString {
        ruby.str_from_slice(&RankedSet::row_key(&to_bytes(prefix), &to_bytes(member)))
    }

    /// Sets a member from its row, or removes it if there is no row.
    fn restore(ruby: &Ruby, set: Receiver<Self>, member: RString, value: Option<RString>) -> Result<(), Error> {
        let name = to_bytes(member);
        let Some(value) = value.map(to_bytes) else {
            set.set.borrow_mut().delete(&name);
            return Ok(());
        };
        let mut inner = set.set.borrow_mut();
        let standing = inner.read_row(&name, &value).map_err(|error| raised(ruby, &error))?;
        let done = inner.place(&name, standing, elah_ranked_set::Style::Ordinal);
        done.map(|_| ()).map_err(|error| raised(ruby, &error))
    }
}

pub(super) fn init(class: RClass) -> Result<(), Error> {
    use magnus::{Object, function};
    class.define_method("submit_native", method!(RubyRankedSet::submit, 4))?;
    class.define_method("submit_all_native", method!(RubyRankedSet::submit_all, 2))?;
    class.define_method("decide_native", method!(RubyRankedSet::decide, 3))?;
    class.define_method("place_native", method!(RubyRankedSet::place, 4))?;
    class.define_method("delete", method!(RubyRankedSet::delete, 1))?;
    class.define_method("clear", method!(RubyRankedSet::clear, 0))?;
    class.define_method("store_row_native", method!(RubyRankedSet::store_row, 4))?;
    class.define_singleton_method("store_key_native", function!(RubyRankedSet::store_key, 2))?;
    class.define_method("restore_native", method!(RubyRankedSet::restore, 2))?;
    Ok(())
}
