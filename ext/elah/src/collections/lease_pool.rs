//! `Elah::LeasePool::Core`: a lease pool and its rows. The Ruby half, `Elah::LeasePool`, adds keywords and the time.

mod batch;
mod errors;
mod history;
mod rows;
mod structs;

use std::cell::{Cell, RefCell};
use std::hash::{BuildHasher, RandomState};

use elah_lease_pool::{Action, ITEM_MAX, Lease, LeasePool, Policy, Request, Terms};
use magnus::{Error, Integer, Module, Object, RArray, RHash, RModule, RString, Ruby, Value, function, method, value::ReprValue};

use crate::ruby::native_class;
use crate::ruby::receiver::Receiver;
use crate::store::with_bytes;
use errors::raised;
use rows::Rows;

/// The least number of steps between two snapshots, for small pools.
const STEPS_MIN: usize = 256;

#[magnus::wrap(class = "Elah::LeasePool::Core", free_immediately, size)]
pub(crate) struct Core {
    pool: RefCell<LeasePool>,
    rows: Rows,
    /// How long holders are recorded, in microseconds.
    history: i64,
    /// Steps since the last snapshot.
    steps: Cell<usize>,
}

// SAFETY: Ruby moves the object between threads only with the GVL, under which every method runs.
unsafe impl Sync for Core {}

impl Core {
    /// The pool in the stored rows, or one without items.
    fn open(ruby: &Ruby, place: Value, prefix: RString, terms: RArray, history: i64) -> Result<Self, Error> {
        let rows = Rows::new(ruby, place, prefix)?;
        let loaded = rows.load(ruby, seed())?;
        let steps = loaded.as_ref().map_or(0, |(_, steps)| *steps);
        let pool = match loaded {
            Some((pool, _)) => pool,
            None => LeasePool::new(self::terms(ruby, terms)?, seed()),
        };
        Ok(Core { pool: RefCell::new(pool), rows, history, steps: Cell::new(steps) })
    }

    /// Lends an item; the lease, or nil if none is free.
    fn lease(ruby: &Ruby, core: Receiver<Self>, now: i64, session: Value, item: Value, data: RString) -> Result<Value, Error> {
        let (session, item) = (text(ruby, session)?, wanted(ruby, item)?);
        let lent = core.lend(ruby, now, session, item, data)?;
        lent.map_or(Ok(ruby.qnil().as_value()), |lent| structs::lease(ruby, &lent))
    }

    fn renew(ruby: &Ruby, core: Receiver<Self>, now: i64, id: RString) -> Result<Value, Error> {
        core.change(ruby, id, Action::Renewal, |pool, item, serial| pool.renew(now, item, serial))
    }

    fn release(ruby: &Ruby, core: Receiver<Self>, now: i64, id: RString) -> Result<Value, Error> {
        core.change(ruby, id, Action::Release, |pool, item, serial| pool.release(now, item, serial))
    }

    fn find(ruby: &Ruby, core: Receiver<Self>, now: i64, id: RString) -> Result<Value, Error> {
        core.change(ruby, id, Action::Lease, |pool, item, serial| pool.find(now, item, serial))
    }

    /// Changes the terms, `[hold, quarantine, policy, draining]`; false if they are unchanged.
    fn set_terms(ruby: &Ruby, core: Receiver<Self>, now: i64, terms: RArray) -> Result<bool, Error> {
        let terms = self::terms(ruby, terms)?;
        let mut pool = core.pool.borrow_mut();
        if pool.terms() == terms {
            return Ok(false);
        }
        pool.change(now, terms).map_err(|error| raised(ruby, &error))?;
        Ok(true)
    }

    fn terms(ruby: &Ruby, core: Receiver<Self>) -> Result<RArray, Error> {
        let Terms { hold, quarantine, policy, is_draining } = core.pool.borrow().terms();
        let policy = Policy::ALL.iter().position(|known| *known == policy);
        let terms = ruby.ary_new_capa(4);
        terms.push(hold)?;
        terms.push(quarantine)?;
        terms.push(policy)?;
        terms.push(is_draining)?;
        Ok(terms)
    }

    /// Sets the items; a Hash of the leaving ones with the time when each has left, or nil if they are unchanged.
    fn resize(ruby: &Ruby, core: Receiver<Self>, now: i64, items: RArray) -> Result<Option<RHash>, Error> {
        let items = (0..items.len()).map(|place| number(ruby, items.entry(place as isize)?)).collect::<Result<Vec<_>, _>>()?;
        let left = {
            let mut pool = core.pool.borrow_mut();
            if pool.consists_of(&items) && pool.statistics(now).leaving == 0 {
                return Ok(None);
            }
            pool.resize(now, &items).map_err(|error| raised(ruby, &error))?
        };
        let gone = ruby.hash_new();
        for (item, at) in left {
            gone.aset(item, at)?;
        }
        Ok(Some(gone))
    }

    fn items(ruby: &Ruby, core: Receiver<Self>) -> RArray {
        let items: Vec<i64> = core.pool.borrow().items().collect();
        ruby.ary_from_iter(items)
    }

    fn statistics(ruby: &Ruby, core: Receiver<Self>, now: i64) -> Result<Value, Error> {
        let statistics = core.pool.borrow_mut().statistics(now);
        structs::statistics(ruby, &statistics)
    }

    fn leases(core: Receiver<Self>) -> u64 {
        core.pool.borrow().serial()
    }

    fn overflows(core: Receiver<Self>) -> u64 {
        core.pool.borrow().overflows()
    }

    /// Writes a snapshot.
    fn keep(ruby: &Ruby, core: Receiver<Self>) -> Result<(), Error> {
        let pool = core.pool.borrow();
        core.write_snapshot(ruby, &pool)
    }

    /// The rows to store, `[[key, value], ...]`; a row without a value means a deletion.
    fn take_rows(ruby: &Ruby, core: Receiver<Self>) -> Result<RArray, Error> {
        core.rows.take(ruby)
    }

    /// Lends an item and writes the row; `None` if no item is free.
    fn lend(
        &self,
        ruby: &Ruby,
        now: i64,
        session: Option<RString>,
        item: Option<i64>,
        data: RString,
    ) -> Result<Option<Lease<'static>>, Error> {
        self.check(ruby, session, item, data)?;
        // SAFETY: the Strings are on this stack, and nothing of Ruby runs while their bytes are used.
        let (session, data) = unsafe { (session.as_ref().map(|name| name.as_slice()), data.as_slice()) };
        let request = Request { session, item };
        let mut pool = self.pool.borrow_mut();
        let Some(lease) = pool.lease(now, &request).map(owned) else { return Ok(None) };
        if lease.is_changed {
            self.note(ruby, &pool, Action::Lease, &lease, data)?;
        }
        Ok(Some(lease))
    }

    /// Refuses a request that no pool can serve.
    fn check(&self, ruby: &Ruby, session: Option<RString>, item: Option<i64>, data: RString) -> Result<(), Error> {
        // SAFETY: the Strings are on this stack, and nothing of Ruby runs while their bytes are used.
        let (session, data) = unsafe { (session.as_ref().map(|name| name.as_slice()), data.as_slice()) };
        Request { session, item }.check().map_err(|error| raised(ruby, &error))?;
        rows::check_data(ruby, data)
    }

    fn change(
        &self,
        ruby: &Ruby,
        id: RString,
        action: Action,
        change: impl for<'p> FnOnce(&'p mut LeasePool, i64, u64) -> Option<Lease<'p>>,
    ) -> Result<Value, Error> {
        let Some((item, serial)) = with_bytes(id, read_id) else { return Ok(ruby.qnil().as_value()) };
        let lease = {
            let mut pool = self.pool.borrow_mut();
            let Some(lease) = change(&mut pool, item, serial).map(owned) else { return Ok(ruby.qnil().as_value()) };
            if lease.is_changed {
                self.note(ruby, &pool, action, &lease, b"")?;
            }
            lease
        };
        structs::lease(ruby, &lease)
    }

    fn note(&self, ruby: &Ruby, pool: &LeasePool, action: Action, lease: &Lease<'_>, data: &[u8]) -> Result<(), Error> {
        if !self.rows.are_kept() {
            return Ok(());
        }
        self.rows.note(ruby, pool.now(), action, lease, data)?;
        self.steps.set(self.steps.get() + 1);
        // A restart replays the steps since the last snapshot.
        if self.steps.get() >= STEPS_MIN.max(pool.len()) { self.write_snapshot(ruby, pool) } else { Ok(()) }
    }

    /// Writes a snapshot, and deletes the rows that the history no longer needs.
    fn write_snapshot(&self, ruby: &Ruby, pool: &LeasePool) -> Result<(), Error> {
        let steps = self.steps.replace(0).max(STEPS_MIN);
        self.rows.keep(ruby, pool.now(), pool.snapshot(), pool.now().saturating_sub(self.history), steps)
    }
}

fn owned(lease: Lease<'_>) -> Lease<'static> {
    Lease { session: lease.session.map(|session| session.into_owned().into()), ..lease }
}

/// Item and serial number of `"item-serial"`.
fn read_id(id: &[u8]) -> Option<(i64, u64)> {
    let (item, serial) = std::str::from_utf8(id).ok()?.split_once('-')?;
    let are_digits = [item, serial].iter().all(|part| part.bytes().all(|byte| byte.is_ascii_digit()));
    are_digits.then(|| Some((item.parse().ok()?, serial.parse().ok()?)))?
}

/// A String that may be missing.
fn text(ruby: &Ruby, value: Value) -> Result<Option<RString>, Error> {
    if value.is_nil() {
        return Ok(None);
    }
    let refuse = || Error::new(ruby.exception_type_error(), format!("session: must be a String, not {}", value.class()));
    RString::from_value(value).ok_or_else(refuse).map(Some)
}

/// The number of an item. Ruby would convert a Float.
fn number(ruby: &Ruby, item: Value) -> Result<i64, Error> {
    let Some(number) = Integer::from_value(item) else {
        return Err(Error::new(ruby.exception_type_error(), format!("An item is an Integer, not {}.", item.inspect())));
    };
    number.to_i64().map_err(|_| {
        let sentence = format!("An item is a number from 0 to {ITEM_MAX}, not {number}.");
        Error::new(crate::ruby::errors::class(ruby, "LeasePool::InvalidItem"), sentence)
    })
}

/// The number of an item that may be missing.
fn wanted(ruby: &Ruby, item: Value) -> Result<Option<i64>, Error> {
    if item.is_nil() { Ok(None) } else { number(ruby, item).map(Some) }
}

/// `[hold, quarantine, policy, draining]`, with times in microseconds and the place of the policy among all.
fn terms(ruby: &Ruby, terms: RArray) -> Result<Terms, Error> {
    let policy: usize = terms.entry(2)?;
    let policy = *Policy::ALL.get(policy).ok_or_else(|| Error::new(ruby.exception_arg_error(), "There is no such policy."))?;
    let terms = Terms { hold: terms.entry(0)?, quarantine: terms.entry(1)?, policy, is_draining: terms.entry(3)? };
    terms.check().map(|()| terms).map_err(|error| raised(ruby, &error))
}

/// A different seed for each pool.
fn seed() -> u64 {
    RandomState::new().hash_one(0)
}

pub(crate) fn init(ruby: &Ruby, elah: RModule) -> Result<(), Error> {
    let pools = elah.define_class("LeasePool", ruby.class_object())?;
    let class = native_class::define::<Core>(ruby, pools, "Core")?;
    class.define_singleton_method("open", function!(Core::open, 4))?;
    class.define_singleton_method("structs", function!(structs::set, 3))?;
    class.define_singleton_method("holder", function!(history::holder, 4))?;
    class.define_method("lease", method!(Core::lease, 4))?;
    class.define_method("lease_all", method!(Core::lease_all, 2))?;
    class.define_method("lease_all_json", method!(Core::lease_all_json, 2))?;
    class.define_method("renew", method!(Core::renew, 2))?;
    class.define_method("release", method!(Core::release, 2))?;
    class.define_method("find", method!(Core::find, 2))?;
    class.define_method("set_terms", method!(Core::set_terms, 2))?;
    class.define_method("terms", method!(Core::terms, 0))?;
    class.define_method("resize", method!(Core::resize, 2))?;
    class.define_method("items", method!(Core::items, 0))?;
    class.define_method("statistics", method!(Core::statistics, 1))?;
    class.define_method("leases", method!(Core::leases, 0))?;
    class.define_method("overflows", method!(Core::overflows, 0))?;
    class.define_method("keep", method!(Core::keep, 0))?;
    class.define_method("take_rows", method!(Core::take_rows, 0))?;
    Ok(())
}
