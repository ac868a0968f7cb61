//! `Elah::Store::Counter`. `increment` is on the path of every request that counts something, so it reads its own arguments.

use elah_store::Counter;
use magnus::scan_args::{get_kwargs, scan_args};
use magnus::{Error, Module, RClass, RHash, RString, Ruby, Symbol, Value, method};

use super::errors::raised;
use super::{integer, to_bytes, with_bytes};
use crate::concurrency::wait::suspend;
use crate::ruby::native_class;
use crate::ruby::receiver::ExactClass;

/// `Elah::Store::Counter`, to recognise its instances quickly.
pub(super) static CLASS: ExactClass = ExactClass::new();

#[magnus::wrap(class = "Elah::Store::Counter", size)]
pub(super) struct RubyCounter {
    pub(super) counter: Counter,
    is_in_memory: bool,
}

impl RubyCounter {
    pub(super) fn new(counter: Counter, is_in_memory: bool) -> Self {
        RubyCounter { counter, is_in_memory }
    }

    fn name(&self) -> &str {
        self.counter.name()
    }

    fn durability(ruby: &Ruby, counter: &Self) -> Symbol {
        ruby.to_symbol(if counter.is_in_memory { "memory" } else { "disk" })
    }

    fn get(ruby: &Ruby, counter: &Self, key: RString) -> Result<i64, Error> {
        with_bytes(key, |key| counter.counter.get(key)).map_err(|error| raised(ruby, &error))
    }

    /// `increment(key, by: 1, max: nil, durability: self.durability)`
    fn increment(ruby: &Ruby, counter: &Self, arguments: &[Value]) -> Result<Option<i64>, Error> {
        if let [key] = arguments
            && let Some(key) = RString::from_value(*key)
        {
            return counter.add(ruby, key, 1, None, counter.is_in_memory);
        }
        let arguments = scan_args::<(RString,), (), (), (), RHash, ()>(arguments)?;
        let keywords = get_kwargs::<_, (), (Option<Value>, Option<Option<Value>>, Option<Symbol>), ()>(
            arguments.keywords,
            &[],
            &["by", "max", "durability"],
        )?;
        let (by, max, durability) = keywords.optional;
        let is_in_memory = match durability {
            None => counter.is_in_memory,
            Some(durability) => is_in_memory(ruby, durability)?,
        };
        let by = by.map_or(Ok(1), |by| integer(ruby, "by", by))?;
        let max = max.flatten().map(|max| integer(ruby, "max", max)).transpose()?;
        if is_in_memory && max.is_some() && durability.is_some() {
            let message = "max: needs durability: :disk, because only the writer knows what other processes have counted";
            return Err(Error::new(ruby.exception_arg_error(), message));
        }
        counter.add(ruby, arguments.required.0, by, max, is_in_memory && max.is_none())
    }

    fn add(&self, ruby: &Ruby, key: RString, by: i64, max: Option<i64>, is_in_memory: bool) -> Result<Option<i64>, Error> {
        if is_in_memory {
            let added = with_bytes(key, |key| self.counter.increment_in_memory(key, by)).map_err(|error| raised(ruby, &error))?;
            if added.is_some() {
                return Ok(added);
            }
        }
        let key = to_bytes(key);
        let added = suspend(ruby, |completer| self.counter.increment(key, by, max, |added| completer.complete(added)))?;
        added.map_err(|error| raised(ruby, &error))
    }

    fn delete(ruby: &Ruby, counter: &Self, key: RString) -> Result<bool, Error> {
        let key = to_bytes(key);
        let deleted = suspend(ruby, |completer| counter.counter.delete(key, |deleted| completer.complete(deleted)))?;
        deleted.map_err(|error| raised(ruby, &error))
    }
}

fn is_in_memory(ruby: &Ruby, durability: Symbol) -> Result<bool, Error> {
    match &*durability.name()? {
        "disk" => Ok(false),
        "memory" => Ok(true),
        other => {
            let message = format!("durability: must be :disk or :memory, not {other:?}");
            Err(Error::new(ruby.exception_arg_error(), message))
        }
    }
}

pub(super) fn init(ruby: &Ruby, store: RClass) -> Result<(), Error> {
    let class = native_class::define::<RubyCounter>(ruby, store, "Counter")?;
    CLASS.set(ruby, class);
    class.define_method("name", method!(RubyCounter::name, 0))?;
    class.define_method("durability", method!(RubyCounter::durability, 0))?;
    class.define_method("get", method!(RubyCounter::get, 1))?;
    class.define_method("increment", method!(RubyCounter::increment, -1))?;
    class.define_method("delete", method!(RubyCounter::delete, 1))?;
    Ok(())
}
