//! `Elah::Store`: opening, closing and checking. The Ruby half adds keywords.

mod clock;
mod counter;
pub(crate) mod errors;
mod export;
mod snapshot;
pub(crate) mod table;
mod transaction;

use std::cell::RefCell;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

use elah_store::{Clock, Options, Reservation, Store};
use magnus::value::ReprValue;
use magnus::{Error, Integer, Module, Object, RArray, RModule, RString, Ruby, TryConvert, Value, function, method};

use crate::concurrency::wait::suspend;
use crate::ruby::native_class;
use crate::ruby::receiver::Receiver;
pub(crate) use clock::RubyClock;
use counter::RubyCounter;
pub(crate) use errors::raised;
pub(crate) use table::RubyTable;
use transaction::RubyTransaction;

/// Larger buffers are freed after a read.
const KEPT_BUFFER_BYTES: usize = 64 * 1024;

thread_local! {
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

#[magnus::wrap(class = "Elah::Store", size)]
pub(crate) struct RubyStore {
    store: Store,
}

impl RubyStore {
    fn open(
        ruby: &Ruby,
        dir: PathBuf,
        bytes_max: u64,
        fold_ms: u64,
        sweep_ms: u64,
        clock: Option<&RubyClock>,
    ) -> Result<Self, Error> {
        let clock = clock.map_or(Clock::System, |clock| Clock::Manual(clock.time()));
        let options = Options {
            bytes_max,
            fold_pause: Duration::from_millis(fold_ms),
            sweep_pause: Duration::from_millis(sweep_ms),
            clock,
        };
        let store = Store::open(dir, &options).map_err(|error| raised(ruby, &error))?;
        Ok(RubyStore { store })
    }

    fn table(ruby: &Ruby, store: &Self, name: String) -> Result<RubyTable, Error> {
        store.store.table(&name).map(RubyTable::new).map_err(|error| raised(ruby, &error))
    }

    fn counter(ruby: &Ruby, store: &Self, name: String, is_in_memory: bool) -> Result<RubyCounter, Error> {
        let counter = store.store.counter(&name).map_err(|error| raised(ruby, &error))?;
        if is_in_memory {
            counter.introduce();
        }
        Ok(RubyCounter::new(counter, is_in_memory))
    }

    /// `values_at(table, key, table, key, ...)`
    fn values_at(ruby: &Ruby, store: Receiver<Self>, arguments: &[Value]) -> Result<RArray, Error> {
        let (pairs, []) = arguments.as_chunks::<2>() else {
            let message = format!("A key is missing: {} arguments are no pairs of a table and a key.", arguments.len());
            return Err(Error::new(ruby.exception_arg_error(), message));
        };
        let mut keys = Vec::with_capacity(pairs.len());
        for [table, key] in pairs {
            let Some(key) = RString::from_value(*key) else {
                return Err(Error::new(ruby.exception_type_error(), format!("A key is a String, not {}.", key.class())));
            };
            keys.push((table_of(table)?, key));
        }
        let mut places = Vec::with_capacity(keys.len());
        // SAFETY: the keys are among the arguments, and Ruby does not run until the values have been read.
        let keys = keys.iter().map(|(table, key)| (&table.table, unsafe { key.as_slice() }));
        with_buffer(|buffer| {
            store.store.values_at(keys, buffer, |place| places.push(place)).map_err(|error| raised(ruby, &error))?;
            let values = ruby.ary_new_capa(places.len());
            for place in places {
                match place {
                    Some(place) => values.push(ruby.str_from_slice(&buffer[place]))?,
                    None => values.push(())?,
                }
            }
            Ok(values)
        })
    }

    /// With `is_reserved`, other writers wait until the transaction is over.
    fn begin(ruby: &Ruby, store: Receiver<Self>, is_reserved: bool) -> Result<RubyTransaction, Error> {
        let transaction = match is_reserved {
            false => store.store.begin(),
            true => suspend(ruby, |completer| store.store.reserve(|reservation| completer.complete(reservation)))?
                .and_then(Reservation::begin),
        };
        transaction.map(RubyTransaction::new).map_err(|error| raised(ruby, &error))
    }

    fn check_shards(ruby: &Ruby, store: &Self, asked: u32) -> Result<(), Error> {
        store.store.check_shards(asked).map_err(|error| raised(ruby, &error))
    }

    fn sweep(ruby: &Ruby, store: &Self) -> Result<usize, Error> {
        suspend(ruby, |completer| store.store.sweep(|swept| completer.complete(swept)))?.map_err(|error| raised(ruby, &error))
    }

    /// Why stores of this process accept no writes: directories and sentences. With `is_to_look` the writers check first.
    fn troubles(ruby: &Ruby, is_to_look: bool) -> Result<RArray, Error> {
        let troubles = match is_to_look {
            true => suspend(ruby, |completer| elah_store::check_all(|troubles| completer.complete(troubles)))?,
            false => elah_store::troubles(),
        };
        let named = troubles.into_iter().map(|(dir, error)| (dir.display().to_string(), error.state()));
        Ok(ruby.ary_from_iter(named))
    }

    /// The number of pages and entries of the store in a directory, if all of them are sound.
    fn check(ruby: &Ruby, dir: PathBuf) -> Result<(u64, u64), Error> {
        let checked = Store::check(dir).map_err(|error| raised(ruby, &error))?;
        Ok((checked.pages, checked.entries))
    }

    /// The bytes of the file before and after.
    fn compact(ruby: &Ruby, dir: PathBuf) -> Result<(u64, u64), Error> {
        Store::compact(dir).map_err(|error| raised(ruby, &error))
    }

    fn flush(ruby: &Ruby, store: &Self) -> Result<(), Error> {
        suspend(ruby, |completer| store.store.flush(|flushed| completer.complete(flushed)))?.map_err(|error| raised(ruby, &error))
    }

    fn now_ms(&self) -> u64 {
        self.store.now_ms()
    }

    /// In UTF-8 if its bytes are, otherwise binary.
    fn dir(ruby: &Ruby, store: &Self) -> RString {
        let dir = store.store.dir();
        dir.to_str().map_or_else(|| ruby.str_from_slice(dir.as_os_str().as_bytes()), |text| ruby.str_new(text))
    }

    fn close(&self) {
        self.store.close();
    }

    fn is_closed(&self) -> bool {
        self.store.is_closed()
    }
}

/// Calls `work` with an empty buffer that this thread reuses.
fn with_buffer<R>(work: impl FnOnce(&mut Vec<u8>) -> R) -> R {
    let mut buffer = BUFFER.with(RefCell::take);
    buffer.clear();
    let result = work(&mut buffer);
    if buffer.capacity() <= KEPT_BUFFER_BYTES {
        BUFFER.set(buffer);
    }
    result
}

/// A binary String of the bytes that `read` appends to a buffer, if it returns true.
pub(crate) fn read_string<E>(ruby: &Ruby, read: impl FnOnce(&mut Vec<u8>) -> Result<bool, E>) -> Result<Value, E> {
    with_buffer(|buffer| {
        Ok(match read(buffer)? {
            true => ruby.str_from_slice(buffer).as_value(),
            false => ruby.qnil().as_value(),
        })
    })
}

fn table_of(value: &Value) -> Result<&RubyTable, Error> {
    table::CLASS.native(value).map_or_else(|| <&RubyTable>::try_convert(*value), Ok)
}

/// Passes the bytes of a Ruby String to `work`, which must not run Ruby code.
pub(crate) fn with_bytes<R>(string: RString, work: impl FnOnce(&[u8]) -> R) -> R {
    // SAFETY: `string` is on this stack, and nothing runs that could change or free it before `work` returns.
    work(unsafe { string.as_slice() })
}

/// The Integer of an argument. Ruby's own conversion would cut the fraction off a Float.
pub(crate) fn integer<T: TryConvert>(ruby: &Ruby, argument: &str, value: Value) -> Result<T, Error> {
    if Integer::from_value(value).is_none() {
        let message = format!("{argument}: must be an Integer, not {}", value.inspect());
        return Err(Error::new(ruby.exception_type_error(), message));
    }
    T::try_convert(value)
}

fn to_bytes(string: RString) -> Vec<u8> {
    with_bytes(string, <[u8]>::to_vec)
}

pub(crate) fn ttl(milliseconds: Option<u64>) -> Option<Duration> {
    milliseconds.map(Duration::from_millis)
}

pub(crate) fn init(ruby: &Ruby, elah: RModule) -> Result<(), Error> {
    let class = native_class::define::<RubyStore>(ruby, elah, "Store")?;
    class.define_singleton_method("open_native", function!(RubyStore::open, 5))?;
    class.define_singleton_method("check_native", function!(RubyStore::check, 1))?;
    class.define_singleton_method("compact_native", function!(RubyStore::compact, 1))?;
    class.define_singleton_method("stats_native", function!(snapshot::stats, 1))?;
    class.define_singleton_method("troubles_native", function!(RubyStore::troubles, 1))?;
    class.define_singleton_method("release_all", function!(transaction::release_all, 0))?;
    class.define_method("table", method!(RubyStore::table, 1))?;
    class.define_method("counter_native", method!(RubyStore::counter, 2))?;
    class.define_method("values_at", method!(RubyStore::values_at, -1))?;
    class.define_method("begin_native", method!(RubyStore::begin, 1))?;
    class.define_method("sweep", method!(RubyStore::sweep, 0))?;
    class.define_method("flush", method!(RubyStore::flush, 0))?;
    class.define_method("now_ms", method!(RubyStore::now_ms, 0))?;
    class.define_method("dir", method!(RubyStore::dir, 0))?;
    class.define_method("close_native", method!(RubyStore::close, 0))?;
    class.define_method("check_shards", method!(RubyStore::check_shards, 1))?;
    class.define_method("closed?", method!(RubyStore::is_closed, 0))?;
    clock::init(ruby, class)?;
    snapshot::init(ruby, class)?;
    export::init(ruby, class)?;
    table::init(ruby, class)?;
    counter::init(ruby, class)?;
    transaction::init(ruby, class)
}
