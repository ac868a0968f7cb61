//! `Elah::SlotQueues`: slots that are lent for a time and stand in queues; see `lib/elah/slot_queues.rb`.

pub(crate) mod loans;

use std::cell::RefCell;

use elah_core::slot_queues::{Loan, Misuse, Slot, SlotQueues};
use magnus::{Error, Module, Object, RArray, RModule, Ruby, function, method};

use crate::native_class;
use crate::receiver::{ExactClass, Receiver};

/// `Elah::SlotQueues`, to know its instances at a glance.
static CLASS: ExactClass = ExactClass::new();

#[magnus::wrap(class = "Elah::SlotQueues", free_immediately, size)]
pub(crate) struct RubySlotQueues {
    queues: RefCell<SlotQueues>,
}

// SAFETY: Ruby moves the object between threads only with the GVL, under which every method runs.
unsafe impl Sync for RubySlotQueues {}

type This = Receiver<RubySlotQueues>;

impl RubySlotQueues {
    fn new(queues: Slot) -> Self {
        RubySlotQueues { queues: RefCell::new(SlotQueues::new(queues)) }
    }

    fn first(ruby: &Ruby, this: This, queue: Slot) -> Result<Option<Slot>, Error> {
        raised(ruby, this.queues.borrow().first(queue))
    }

    fn size(ruby: &Ruby, this: This, queue: Slot) -> Result<u32, Error> {
        raised(ruby, this.queues.borrow().size(queue))
    }

    fn slots(ruby: &Ruby, this: This, queue: Slot) -> Result<RArray, Error> {
        let slots: Vec<Slot> = raised(ruby, this.queues.borrow().slots(queue).map(Iterator::collect))?;
        Ok(ruby.ary_from_iter(slots))
    }

    fn loans(ruby: &Ruby, this: This, queue: Slot) -> Result<RArray, Error> {
        let queues = this.queues.borrow();
        let loans = raised(ruby, queues.slots(queue))?.filter_map(|slot| queues.loan(slot).ok());
        let loans: Vec<i64> = loans.flat_map(|Loan { begun, due, serial }| [begun, due, serial]).collect();
        Ok(ruby.ary_from_iter(loans))
    }

    fn queue(this: This, slot: Slot) -> Option<Slot> {
        this.queues.borrow().queue(slot)
    }

    fn begun(ruby: &Ruby, this: This, slot: Slot) -> Result<i64, Error> {
        Ok(raised(ruby, this.queues.borrow().loan(slot))?.begun)
    }

    fn due(ruby: &Ruby, this: This, slot: Slot) -> Result<i64, Error> {
        Ok(raised(ruby, this.queues.borrow().loan(slot))?.due)
    }

    fn serial(ruby: &Ruby, this: This, slot: Slot) -> Result<i64, Error> {
        Ok(raised(ruby, this.queues.borrow().loan(slot))?.serial)
    }

    fn append(ruby: &Ruby, this: This, slot: Slot, queue: Slot) -> Result<(), Error> {
        raised(ruby, this.queues.borrow_mut().append(slot, queue))
    }

    fn remove(ruby: &Ruby, this: This, slot: Slot) -> Result<(), Error> {
        raised(ruby, this.queues.borrow_mut().remove(slot))
    }

    fn lend(ruby: &Ruby, this: This, slot: Slot, queue: Slot, begun: i64, due: i64, serial: i64) -> Result<(), Error> {
        raised(ruby, this.queues.borrow_mut().lend(slot, queue, Loan { begun, due, serial }))
    }

    fn lend_first(
        ruby: &Ruby,
        this: This,
        queue: Slot,
        lent: Slot,
        begun: i64,
        due: i64,
        serial: i64,
    ) -> Result<Option<Slot>, Error> {
        raised(ruby, this.queues.borrow_mut().lend_first(queue, lent, Loan { begun, due, serial }))
    }

    fn set_due(ruby: &Ruby, this: This, slot: Slot, due: i64) -> Result<(), Error> {
        raised(ruby, this.queues.borrow_mut().set_due(slot, due))
    }

    fn move_due(ruby: &Ruby, this: This, queue: Slot, now: i64, other: Slot) -> Result<u32, Error> {
        raised(ruby, this.queues.borrow_mut().move_due(queue, now, other))
    }

    fn now(this: This) -> i64 {
        this.queues.borrow().now()
    }

    fn step(this: This, now: i64) -> i64 {
        let mut queues = this.queues.borrow_mut();
        let now = queues.next_step(now);
        queues.advance(now);
        now
    }

    fn advance(this: This, now: i64) -> i64 {
        let mut queues = this.queues.borrow_mut();
        queues.advance(now);
        queues.now()
    }

    fn last_serial(this: This) -> i64 {
        this.queues.borrow().serial()
    }

    fn set_last_serial(this: This, serial: i64) {
        this.queues.borrow_mut().set_serial(serial);
    }
}

fn raised<R>(ruby: &Ruby, result: Result<R, Misuse>) -> Result<R, Error> {
    result.map_err(|misuse| Error::new(ruby.exception_arg_error(), format!("In these queues {misuse}.")))
}

pub(crate) fn init(ruby: &Ruby, elah: RModule) -> Result<(), Error> {
    let class = native_class::define::<RubySlotQueues>(ruby, elah, "SlotQueues")?;
    CLASS.set(ruby, class);
    class.define_singleton_method("new", function!(RubySlotQueues::new, 1))?;
    class.define_method("first", method!(RubySlotQueues::first, 1))?;
    class.define_method("size", method!(RubySlotQueues::size, 1))?;
    class.define_method("slots", method!(RubySlotQueues::slots, 1))?;
    class.define_method("loans", method!(RubySlotQueues::loans, 1))?;
    class.define_method("queue", method!(RubySlotQueues::queue, 1))?;
    class.define_method("begun", method!(RubySlotQueues::begun, 1))?;
    class.define_method("due", method!(RubySlotQueues::due, 1))?;
    class.define_method("serial", method!(RubySlotQueues::serial, 1))?;
    class.define_method("append", method!(RubySlotQueues::append, 2))?;
    class.define_method("remove", method!(RubySlotQueues::remove, 1))?;
    class.define_method("lend", method!(RubySlotQueues::lend, 5))?;
    class.define_method("lend_first", method!(RubySlotQueues::lend_first, 5))?;
    class.define_method("set_due", method!(RubySlotQueues::set_due, 2))?;
    class.define_method("move_due", method!(RubySlotQueues::move_due, 3))?;
    class.define_method("now", method!(RubySlotQueues::now, 0))?;
    class.define_method("step", method!(RubySlotQueues::step, 1))?;
    class.define_method("advance", method!(RubySlotQueues::advance, 1))?;
    class.define_method("last_serial", method!(RubySlotQueues::last_serial, 0))?;
    class.define_method("last_serial=", method!(RubySlotQueues::set_last_serial, 1))?;
    loans::init(ruby, class)
}
