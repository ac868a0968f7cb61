//! `Elah::Shards::Index`: rows that a call of an entity writes in addition to the entity's own state.

use std::sync::Arc;

use magnus::value::ReprValue;
use magnus::{Error, Fixnum, Module, Object, RArray, RModule, RString, Ruby, TryConvert, Value, function, method};

use super::state::{EntityState, RubyState};
use crate::ruby::native_class;
use crate::ruby::receiver::{ExactClass, Receiver};
use crate::store::errors::raised;
use crate::store::table::{entries, range};
use crate::store::{ttl, with_bytes};

/// `Elah::Shards::Index`, to recognise its instances quickly.
static CLASS: ExactClass = ExactClass::new();

#[magnus::wrap(class = "Elah::Shards::Index", size)]
#[derive(Clone)]
pub(crate) struct RubyIndex {
    pub(crate) entity: Arc<EntityState>,
    table: u8,
}

impl RubyIndex {
    fn new(state: &RubyState, table: u8) -> Self {
        RubyIndex { entity: Arc::clone(&state.entity), table }
    }

    /// Adds a row whose key and value are written in place. After an error the row is removed.
    pub(crate) fn put_written<E: From<elah_store::Error>>(
        &self,
        key: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
        value: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.entity.gathered().put_joined(self.table, key, value)
    }

    /// Adds the removal of a key.
    pub(crate) fn delete_key(&self, key: &[u8]) -> Result<(), elah_store::Error> {
        self.entity.gathered().delete(self.table, &[], key)
    }

    /// Stored rows, without pending ones.
    pub(crate) fn stored(&self, ruby: &Ruby, range: elah_store::Range) -> Result<Vec<elah_store::Entry>, Error> {
        self.entity.rows(ruby, self.table, range, &elah_store::Gathered::default())
    }

    fn put(ruby: &Ruby, index: Receiver<Self>, key: RString, value: RString, ttl_ms: Option<u64>) -> Result<(), Error> {
        let expires_at_ms = ttl(ttl_ms).map(|ttl| index.entity.commits.expiry(ttl));
        let put = with_bytes(key, |key| {
            with_bytes(value, |value| index.entity.gathered().put(index.table, &[], key, value, expires_at_ms))
        });
        put.map_err(|error| raised(ruby, &error))
    }

    /// `put_joined(2, key, key, value, value, value)`: the parts are written in place, without an object for the whole.
    fn put_joined(ruby: &Ruby, index: Receiver<Self>, arguments: &[Value]) -> Result<(), Error> {
        let (parts, key_parts) = match arguments.split_first() {
            Some((count, parts)) => (parts, usize::try_convert(*count)?),
            None => (arguments, 0),
        };
        let Some((key, value)) = parts.split_at_checked(key_parts) else {
            let message = format!("Of {} parts the first {key_parts} cannot be the key.", parts.len());
            return Err(Error::new(ruby.exception_arg_error(), message));
        };
        let put = index.put_written(|row| append(row, key), |row| append(row, value));
        put.map_err(|refused| match refused {
            Refused::Stored(error) => raised(ruby, &error),
            Refused::Part(part) => {
                let message =
                    format!("A part of a key or value is a String or an Integer of up to 62 bits, not {}.", part.class());
                Error::new(ruby.exception_type_error(), message)
            }
        })
    }

    fn delete(ruby: &Ruby, index: &Self, key: RString) -> Result<(), Error> {
        with_bytes(key, |key| index.delete_key(key)).map_err(|error| raised(ruby, &error))
    }

    fn get(ruby: &Ruby, index: &Self, key: RString) -> Result<Value, Error> {
        let key = with_bytes(key, <[u8]>::to_vec);
        index.entity.read(ruby, index.table, &key)
    }

    fn get_at_once(ruby: &Ruby, index: &Self, key: RString) -> Result<Value, Error> {
        let key = with_bytes(key, <[u8]>::to_vec);
        index.entity.read_at_once(ruby, index.table, &key)
    }

    fn range(ruby: &Ruby, index: &Self, conditions: RArray, limit: usize, is_reverse: bool) -> Result<RArray, Error> {
        let range = range(conditions, limit, is_reverse)?;
        entries(ruby, index.entity.range(ruby, index.table, range)?)
    }
}

/// The index in a Ruby value.
///
/// # Errors
/// A TypeError if it is not an index.
pub(crate) fn native<'v>(ruby: &Ruby, value: &'v Value) -> Result<&'v RubyIndex, Error> {
    let refuse =
        || Error::new(ruby.exception_type_error(), format!("index: must be an index of an entity, not {}", value.class()));
    CLASS.native(value).ok_or_else(refuse)
}

/// Why a row cannot be added.
enum Refused {
    Stored(elah_store::Error),
    Part(Value),
}

impl From<elah_store::Error> for Refused {
    fn from(error: elah_store::Error) -> Self {
        Refused::Stored(error)
    }
}

/// Appends texts unchanged, and integers as digits.
fn append(row: &mut Vec<u8>, parts: &[Value]) -> Result<(), Refused> {
    for part in parts {
        if let Some(string) = RString::from_value(*part) {
            with_bytes(string, |bytes| row.extend_from_slice(bytes));
        } else if let Some(integer) = Fixnum::from_value(*part) {
            row.extend_from_slice(itoa::Buffer::new().format(integer.to_i64()).as_bytes());
        } else {
            return Err(Refused::Part(*part));
        }
    }
    Ok(())
}

pub(super) fn init(ruby: &Ruby, shards: RModule) -> Result<(), Error> {
    let class = native_class::define::<RubyIndex>(ruby, shards, "Index")?;
    CLASS.set(ruby, class);
    class.define_singleton_method("open", function!(RubyIndex::new, 2))?;
    class.define_method("put_native", method!(RubyIndex::put, 3))?;
    class.define_method("put_joined", method!(RubyIndex::put_joined, -1))?;
    class.define_method("delete", method!(RubyIndex::delete, 1))?;
    class.define_method("get", method!(RubyIndex::get, 1))?;
    class.define_method("get_at_once", method!(RubyIndex::get_at_once, 1))?;
    class.define_method("range_native", method!(RubyIndex::range, 3))?;
    Ok(())
}
