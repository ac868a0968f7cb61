//! The pool: which item is held by whom, and when it may be lent again.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};

use crate::free::Free;
use crate::{Error, ITEM_MAX, ITEMS_MAX, Lease, Policy, Request, Statistics, Terms};

/// Items of a pool together with those that leave it.
pub(crate) const SLOTS_MAX: usize = 2 * ITEMS_MAX;

/// How far the caller's clock may go back and the pool waits for it, in microseconds. One that jumped ahead for a moment would otherwise hold
/// every item until it gets there again.
const STANDSTILL_MAX: i64 = 60_000_000;
/// The latest time of a caller's clock. It leaves room for the steps after it.
const CLOCK_MAX: i64 = 1 << 62;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// No item has the slot.
    Vacant,
    Free,
    Held,
    Quarantined,
}

#[derive(Clone, Debug)]
pub(crate) struct Slot {
    pub(crate) item: i64,
    pub(crate) state: State,
    pub(crate) is_leaving: bool,
    /// When the last hold began.
    pub(crate) begun: i64,
    /// When the hold or the quarantine ends; of a free slot, since when it is free.
    pub(crate) due: i64,
    pub(crate) serial: u64,
    /// The session of the current or last holder.
    pub(crate) session: Option<Box<[u8]>>,
}

/// Items that are lent for a time. Each operation takes logarithmic time, however many items are held.
///
/// Operations that change the pool are steps. No two steps have the same time: where the caller's clock does not go on, a step
/// happens one microsecond after the one before. Where it goes back by more than a minute, the pool's time goes on from the last step.
#[derive(Clone, Debug)]
pub struct LeasePool {
    pub(crate) terms: Terms,
    pub(crate) slots: Vec<Slot>,
    pub(crate) free: Free,
    pub(crate) held: BTreeSet<(i64, u32)>,
    pub(crate) quarantined: BTreeSet<(i64, u32)>,
    by_item: HashMap<i64, u32>,
    by_session: HashMap<Box<[u8]>, u32>,
    vacant: BTreeSet<u32>,
    leaving: usize,
    pub(crate) now: i64,
    /// How far the pool's time is ahead of the caller's clock, which went back.
    ahead: i64,
    pub(crate) serial: u64,
    pub(crate) overflows: u64,
    seed: u64,
}

impl LeasePool {
    /// A pool without items.
    ///
    /// `seed` is what the policy [`Policy::Random`] begins with.
    pub fn new(terms: Terms, seed: u64) -> Self {
        LeasePool {
            terms,
            slots: Vec::new(),
            free: Free::new(terms.policy, seed, 0),
            held: BTreeSet::new(),
            quarantined: BTreeSet::new(),
            by_item: HashMap::new(),
            by_session: HashMap::new(),
            vacant: BTreeSet::new(),
            leaving: 0,
            now: 0,
            ahead: 0,
            serial: 0,
            overflows: 0,
            seed,
        }
    }

    /// The terms of the next lease.
    pub fn terms(&self) -> Terms {
        self.terms
    }

    /// When the last step was.
    pub fn now(&self) -> i64 {
        self.now
    }

    /// Items without those that leave.
    pub fn len(&self) -> usize {
        self.by_item.len() - self.leaving
    }

    /// Whether there are no items but those that leave.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The items in their order, without those that leave.
    pub fn items(&self) -> impl Iterator<Item = i64> {
        self.slots.iter().filter(|slot| slot.state != State::Vacant && !slot.is_leaving).map(|slot| slot.item)
    }

    /// Whether these are the items that do not leave, in any order.
    pub fn consists_of(&self, items: &[i64]) -> bool {
        let stays = |item: &i64| self.by_item.get(item).is_some_and(|slot| !self.slots[*slot as usize].is_leaving);
        items.len() == self.len() && items.iter().all(stays) && items.iter().collect::<HashSet<_>>().len() == items.len()
    }

    /// How many leases the pool has made.
    pub fn serial(&self) -> u64 {
        self.serial
    }

    /// How many requests have found no free item.
    pub fn overflows(&self) -> u64 {
        self.overflows
    }

    /// Lends an item. A session that holds one gets the same lease again. `None` when no item is free, or not the one that is asked
    /// for, and counts as an overflow.
    pub fn lease(&mut self, now: i64, request: &Request<'_>) -> Option<Lease<'_>> {
        self.step(now);
        if let Some(slot) = self.held_by(request.session) {
            return Some(self.shown(slot, false));
        }
        let Some(slot) = self.choose(request) else {
            self.overflows += 1;
            return None;
        };
        let due = self.now.saturating_add(self.terms.hold);
        self.lend(slot, due, self.serial + 1, request.session);
        Some(self.shown(slot, true))
    }

    /// Lets the hold of a lease begin again. The hold of an item that leaves the pool, and one that lasts longer, stay as they are.
    /// `None` when the lease is over.
    pub fn renew(&mut self, now: i64, item: i64, serial: u64) -> Option<Lease<'_>> {
        self.step(now);
        let slot = self.slot_of(item, serial)?;
        let due = self.now.saturating_add(self.terms.hold);
        if self.slots[slot as usize].is_leaving || due <= self.slots[slot as usize].due {
            return Some(self.shown(slot, false));
        }
        self.prolong(slot, due);
        Some(self.shown(slot, true))
    }

    /// Ends a lease before its time; its quarantine begins. `None` when it was over.
    pub fn release(&mut self, now: i64, item: i64, serial: u64) -> Option<Lease<'_>> {
        self.step(now);
        let slot = self.slot_of(item, serial)?;
        let session = self.slots[slot as usize].session.clone().map(|session| Cow::Owned(session.into_vec()));
        let begun = self.slots[slot as usize].begun;
        self.end_early(slot);
        Some(Lease { item, serial, begun, due: self.now, session, is_changed: true })
    }

    /// A lease that is held. `None` when it is over.
    pub fn find(&mut self, now: i64, item: i64, serial: u64) -> Option<Lease<'_>> {
        self.advance(now);
        self.slot_of(item, serial).map(|slot| self.shown(slot, false))
    }

    /// Ends the holds and quarantines whose time is over. It is no step.
    pub fn advance(&mut self, now: i64) {
        self.now = self.time(now).max(self.now);
        self.expire();
    }

    /// Changes the terms. Holds that have begun end when they were to end; their quarantine is the new one.
    ///
    /// # Errors
    /// [`Error::InvalidTerms`]
    pub fn change(&mut self, now: i64, terms: Terms) -> Result<(), Error> {
        terms.check()?;
        self.step(now);
        let has_other_policy = terms.policy != self.terms.policy;
        self.terms = terms;
        if has_other_policy {
            self.arrange_free(0);
        }
        Ok(())
    }

    /// Gives the pool other items. An item that is not listed is lent no more, and leaves when its hold and its quarantine are
    /// over; listed again before that, it stays.
    ///
    /// Returns the items that leave, and when each has left, if nobody prolongs its hold: nobody can.
    ///
    /// # Errors
    /// [`Error::TooManyItems`], [`Error::TooManyLeaving`], [`Error::InvalidItem`] and [`Error::DuplicateItem`]
    pub fn resize(&mut self, now: i64, items: &[i64]) -> Result<Vec<(i64, i64)>, Error> {
        let listed = check_items(items)?;
        self.step(now);
        self.check_room(&listed)?;
        let mut left = Vec::new();
        for number in 0..self.slots.len() as u32 {
            let slot = &self.slots[number as usize];
            if slot.state != State::Vacant && !listed.contains(&slot.item) {
                left.push((slot.item, self.dismiss(number)));
            }
        }
        for item in items {
            self.admit(*item);
        }
        Ok(left)
    }

    /// How the items are used at `now`.
    pub fn statistics(&mut self, now: i64) -> Statistics {
        self.advance(now);
        Statistics {
            items: self.len(),
            free: self.free.len(),
            held: self.held.len(),
            quarantined: self.quarantined.len(),
            leaving: self.leaving,
            leases: self.serial,
            overflows: self.overflows,
            next_free_at: self.next_free_at(),
        }
    }

    fn next_free_at(&self) -> Option<i64> {
        if self.free.len() > 0 {
            return Some(self.now);
        }
        let first = |slots: &BTreeSet<(i64, u32)>| {
            slots.iter().find(|(_, slot)| !self.slots[*slot as usize].is_leaving).map(|(due, _)| *due)
        };
        let held = first(&self.held).map(|due| due.saturating_add(self.terms.quarantine));
        held.into_iter().chain(first(&self.quarantined)).min()
    }

    /// Advances the time to that of the next step.
    pub(crate) fn step(&mut self, now: i64) {
        self.now = self.time(now).max(self.now.saturating_add(1));
        self.expire();
    }

    /// The pool's time at a time of the caller's clock.
    fn time(&mut self, clock: i64) -> i64 {
        let time = clock.min(CLOCK_MAX).saturating_add(self.ahead);
        let behind = self.now.saturating_sub(time);
        if behind <= STANDSTILL_MAX {
            return time;
        }
        self.ahead = self.ahead.saturating_add(behind);
        self.now
    }

    /// All holds first: one that ended a while ago may leave quarantine before another.
    fn expire(&mut self) {
        while let Some(&(due, slot)) = self.held.first().filter(|(due, _)| *due <= self.now) {
            self.held.remove(&(due, slot));
            self.end_hold(slot, due);
        }
        while let Some(&(due, slot)) = self.quarantined.first().filter(|(due, _)| *due <= self.now) {
            self.quarantined.remove(&(due, slot));
            self.set_free(slot, due);
        }
    }

    fn end_hold(&mut self, slot: u32, at: i64) {
        if self.terms.quarantine == 0 {
            return self.set_free(slot, at);
        }
        let due = at.saturating_add(self.terms.quarantine);
        let quarantined = &mut self.slots[slot as usize];
        (quarantined.state, quarantined.due) = (State::Quarantined, due);
        if self.terms.policy != Policy::Sticky {
            self.forget_session(slot);
        }
        self.quarantined.insert((due, slot));
    }

    fn set_free(&mut self, slot: u32, at: i64) {
        if self.slots[slot as usize].is_leaving {
            return self.vacate(slot);
        }
        if self.terms.policy != Policy::Sticky {
            self.forget_session(slot);
        }
        let freed = &mut self.slots[slot as usize];
        (freed.state, freed.due) = (State::Free, at);
        self.free.insert(slot, at);
    }

    fn forget_session(&mut self, slot: u32) {
        if let Some(session) = self.slots[slot as usize].session.take()
            && self.by_session.get(&session) == Some(&slot)
        {
            self.by_session.remove(&session);
        }
    }

    fn held_by(&self, session: Option<&[u8]>) -> Option<u32> {
        let slot = *self.by_session.get(session?)?;
        (self.slots[slot as usize].state == State::Held).then_some(slot)
    }

    fn choose(&mut self, request: &Request<'_>) -> Option<u32> {
        if self.terms.is_draining {
            return None;
        }
        if let Some(item) = request.item {
            return self.by_item.get(&item).copied().filter(|slot| self.slots[*slot as usize].state == State::Free);
        }
        let last = request.session.and_then(|session| self.by_session.get(session)).copied();
        last.filter(|slot| self.slots[*slot as usize].state == State::Free).or_else(|| self.free.choose())
    }

    /// Lends a slot, in any state.
    fn lend(&mut self, slot: u32, due: i64, serial: u64, session: Option<&[u8]>) {
        self.leave_state(slot, true);
        if self.slots[slot as usize].session.as_deref() != session {
            self.forget_session(slot);
            if let Some(session) = session {
                if let Some(before) = self.by_session.insert(session.into(), slot) {
                    self.slots[before as usize].session = None;
                }
                self.slots[slot as usize].session = Some(session.into());
            }
        }
        let lent = &mut self.slots[slot as usize];
        (lent.state, lent.begun, lent.due, lent.serial) = (State::Held, self.now, due, serial);
        self.held.insert((due, slot));
        self.serial = self.serial.max(serial);
    }

    /// Removes a slot from its set.
    fn leave_state(&mut self, slot: u32, is_lent: bool) {
        let Slot { state, due, .. } = self.slots[slot as usize];
        match state {
            State::Free if is_lent => self.free.take(slot, due),
            State::Free => self.free.remove(slot, due),
            State::Held => {
                self.held.remove(&(due, slot));
            }
            State::Quarantined => {
                self.quarantined.remove(&(due, slot));
            }
            State::Vacant => {}
        }
    }

    fn prolong(&mut self, slot: u32, due: i64) {
        self.leave_state(slot, false);
        self.slots[slot as usize].due = due;
        self.held.insert((due, slot));
    }

    fn end_early(&mut self, slot: u32) {
        self.leave_state(slot, false);
        self.end_hold(slot, self.now);
    }

    fn slot_of(&self, item: i64, serial: u64) -> Option<u32> {
        let slot = *self.by_item.get(&item)?;
        let found = &self.slots[slot as usize];
        (found.state == State::Held && found.serial == serial).then_some(slot)
    }

    fn shown(&self, slot: u32, is_changed: bool) -> Lease<'_> {
        let Slot { item, serial, begun, due, ref session, .. } = self.slots[slot as usize];
        Lease { item, serial, begun, due, session: session.as_deref().map(Cow::Borrowed), is_changed }
    }

    fn admit(&mut self, item: i64) {
        if let Some(slot) = self.by_item.get(&item) {
            let slot = &mut self.slots[*slot as usize];
            self.leaving -= usize::from(std::mem::take(&mut slot.is_leaving));
            return;
        }
        let made = Slot { item, state: State::Free, is_leaving: false, begun: 0, due: self.now, serial: 0, session: None };
        let number = self.vacant.pop_first().unwrap_or(self.slots.len() as u32);
        match self.slots.get_mut(number as usize) {
            Some(slot) => *slot = made,
            None => self.slots.push(made),
        }
        self.by_item.insert(item, number);
        self.free.insert(number, self.now);
    }

    /// Refuses a list that, with the items that are still leaving, needs more slots than a snapshot may have.
    fn check_room(&self, listed: &HashSet<i64>) -> Result<(), Error> {
        let leaves = |slot: &&Slot| !matches!(slot.state, State::Vacant | State::Free) && !listed.contains(&slot.item);
        let count = listed.len() + self.slots.iter().filter(leaves).count();
        if count > SLOTS_MAX { Err(Error::TooManyLeaving { count: count - listed.len() }) } else { Ok(()) }
    }

    /// Marks an item as leaving; returns when it has left.
    fn dismiss(&mut self, number: u32) -> i64 {
        let slot = &mut self.slots[number as usize];
        let (state, due) = (slot.state, slot.due);
        if state == State::Free {
            self.free.remove(number, due);
            self.vacate(number);
            return self.now;
        }
        self.leaving += usize::from(!std::mem::replace(&mut slot.is_leaving, true));
        if state == State::Held { due.saturating_add(self.terms.quarantine) } else { due }
    }

    fn vacate(&mut self, number: u32) {
        self.forget_session(number);
        let slot = &mut self.slots[number as usize];
        self.leaving -= usize::from(std::mem::take(&mut slot.is_leaving));
        slot.state = State::Vacant;
        self.by_item.remove(&slot.item);
        self.vacant.insert(number);
    }

    /// Builds the set of free slots for the policy, and forgets the sessions of free slots unless the policy is sticky.
    pub(crate) fn arrange_free(&mut self, next: u32) {
        self.free = Free::new(self.terms.policy, self.seed, next);
        for number in 0..self.slots.len() as u32 {
            let Slot { state, due, .. } = self.slots[number as usize];
            if state == State::Free {
                self.free.insert(number, due);
            }
            if state != State::Held && self.terms.policy != Policy::Sticky {
                self.forget_session(number);
            }
        }
    }

    /// Adds a slot of a snapshot. False if its item or its session has another slot.
    pub(crate) fn place(&mut self, slot: Slot) -> bool {
        let number = self.slots.len() as u32;
        if slot.state == State::Vacant {
            self.vacant.insert(number);
        } else {
            let is_new_session =
                slot.session.as_ref().is_none_or(|session| self.by_session.insert(session.clone(), number).is_none());
            if self.by_item.insert(slot.item, number).is_some() || !is_new_session {
                return false;
            }
            self.leaving += usize::from(slot.is_leaving);
        }
        match slot.state {
            State::Held => self.held.insert((slot.due, number)),
            State::Quarantined => self.quarantined.insert((slot.due, number)),
            State::Free | State::Vacant => true,
        };
        self.slots.push(slot);
        true
    }

    /// Repeats a lease of a row. An item that the pool does not have is of a list that was not stored.
    pub(crate) fn lend_again(&mut self, item: i64, due: i64, serial: u64, session: Option<&[u8]>) {
        if !self.by_item.contains_key(&item) {
            self.admit(item);
        }
        self.lend(self.by_item[&item], due, serial, session);
    }

    /// Repeats a renewal, unless the item has another lease.
    pub(crate) fn prolong_again(&mut self, item: i64, due: i64, serial: u64) {
        if let Some(slot) = self.slot_of(item, serial) {
            self.prolong(slot, due);
        }
    }

    /// Repeats a release, unless the item has another lease.
    pub(crate) fn release_again(&mut self, item: i64, serial: u64) {
        if let Some(slot) = self.slot_of(item, serial) {
            self.end_early(slot);
        }
    }
}

fn check_items(items: &[i64]) -> Result<HashSet<i64>, Error> {
    if items.len() > ITEMS_MAX {
        return Err(Error::TooManyItems { count: items.len() });
    }
    let mut listed = HashSet::with_capacity(items.len());
    for item in items {
        if !(0..=ITEM_MAX).contains(item) {
            return Err(Error::InvalidItem { item: *item });
        }
        if !listed.insert(*item) {
            return Err(Error::DuplicateItem { item: *item });
        }
    }
    Ok(listed)
}
