//! `Elah::RankedSet`: creating and loading sets, and reporting their memory to Ruby. The Ruby half adds keywords.

mod errors;
mod json;
mod reads;
mod scores;
mod structs;
mod words;
mod writes;

use std::cell::{Cell, RefCell};
use std::thread;

use elah_ranked_set::{Component, Direction, Order, RankedSet, Ties};
use elah_store::Range;
use magnus::{DataTypeFunctions, Error, Object, RArray, RModule, RString, Ruby, TryConvert, TypedData, Value, function};

use crate::concurrency::wait::suspend;
use crate::ruby::native_class;
use crate::ruby::receiver::ExactClass;
use crate::store::RubyTable;
use errors::{raised, unloaded};

/// After this many writes, the memory that the set has taken meanwhile is reported to Ruby's GC.
const WRITES_BETWEEN_REPORTS: u32 = 1024;

/// `Elah::RankedSet`, to recognise its instances quickly.
static CLASS: ExactClass = ExactClass::new();

#[derive(TypedData)]
#[magnus(class = "Elah::RankedSet", free_immediately, size)]
struct RubyRankedSet {
    set: RefCell<RankedSet>,
    /// The set's own order, for use while the set is not borrowed.
    order: Order,
    writes: Cell<u32>,
    reported_bytes: Cell<usize>,
}

// SAFETY: Ruby moves the object between threads only with the GVL, under which every method runs.
unsafe impl Sync for RubyRankedSet {}

impl DataTypeFunctions for RubyRankedSet {
    fn size(&self) -> usize {
        self.set.try_borrow().map_or(0, |set| set.bytes())
    }
}

impl Drop for RubyRankedSet {
    fn drop(&mut self) {
        if let Ok(ruby) = Ruby::get() {
            ruby.gc_adjust_memory_usage(-(self.reported_bytes.get() as isize));
        }
    }
}

impl RubyRankedSet {
    fn wrap(ruby: &Ruby, set: RankedSet) -> Self {
        let order = set.order().clone();
        let set = RubyRankedSet { set: RefCell::new(set), order, writes: Cell::new(0), reported_bytes: Cell::new(0) };
        set.report_now(ruby);
        set
    }

    fn new(ruby: &Ruby, components: RArray, is_tied_by_member: bool, members_max: usize) -> Result<Self, Error> {
        Ok(Self::wrap(ruby, RankedSet::new(order(ruby, components, is_tied_by_member)?, members_max)))
    }

    /// Loads in a separate thread: only the fiber waits, not the loop.
    fn load(
        ruby: &Ruby,
        table: &RubyTable,
        prefix: RString,
        components: RArray,
        is_tied_by_member: bool,
        members_max: usize,
    ) -> Result<Self, Error> {
        let order = order(ruby, components, is_tied_by_member)?;
        let (table, prefix) = (table.table.clone(), to_bytes(prefix));
        let loaded = suspend(ruby, move |completer| {
            let load = move || {
                completer.complete(RankedSet::load(order, members_max, &prefix, |stem, row| {
                    table.each(&Range { prefix: Some(stem.to_vec()), limit: usize::MAX, ..Range::default() }, row)
                }));
            };
            // Without a thread the completer is dropped with the closure, which ends the wait with an error.
            drop(thread::Builder::new().name("elah ranked set".to_owned()).spawn(load));
        })?;
        Ok(Self::wrap(ruby, loaded.map_err(|error| unloaded(ruby, &error))?))
    }

    /// As `load`, from rows that were read already: keys and values, in the order of the keys.
    fn load_rows(
        ruby: &Ruby,
        rows: RArray,
        prefix: RString,
        components: RArray,
        is_tied_by_member: bool,
        members_max: usize,
    ) -> Result<Self, Error> {
        let order = order(ruby, components, is_tied_by_member)?;
        let rows = rows
            .into_iter()
            .map(|row| <(RString, RString)>::try_convert(row).map(|(key, value)| (to_bytes(key), to_bytes(value))))
            .collect::<Result<Vec<_>, _>>()?;
        let loaded = RankedSet::load(order, members_max, &to_bytes(prefix), |stem, take| {
            let mut own = rows.iter().filter(|(key, _)| key.starts_with(stem));
            let _ = own.all(|(key, value)| take(key, value));
            Ok(())
        });
        Ok(Self::wrap(ruby, loaded.map_err(|error| unloaded(ruby, &error))?))
    }

    #[inline]
    fn report(&self, ruby: &Ruby) {
        self.writes.set(self.writes.get() + 1);
        if self.writes.get() >= WRITES_BETWEEN_REPORTS {
            self.report_now(ruby);
        }
    }

    fn report_now(&self, ruby: &Ruby) {
        let bytes = self.set.borrow().bytes();
        let more = bytes as isize - self.reported_bytes.replace(bytes) as isize;
        self.writes.set(0);
        if more != 0 {
            ruby.gc_adjust_memory_usage(more);
        }
    }
}

/// An order from `[[is_descending, decimals], ...]`.
fn order(ruby: &Ruby, components: RArray, is_tied_by_member: bool) -> Result<Order, Error> {
    let components = components.to_vec::<(bool, u8)>()?.into_iter().map(|(is_descending, decimals)| Component {
        direction: if is_descending { Direction::Descending } else { Direction::Ascending },
        decimals,
    });
    let ties = if is_tied_by_member { Ties::Member } else { Ties::Earliest };
    Order::new(components.collect(), ties).map_err(|error| raised(ruby, &error))
}

/// A member in a list, which must be a String: nothing is converted, so no Ruby code runs.
fn string(ruby: &Ruby, value: Value) -> Result<RString, Error> {
    let refuse = || Error::new(ruby.exception_type_error(), format!("a member is a String, not {value:?}"));
    RString::from_value(value).ok_or_else(refuse)
}

/// Passes the bytes of a Ruby String to `work`, which must not run Ruby code.
fn with_name<R>(string: RString, work: impl FnOnce(&[u8]) -> R) -> R {
    // SAFETY: `string` is on this stack, and nothing runs that could change or free it before `work` returns.
    work(unsafe { string.as_slice() })
}

fn to_bytes(string: RString) -> Vec<u8> {
    with_name(string, <[u8]>::to_vec)
}

pub(crate) fn init(ruby: &Ruby, elah: RModule) -> Result<(), Error> {
    words::STYLES.init(ruby);
    words::OPERATORS.init(ruby);
    let class = native_class::define::<RubyRankedSet>(ruby, elah, "RankedSet")?;
    CLASS.set(ruby, class);
    class.define_singleton_method("new_native", function!(RubyRankedSet::new, 3))?;
    class.define_singleton_method("load_native", function!(RubyRankedSet::load, 5))?;
    class.define_singleton_method("load_rows_native", function!(RubyRankedSet::load_rows, 5))?;
    class.define_singleton_method("structs_native", function!(structs::set, 3))?;
    json::init(class)?;
    reads::init(class)?;
    writes::init(class)
}
