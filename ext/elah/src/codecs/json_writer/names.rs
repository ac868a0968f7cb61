//! The names of a Hash in JSON under ActiveSupport, where keys of different kinds may have the same text.

use magnus::rb_sys::FromRawValue;
use magnus::value::ReprValue;
use magnus::{Error, RHash, RString, Ruby, Value};
use rb_sys::{VALUE, ruby_value_type as Type};

use crate::ruby::hash_walk::each_pair;

/// Whether different keys may have the same text, such as `:a` and `"a"`. Keys of one kind do not.
pub(super) fn may_repeat(ruby: &Ruby, hash: VALUE) -> Result<bool, Error> {
    const SYMBOL: u8 = 1;
    const TEXT: u8 = 2;
    const INTEGER: u8 = 4;
    const OTHER: u8 = 8;

    let mut kinds = 0;
    // SAFETY: `hash` is live, and so are the keys that are reachable from it.
    unsafe {
        each_pair(ruby, hash, |key, _| {
            kinds |= match rb_sys::RB_TYPE(key) {
                Type::RUBY_T_SYMBOL => SYMBOL,
                Type::RUBY_T_STRING => TEXT,
                Type::RUBY_T_FIXNUM => INTEGER,
                _ => OTHER,
            };
            Ok(())
        })?;
    }
    Ok(kinds & OTHER != 0 || kinds.count_ones() > 1)
}

/// The pairs by the texts of their keys. As in Rails, a repeated text has the last value at the first position.
pub(super) fn by_text(ruby: &Ruby, hash: VALUE) -> Result<RHash, Error> {
    let named = ruby.hash_new();
    // SAFETY: `hash` is live, and so is what is reachable from it.
    unsafe {
        each_pair(ruby, hash, |key, value| {
            let name: RString = Value::from_raw(key).funcall("to_s", ())?;
            named.aset(name, Value::from_raw(value))
        })?;
    }
    Ok(named)
}
