//! `Elah::Store::Transaction`: one attempt at a transaction. The Ruby half adds keywords.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use elah_store::Transaction;
use magnus::value::ReprValue;
use magnus::{Error, Module, RArray, RClass, RString, Ruby, Value, method};

use super::counter::{self, RubyCounter};
use super::errors::raised;
use super::table::{RubyTable, entries, range};
use super::{integer, table_of, to_bytes, ttl};
use crate::concurrency::wait::suspend;
use crate::ruby::errors::class;
use crate::ruby::native_class;
use crate::ruby::receiver::Receiver;

/// `None` after it was committed or abandoned.
type Attempt = Mutex<Option<Transaction>>;

/// The transactions of this process that are not over.
static OPEN: Mutex<Vec<Weak<Attempt>>> = Mutex::new(Vec::new());

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Closes every store of this process, for a fork. Gives up its transactions before, with which neither side could open the
/// stores again. The GVL is held from the first to the last.
pub(super) fn release_all() {
    let open = std::mem::take(&mut *lock(&OPEN));
    open.iter().filter_map(Weak::upgrade).for_each(|attempt| drop(lock(&attempt).take()));
    elah_store::release_all();
}

#[magnus::wrap(class = "Elah::Store::Transaction", size)]
pub(super) struct RubyTransaction {
    attempt: Arc<Attempt>,
}

impl RubyTransaction {
    pub(super) fn new(transaction: Transaction) -> Self {
        let attempt = Arc::new(Mutex::new(Some(transaction)));
        lock(&OPEN).push(Arc::downgrade(&attempt));
        RubyTransaction { attempt }
    }

    fn take(&self) -> Option<Transaction> {
        let taken = lock(&self.attempt).take()?;
        lock(&OPEN).retain(|open| open.strong_count() > 0 && open.as_ptr() != Arc::as_ptr(&self.attempt));
        Some(taken)
    }

    /// `work` must not run Ruby code.
    fn with<R>(&self, ruby: &Ruby, work: impl FnOnce(&mut Transaction) -> Result<R, elah_store::Error>) -> Result<R, Error> {
        match lock(&self.attempt).as_mut() {
            Some(transaction) => work(transaction).map_err(|error| raised(ruby, &error)),
            None => Err(Error::new(class(ruby, "Store::Closed"), "The transaction is over.")),
        }
    }

    fn get(ruby: &Ruby, transaction: Receiver<Self>, from: Value, key: RString) -> Result<Value, Error> {
        let key = to_bytes(key);
        if let Some(counter) = counter::CLASS.native::<RubyCounter>(&from) {
            let count = transaction.with(ruby, |transaction| transaction.count(&counter.counter, &key))?;
            return Ok(ruby.integer_from_i64(count).as_value());
        }
        let table = table_of(&from)?;
        let value = transaction.with(ruby, |transaction| transaction.get(&table.table, &key))?;
        Ok(value.map_or_else(|| ruby.qnil().as_value(), |value| ruby.str_from_slice(&value).as_value()))
    }

    fn range(
        ruby: &Ruby,
        transaction: &Self,
        table: &RubyTable,
        conditions: RArray,
        limit: usize,
        is_reverse: bool,
    ) -> Result<RArray, Error> {
        let range = range(conditions, limit, is_reverse)?;
        entries(ruby, transaction.with(ruby, |transaction| transaction.range(&table.table, &range))?)
    }

    fn put(
        ruby: &Ruby,
        transaction: Receiver<Self>,
        table: Value,
        key: RString,
        value: RString,
        ttl_ms: Option<u64>,
        only_new: bool,
    ) -> Result<bool, Error> {
        let table = table_of(&table)?;
        let (key, value, ttl) = (to_bytes(key), to_bytes(value), ttl(ttl_ms));
        transaction.with(ruby, |transaction| match only_new {
            true => transaction.put_new(&table.table, &key, value, ttl),
            false => transaction.put(&table.table, &key, value, ttl).map(|()| true),
        })
    }

    fn delete(ruby: &Ruby, transaction: Receiver<Self>, from: Value, key: RString) -> Result<Option<bool>, Error> {
        let key = to_bytes(key);
        if let Some(counter) = counter::CLASS.native::<RubyCounter>(&from) {
            transaction.with(ruby, |transaction| transaction.delete_count(&counter.counter, &key))?;
            return Ok(None);
        }
        let table = table_of(&from)?;
        transaction.with(ruby, |transaction| transaction.delete(&table.table, &key)).map(Some)
    }

    fn increment(
        ruby: &Ruby,
        transaction: &Self,
        counter: &RubyCounter,
        key: RString,
        by: Value,
        max: Option<Value>,
    ) -> Result<Option<i64>, Error> {
        let by = integer(ruby, "by", by)?;
        let max = max.map(|max| integer(ruby, "max", max)).transpose()?;
        let key = to_bytes(key);
        transaction.with(ruby, |transaction| transaction.increment(&counter.counter, &key, by, max))
    }

    fn add(ruby: &Ruby, transaction: &Self, counter: &RubyCounter, key: RString, by: Value) -> Result<(), Error> {
        let by = integer(ruby, "by", by)?;
        let key = to_bytes(key);
        transaction.with(ruby, |transaction| transaction.add(&counter.counter, &key, by))
    }

    /// True if everything is on disk, false if another write came in between.
    fn commit(ruby: &Ruby, transaction: Receiver<Self>) -> Result<bool, Error> {
        let Some(taken) = transaction.take() else {
            return Err(Error::new(class(ruby, "Store::Closed"), "The transaction is over."));
        };
        match suspend(ruby, |completer| taken.commit(|committed| completer.complete(committed)))? {
            Ok(()) => Ok(true),
            Err(elah_store::Error::Conflict) => Ok(false),
            Err(error) => Err(raised(ruby, &error)),
        }
    }

    fn give_up(transaction: Receiver<Self>) {
        drop(transaction.take());
    }
}

pub(super) fn init(ruby: &Ruby, store: RClass) -> Result<(), Error> {
    let class = native_class::define::<RubyTransaction>(ruby, store, "Transaction")?;
    class.define_method("get", method!(RubyTransaction::get, 2))?;
    class.define_method("range_native", method!(RubyTransaction::range, 4))?;
    class.define_method("put_native", method!(RubyTransaction::put, 5))?;
    class.define_method("delete", method!(RubyTransaction::delete, 2))?;
    class.define_method("increment_native", method!(RubyTransaction::increment, 4))?;
    class.define_method("add_native", method!(RubyTransaction::add, 3))?;
    class.define_method("commit_native", method!(RubyTransaction::commit, 0))?;
    class.define_method("give_up_native", method!(RubyTransaction::give_up, 0))?;
    Ok(())
}
