//! Snapshots of a whole pool, and the way back from a snapshot and the steps after it.
//!
//! A snapshot is its version (1 byte), hold and quarantine (8 bytes each, little endian), policy and whether the pool drains (1 byte each), time,
//! serial number, overflows and the slot that is next in turn (8 bytes each), and the slots. A slot is its state (1 byte, plus 4 when its item
//! leaves) and, unless it is vacant, item, begun, due and serial (8 bytes each) and the session with its length (1 byte).

use crate::lease::check_session;
use crate::pool::{SLOTS_MAX, Slot, State};
use crate::reader::{Reader, write_session};
use crate::{Action, Error, ITEM_MAX, LeasePool, Policy, Step, Terms};

const VERSION: u8 = 1;
const LEAVES: u8 = 4;

impl State {
    fn code(self) -> u8 {
        match self {
            State::Vacant => 0,
            State::Free => 1,
            State::Held => 2,
            State::Quarantined => 3,
        }
    }
}

impl LeasePool {
    /// Writes the whole pool down as it is at the time of its last step.
    pub fn snapshot(&self) -> Vec<u8> {
        let Terms { hold, quarantine, policy, is_draining } = self.terms;
        let mut row = Vec::with_capacity(64 + self.slots.len() * 40);
        row.push(VERSION);
        row.extend_from_slice(&hold.to_le_bytes());
        row.extend_from_slice(&quarantine.to_le_bytes());
        row.extend_from_slice(&[policy.code(), is_draining.into()]);
        row.extend_from_slice(&self.now.to_le_bytes());
        row.extend_from_slice(&self.serial.to_le_bytes());
        row.extend_from_slice(&self.overflows.to_le_bytes());
        row.extend_from_slice(&u64::from(self.free.next_in_turn()).to_le_bytes());
        for slot in &self.slots {
            row.push(slot.state.code() + if slot.is_leaving { LEAVES } else { 0 });
            if slot.state != State::Vacant {
                row.extend_from_slice(&slot.item.to_le_bytes());
                row.extend_from_slice(&slot.begun.to_le_bytes());
                row.extend_from_slice(&slot.due.to_le_bytes());
                row.extend_from_slice(&slot.serial.to_le_bytes());
                write_session(slot.session.as_deref(), &mut row);
            }
        }
        row
    }

    /// The pool that a snapshot describes.
    ///
    /// # Errors
    /// [`Error::InvalidRow`]
    pub fn restore(snapshot: &[u8], seed: u64) -> Result<Self, Error> {
        let mut reader = Reader::new(snapshot);
        if reader.byte()? != VERSION {
            return Err(Error::InvalidRow { why: "its version is unknown" });
        }
        let (hold, quarantine) = (reader.signed()?, reader.signed()?);
        let policy = *Policy::ALL.get(usize::from(reader.byte()?)).ok_or(Error::InvalidRow { why: "its policy is unknown" })?;
        let terms = Terms { hold, quarantine, policy, is_draining: reader.byte()? != 0 };
        terms.check().map_err(|_| Error::InvalidRow { why: "its terms are out of range" })?;
        let mut pool = LeasePool::new(terms, seed);
        (pool.now, pool.serial, pool.overflows) = (reader.signed()?, reader.number()?, reader.number()?);
        let next = u32::try_from(reader.number()?).map_err(|_| Error::InvalidRow { why: "a number is too large" })?;
        while !reader.is_at_end() {
            let slot = read_slot(&mut reader)?;
            if pool.slots.len() >= SLOTS_MAX || !pool.place(slot) {
                return Err(Error::InvalidRow { why: "an item or a session is there twice" });
            }
        }
        pool.arrange_free(next);
        Ok(pool)
    }

    /// Does a step again that was taken after the snapshot. Steps come in the order of their times.
    ///
    /// # Errors
    /// [`Error::InvalidRow`] when the pool has no such item.
    pub fn replay(&mut self, step: &Step<'_>) -> Result<(), Error> {
        step.session.map_or(Ok(()), check_session)?;
        self.step(step.at);
        match step.action {
            Action::Lease if !(0..=ITEM_MAX).contains(&step.item) => {
                return Err(Error::InvalidRow { why: "an item is out of range" });
            }
            Action::Lease => self.lend_again(step.item, step.due, step.serial, step.session),
            Action::Renewal => self.prolong_again(step.item, step.due, step.serial),
            Action::Release => self.release_again(step.item, step.serial),
        }
        Ok(())
    }
}

fn read_slot(reader: &mut Reader<'_>) -> Result<Slot, Error> {
    let code = reader.byte()?;
    let state = match code & (LEAVES - 1) {
        _ if code >= 2 * LEAVES => return Err(Error::InvalidRow { why: "the state of an item is unknown" }),
        0 => State::Vacant,
        1 => State::Free,
        2 => State::Held,
        _ => State::Quarantined,
    };
    let is_leaving = code & LEAVES != 0;
    if state == State::Vacant {
        return Ok(Slot { item: 0, state, is_leaving: false, begun: 0, due: 0, serial: 0, session: None });
    }
    let (item, begun, due, serial) = (reader.signed()?, reader.signed()?, reader.signed()?, reader.number()?);
    if item > ITEM_MAX || (is_leaving && state == State::Free) {
        return Err(Error::InvalidRow { why: "an item is out of range" });
    }
    Ok(Slot { item, state, is_leaving, begun, due, serial, session: reader.session()?.map(Into::into) })
}
