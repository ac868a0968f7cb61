//! `Elah::SlotQueues::Loans`: the calls of an entity that lend the next slot and write a row of it, without a frame of Ruby; see
//! `lib/elah/slot_queues/loans.rb`.

use std::cell::{Cell, RefCell};

use elah_core::slot_queues::{Loan, Slot};
use elah_core::store;
use magnus::rb_sys::{AsRawValue, FromRawValue};
use magnus::value::ReprValue;
use magnus::{
    DataTypeFunctions, Error, Module, Object, RArray, RClass, RString, Ruby, Symbol, TryConvert, TypedData, Value, function, gc,
    method,
};
use rb_sys::VALUE;

use super::{CLASS as QUEUES, RubySlotQueues};
use crate::native_class;
use crate::raw_objects::entry;
use crate::receiver::{ExactClass, Receiver};
use crate::shards::index::{self, RubyIndex};
use crate::store::with_bytes;

/// `Elah::SlotQueues::Loans`, to know its instances at a glance.
pub(crate) static CLASS: ExactClass = ExactClass::new();

/// Between the serial number of a loan and its text.
const JOINT: &[u8] = b"  ";

#[derive(TypedData)]
#[magnus(class = "Elah::SlotQueues::Loans", mark, free_immediately)]
pub(crate) struct Loans {
    /// A Symbol: the method of the entity that this stands for.
    method: VALUE,
    queues: VALUE,
    from: Slot,
    to: Slot,
    index: RubyIndex,
    key_prefix: Vec<u8>,
    /// By slot, an Array: what a loan is answered with.
    answers: VALUE,
    /// By slot: what the rows of its loans begin with.
    heads: RefCell<Vec<Vec<u8>>>,
    terms: Cell<Terms>,
    made: Cell<u64>,
}

/// Until when, how many, and for how long slots are lent.
#[derive(Clone, Copy, Default)]
struct Terms {
    hold: i64,
    until: i64,
    loans_max: u64,
}

// SAFETY: Ruby moves the object between threads only with the GVL, under which every method runs.
unsafe impl Sync for Loans {}

impl DataTypeFunctions for Loans {
    fn mark(&self, marker: &gc::Marker) {
        for value in [self.method, self.queues, self.answers] {
            // SAFETY: it is kept alive by this very mark.
            marker.mark(unsafe { Value::from_raw(value) });
        }
    }
}

type This = Receiver<Loans>;

impl Loans {
    fn new(
        ruby: &Ruby,
        method: Symbol,
        queues: Value,
        from: Slot,
        to: Slot,
        rows: Value,
        prefix: RString,
    ) -> Result<Self, Error> {
        if QUEUES.native::<RubySlotQueues>(&queues).is_none() {
            let message = format!("queues must be an Elah::SlotQueues, not {}", queues.class());
            return Err(Error::new(ruby.exception_type_error(), message));
        }
        Ok(Loans {
            method: method.as_raw(),
            queues: queues.as_raw(),
            from,
            to,
            index: index::native(ruby, &rows)?.clone(),
            key_prefix: with_bytes(prefix, <[u8]>::to_vec),
            answers: ruby.ary_new().as_raw(),
            heads: RefCell::default(),
            terms: Cell::default(),
            made: Cell::new(0),
        })
    }

    fn describe(ruby: &Ruby, this: This, slot: Slot, head: RString, answer: RString) -> Result<(), Error> {
        let slot = slot as usize;
        if slot >= elah_core::slot_queues::SLOTS_MAX as usize {
            return Err(Error::new(ruby.exception_arg_error(), format!("There is no slot {slot}.")));
        }
        // SAFETY: this object marks its Array.
        let answers = unsafe { Value::from_raw(this.answers) };
        <RArray as TryConvert>::try_convert(answers)?.store(slot as isize, answer)?;
        let mut heads = this.heads.borrow_mut();
        if heads.len() <= slot {
            heads.resize(slot + 1, Vec::new());
        }
        heads[slot] = with_bytes(head, <[u8]>::to_vec);
        Ok(())
    }

    fn open(this: This, hold: i64, until: i64, loans_max: u64) {
        this.terms.set(Terms { hold, until, loans_max });
    }

    fn close(this: This) -> u64 {
        this.terms.set(Terms::default());
        this.made.take()
    }

    /// Whether it stands for a method.
    pub(crate) fn stands_for(&self, method: VALUE) -> bool {
        self.method == method
    }

    /// Lends the next slot: its answer, and the number of the batch that its row is in. `None`, with nothing changed, when Ruby has to see to it.
    ///
    /// # Safety
    /// Under `protect`, where nothing is left to drop when it raises; it does not.
    pub(crate) unsafe fn lend(&self, now: i64, text: &[u8]) -> Option<(VALUE, u64)> {
        let Terms { hold, until, loans_max } = self.terms.get();
        // SAFETY: this object marks it.
        let queues = unsafe { Value::from_raw(self.queues) };
        let queues = QUEUES.native::<RubySlotQueues>(&queues)?;
        let mut queues = queues.queues.try_borrow_mut().ok()?;
        let now = queues.next_step(now);
        if self.made.get() >= loans_max || now >= until {
            return None;
        }
        let next = match queues.first(self.from).ok()? {
            Some(slot) => slot,
            None if queues.move_due(self.to, now, self.from).ok()? > 0 => queues.first(self.from).ok()??,
            None => return None,
        };
        let heads = self.heads.try_borrow().ok()?;
        let head = heads.get(next as usize).filter(|head| !head.is_empty())?;
        let serial = queues.serial() + 1;
        let batch = self.note(now, head, serial, text).ok()?;
        queues.lend_first(self.from, self.to, Loan { begun: now, due: now.saturating_add(hold), serial }).ok()?;
        queues.advance(now);
        queues.set_serial(serial);
        self.made.set(self.made.get() + 1);
        // SAFETY: an Array that this object marks; to read an entry does not raise.
        Some((unsafe { entry(self.answers, next as usize) }, batch))
    }

    fn note(&self, now: i64, head: &[u8], serial: i64, text: &[u8]) -> Result<u64, store::Error> {
        let (mut time, mut number) = (itoa::Buffer::new(), itoa::Buffer::new());
        let key = [&self.key_prefix[..], time.format(now).as_bytes()];
        self.index.gather_row(key, [head, number.format(serial).as_bytes(), JOINT, text])
    }
}

pub(super) fn init(ruby: &Ruby, queues: RClass) -> Result<(), Error> {
    let class = native_class::define::<Loans>(ruby, queues, "Loans")?;
    CLASS.set(ruby, class);
    class.define_singleton_method("new", function!(Loans::new, 6))?;
    class.define_method("describe", method!(Loans::describe, 3))?;
    class.define_method("open", method!(Loans::open, 3))?;
    class.define_method("close", method!(Loans::close, 0))?;
    Ok(())
}
