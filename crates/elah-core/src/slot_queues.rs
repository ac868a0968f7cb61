//! Queues of numbered slots that are lent for a time: circular doubly linked lists over one flat array, so that a slot joins, leaves and
//! changes its queue in a constant number of steps wherever it stands. They have a clock of steps and count loans, for whoever lends them.

use std::fmt;

/// A slot or a queue. The first numbers are the queues, whose places in the array are the heads of the lists; slots are the numbers after
/// them.
pub type Slot = u32;

/// Slots and queues together.
pub const SLOTS_MAX: Slot = 1 << 24;

/// A queue or a slot that there is not, or that stands where it cannot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misuse {
    NoQueue(Slot),
    NoSlot(Slot),
    Queued(Slot),
    NotQueued(Slot),
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Misuse::NoQueue(queue) => write!(f, "there is no queue {queue}"),
            Misuse::NoSlot(slot) => write!(f, "there is no slot {slot}"),
            Misuse::Queued(slot) => write!(f, "slot {slot} stands in a queue already"),
            Misuse::NotQueued(slot) => write!(f, "slot {slot} stands in no queue"),
        }
    }
}

/// What a slot was lent for last: from when, until when, and the how manieth loan it is. Times in a unit of the caller's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Loan {
    pub begun: i64,
    pub due: i64,
    pub serial: i64,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    after: Slot,
    before: Slot,
    /// The queue in which it stands; its own number if in none.
    queue: Slot,
    /// Of a queue: how many slots stand in it.
    size: u32,
    loan: Loan,
}

impl Place {
    fn alone(number: Slot) -> Self {
        Place { after: number, before: number, queue: number, size: 0, loan: Loan::default() }
    }
}

/// Slots in queues. A slot stands in one of them or in none.
#[derive(Clone, Debug)]
pub struct SlotQueues {
    queues: Slot,
    places: Vec<Place>,
    now: i64,
    serial: i64,
}

impl SlotQueues {
    /// Queues 0 to `queues` - 1, all of them empty; the first slot is `queues`.
    pub fn new(queues: Slot) -> Self {
        let queues = queues.min(SLOTS_MAX);
        SlotQueues { queues, places: (0..queues).map(Place::alone).collect(), now: 0, serial: 0 }
    }

    /// When the last step was.
    pub fn now(&self) -> i64 {
        self.now
    }

    /// When a step is that is taken at `now` by the caller's clock: later than the step before, whatever that clock says.
    pub fn next_step(&self, now: i64) -> i64 {
        now.max(self.now.saturating_add(1))
    }

    /// Moves the clock forward; it never goes back.
    pub fn advance(&mut self, now: i64) {
        self.now = self.now.max(now);
    }

    /// The serial number of the last loan.
    pub fn serial(&self) -> i64 {
        self.serial
    }

    /// Counts on from another serial number.
    pub fn set_serial(&mut self, serial: i64) {
        self.serial = serial;
    }

    /// The slot that has stood in a queue for longest.
    pub fn first(&self, queue: Slot) -> Result<Option<Slot>, Misuse> {
        let first = self.places[self.queue_index(queue)?].after;
        Ok((first != queue).then_some(first))
    }

    /// How many slots stand in a queue.
    pub fn size(&self, queue: Slot) -> Result<u32, Misuse> {
        Ok(self.places[self.queue_index(queue)?].size)
    }

    /// The slots of a queue, the longest standing first.
    pub fn slots(&self, queue: Slot) -> Result<impl Iterator<Item = Slot>, Misuse> {
        let first = self.places[self.queue_index(queue)?].after;
        let follow = |slot: &Slot| Some(self.places[*slot as usize].after);
        Ok(std::iter::successors(Some(first), follow).take_while(move |slot| *slot != queue))
    }

    /// The queue in which a slot stands.
    pub fn queue(&self, slot: Slot) -> Option<Slot> {
        let queue = self.places[self.slot_index(slot).ok()?].queue;
        (queue != slot).then_some(queue)
    }

    /// What a slot was lent for last.
    pub fn loan(&self, slot: Slot) -> Result<Loan, Misuse> {
        Ok(self.places[self.slot_index(slot)?].loan)
    }

    /// Puts a slot that stands in no queue at the end of one. A slot that is new needs no other step.
    pub fn append(&mut self, slot: Slot, queue: Slot) -> Result<(), Misuse> {
        self.queue_index(queue)?;
        let index = self.slot_index(slot).or_else(|_| self.grow(slot))?;
        if self.places[index].queue != slot {
            return Err(Misuse::Queued(slot));
        }
        self.link(slot, queue);
        Ok(())
    }

    /// Takes a slot out of its queue.
    pub fn remove(&mut self, slot: Slot) -> Result<(), Misuse> {
        let index = self.slot_index(slot)?;
        if self.places[index].queue == slot {
            return Err(Misuse::NotQueued(slot));
        }
        self.unlink(slot);
        Ok(())
    }

    /// Lends a slot: as `append`, with what it is lent for.
    pub fn lend(&mut self, slot: Slot, queue: Slot, loan: Loan) -> Result<(), Misuse> {
        self.append(slot, queue)?;
        self.places[slot as usize].loan = loan;
        Ok(())
    }

    /// Lends the slot that has stood in a queue for longest; it stands at the end of the queue `lent` then.
    pub fn lend_first(&mut self, queue: Slot, lent: Slot, loan: Loan) -> Result<Option<Slot>, Misuse> {
        self.queue_index(lent)?;
        let Some(slot) = self.first(queue)? else { return Ok(None) };
        self.unlink(slot);
        self.link(slot, lent);
        self.places[slot as usize].loan = loan;
        Ok(Some(slot))
    }

    /// Lets what a slot was lent for end at another time, without a change of its place.
    pub fn set_due(&mut self, slot: Slot, due: i64) -> Result<(), Misuse> {
        let index = self.slot_index(slot)?;
        self.places[index].loan.due = due;
        Ok(())
    }

    /// Moves the slots at the head of a queue that are due to the end of another one, in their order; how many they are. With the same queue
    /// as `other`, each of its slots moves once at most.
    pub fn move_due(&mut self, queue: Slot, now: i64, other: Slot) -> Result<u32, Misuse> {
        self.queue_index(other)?;
        let size = self.size(queue)?;
        for moved in 0..size {
            let Some(slot) = self.first(queue)?.filter(|slot| self.places[*slot as usize].loan.due <= now) else {
                return Ok(moved);
            };
            self.unlink(slot);
            self.link(slot, other);
        }
        Ok(size)
    }

    fn queue_index(&self, queue: Slot) -> Result<usize, Misuse> {
        if queue < self.queues { Ok(queue as usize) } else { Err(Misuse::NoQueue(queue)) }
    }

    fn slot_index(&self, slot: Slot) -> Result<usize, Misuse> {
        let index = slot as usize;
        if slot >= self.queues && index < self.places.len() { Ok(index) } else { Err(Misuse::NoSlot(slot)) }
    }

    fn grow(&mut self, slot: Slot) -> Result<usize, Misuse> {
        if !(self.queues..SLOTS_MAX).contains(&slot) {
            return Err(Misuse::NoSlot(slot));
        }
        self.places.extend((self.places.len() as Slot..=slot).map(Place::alone));
        Ok(slot as usize)
    }

    fn link(&mut self, slot: Slot, queue: Slot) {
        let last = self.places[queue as usize].before;
        self.places[last as usize].after = slot;
        let place = &mut self.places[slot as usize];
        (place.before, place.after, place.queue) = (last, queue, queue);
        let head = &mut self.places[queue as usize];
        head.before = slot;
        head.size += 1;
    }

    fn unlink(&mut self, slot: Slot) {
        let Place { after, before, queue, .. } = self.places[slot as usize];
        self.places[before as usize].after = after;
        self.places[after as usize].before = before;
        self.places[queue as usize].size -= 1;
        self.places[slot as usize].queue = slot;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FREE: Slot = 0;
    const LENT: Slot = 1;

    fn loan(due: i64) -> Loan {
        Loan { begun: due - 10, due, serial: due * 2 }
    }

    fn queues(slots: Slot) -> SlotQueues {
        let mut queues = SlotQueues::new(2);
        (2..2 + slots).for_each(|slot| queues.append(slot, FREE).unwrap());
        queues
    }

    fn slots(queues: &SlotQueues, queue: Slot) -> Vec<Slot> {
        let slots: Vec<_> = queues.slots(queue).unwrap().collect();
        assert_eq!(queues.size(queue), Ok(slots.len() as u32));
        slots
    }

    #[test]
    fn the_longest_standing_is_lent_first_and_comes_back_when_it_is_due() {
        let mut queues = queues(3);
        assert_eq!(queues.lend_first(FREE, LENT, loan(7)), Ok(Some(2)));
        assert_eq!(queues.lend_first(FREE, LENT, loan(9)), Ok(Some(3)));
        assert_eq!((queues.queue(2), queues.loan(3)), (Some(LENT), Ok(loan(9))));
        assert_eq!(queues.move_due(LENT, 6, FREE), Ok(0));
        assert_eq!(queues.move_due(LENT, 8, FREE), Ok(1));
        assert_eq!((slots(&queues, FREE), slots(&queues, LENT)), (vec![4, 2], vec![3]));
        assert_eq!(queues.lend_first(FREE, LENT, loan(11)), Ok(Some(4)));
        assert_eq!(queues.lend_first(FREE, LENT, loan(12)), Ok(Some(2)));
        assert_eq!(queues.lend_first(FREE, LENT, loan(13)), Ok(None));
        assert_eq!(slots(&queues, LENT), [3, 4, 2]);
    }

    #[test]
    fn a_slot_leaves_from_the_middle_and_joins_another_queue() {
        let mut queues = queues(3);
        queues.remove(3).unwrap();
        assert_eq!((slots(&queues, FREE), queues.queue(3)), (vec![2, 4], None));
        queues.lend(3, LENT, loan(5)).unwrap();
        queues.set_due(3, 50).unwrap();
        assert_eq!((queues.move_due(LENT, 49, FREE), queues.move_due(LENT, 50, FREE)), (Ok(0), Ok(1)));
        assert_eq!(slots(&queues, FREE), [2, 4, 3]);
    }

    /// A slot that stayed due was first again and again, and the call never returned.
    #[test]
    fn due_slots_move_within_one_queue_once() {
        let mut queues = queues(3);
        for due in [7, 8, 20] {
            queues.lend_first(FREE, LENT, loan(due)).unwrap();
        }
        assert_eq!(queues.move_due(LENT, 10, LENT), Ok(2));
        assert_eq!(slots(&queues, LENT), [4, 2, 3]);
        assert_eq!(queues.move_due(LENT, 30, LENT), Ok(3));
        assert_eq!(slots(&queues, LENT), [4, 2, 3]);
    }

    #[test]
    fn steps_are_one_after_the_other_whatever_the_clock_says() {
        let mut queues = queues(1);
        assert_eq!((queues.now(), queues.next_step(-5), queues.next_step(7)), (0, 1, 7));
        queues.advance(7);
        queues.advance(3);
        assert_eq!((queues.now(), queues.next_step(7), queues.next_step(9)), (7, 8, 9));
        queues.advance(i64::MAX);
        assert_eq!(queues.next_step(0), i64::MAX);
    }

    #[test]
    fn what_there_is_not_is_refused_and_changes_nothing() {
        let mut queues = queues(1);
        assert_eq!(queues.first(2), Err(Misuse::NoQueue(2)));
        assert_eq!(queues.append(7, 2), Err(Misuse::NoQueue(2)));
        assert_eq!(queues.append(2, LENT), Err(Misuse::Queued(2)));
        assert_eq!(queues.append(1, LENT), Err(Misuse::NoSlot(1)));
        assert_eq!(queues.append(SLOTS_MAX, LENT), Err(Misuse::NoSlot(SLOTS_MAX)));
        assert_eq!(queues.loan(3), Err(Misuse::NoSlot(3)));
        assert_eq!(queues.queue(5), None);
        queues.append(5, LENT).unwrap();
        assert_eq!(queues.remove(3), Err(Misuse::NotQueued(3)));
        assert_eq!(queues.lend_first(FREE, 9, loan(1)), Err(Misuse::NoQueue(9)));
        assert_eq!((slots(&queues, FREE), slots(&queues, LENT)), (vec![2], vec![5]));
    }
}
