//! `Elah::SlotQueues::Loans`: the calls of an entity that lend the next slot and write a row of it, without a frame of Ruby; see
//! `lib/elah/slot_queues/loans.rb`.

use std::cell::{Cell, RefCell};
use std::ptr::NonNull;

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
use crate::receiver::{ExactClass, Receiver};
use crate::shards::index::{self, RubyIndex};
use crate::store::with_bytes;

/// `Elah::SlotQueues::Loans`, to know its instances at a glance.
pub(crate) static CLASS: ExactClass = ExactClass::new();

/// Between the serial number of a loan and its text.
const JOINT: &[u8] = b"  ";
/// Of what the rows of a slot's loans begin with: what is known of a slot fits into as much as a processor loads at once.
const HEAD_BYTES_MAX: usize = 55;

#[derive(TypedData)]
#[magnus(class = "Elah::SlotQueues::Loans", mark, compact, free_immediately)]
pub(crate) struct Loans {
    /// A Symbol: the method of the entity that this stands for.
    method: VALUE,
    queues: VALUE,
    /// The native part of `queues`.
    native_queues: NonNull<RubySlotQueues>,
    from: Slot,
    to: Slot,
    index: RubyIndex,
    key_prefix: Vec<u8>,
    /// By slot, an Array that keeps the answers alive.
    answers: VALUE,
    by_slot: RefCell<Vec<Described>>,
    terms: Cell<Terms>,
    made: Cell<u64>,
}

/// What is known of a slot.
#[derive(Clone, Copy)]
struct Described {
    /// What a loan is answered with.
    answer: VALUE,
    /// What the rows of its loans begin with; nothing for a slot of which nothing is known.
    head: [u8; HEAD_BYTES_MAX],
    head_bytes: u8,
}

impl Described {
    const NOT: Self = Described { answer: rb_sys::Qnil as VALUE, head: [0; HEAD_BYTES_MAX], head_bytes: 0 };

    fn head(&self) -> &[u8] {
        &self.head[..usize::from(self.head_bytes)]
    }
}

/// Until when, how many, and for how long slots are lent.
#[derive(Clone, Copy, Default)]
struct Terms {
    hold: i64,
    until: i64,
    loans_max: u64,
}

// SAFETY: Ruby moves the object between threads only with the GVL, under which every method runs.
unsafe impl Send for Loans {}
// SAFETY: as for `Send`.
unsafe impl Sync for Loans {}

impl DataTypeFunctions for Loans {
    fn mark(&self, marker: &gc::Marker) {
        for value in [self.method, self.queues, self.answers] {
            // SAFETY: it is kept alive by this very mark.
            marker.mark(unsafe { Value::from_raw(value) });
        }
    }

    /// The answers may move: the Array marks them.
    fn compact(&self, compactor: &gc::Compactor) {
        // Nothing of Ruby runs while they are borrowed.
        if let Ok(mut by_slot) = self.by_slot.try_borrow_mut() {
            for described in by_slot.iter_mut().filter(|described| described.head_bytes > 0) {
                // SAFETY: the Array has kept it alive.
                let answer = unsafe { Value::from_raw(described.answer) };
                described.answer = compactor.location(answer).as_raw();
            }
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
        let Some(native_queues) = QUEUES.native::<RubySlotQueues>(&queues) else {
            let message = format!("queues must be an Elah::SlotQueues, not {}", queues.class());
            return Err(Error::new(ruby.exception_type_error(), message));
        };
        Ok(Loans {
            method: method.as_raw(),
            queues: queues.as_raw(),
            native_queues: NonNull::from(native_queues),
            from,
            to,
            index: index::native(ruby, &rows)?.clone(),
            key_prefix: with_bytes(prefix, <[u8]>::to_vec),
            answers: ruby.ary_new().as_raw(),
            by_slot: RefCell::default(),
            terms: Cell::default(),
            made: Cell::new(0),
        })
    }

    fn describe(ruby: &Ruby, this: This, slot: Slot, head: RString, answer: RString) -> Result<(), Error> {
        let answer = RString::new_frozen(answer); // all callers get the same
        let slot = slot as usize;
        if slot >= elah_core::slot_queues::SLOTS_MAX as usize {
            return Err(Error::new(ruby.exception_arg_error(), format!("There is no slot {slot}.")));
        }
        let mut described = Described { answer: answer.as_raw(), ..Described::NOT };
        let is_short = with_bytes(head, |head| {
            let room = described.head.get_mut(..head.len());
            room.map(|room| room.copy_from_slice(head)).map(|()| described.head_bytes = head.len() as u8).is_some()
        });
        if !is_short || described.head_bytes == 0 {
            let message = format!("What the rows of a slot begin with has 1 to {HEAD_BYTES_MAX} bytes.");
            return Err(Error::new(ruby.exception_arg_error(), message));
        }
        // SAFETY: this object marks its Array.
        let answers = unsafe { Value::from_raw(this.answers) };
        <RArray as TryConvert>::try_convert(answers)?.store(slot as isize, answer)?;
        let mut by_slot = this.by_slot.borrow_mut();
        if by_slot.len() <= slot {
            by_slot.resize(slot + 1, Described::NOT);
        }
        by_slot[slot] = described;
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
    pub(crate) fn lend(&self, now: i64, text: &[u8]) -> Option<(VALUE, u64)> {
        let Terms { hold, until, loans_max } = self.terms.get();
        // SAFETY: this object keeps `queues` alive, whose native part never moves.
        let queues = unsafe { self.native_queues.as_ref() };
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
        let by_slot = self.by_slot.try_borrow().ok()?;
        let described = by_slot.get(next as usize).filter(|described| described.head_bytes > 0)?;
        let serial = queues.serial() + 1;
        let batch = self.note(now, described.head(), serial, text).ok()?;
        queues.lend_first(self.from, self.to, Loan { begun: now, due: now.saturating_add(hold), serial }).ok()?;
        queues.advance(now);
        queues.set_serial(serial);
        self.made.set(self.made.get() + 1);
        Some((described.answer, batch))
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
