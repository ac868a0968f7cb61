//! Terms on which a pool lends its items: hold, quarantine and policy.

use crate::Error;

/// Which free item is lent next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// The item that has been free for the longest time.
    #[default]
    LongestIdle,
    /// The next free item in the order of the list; after the last one the first.
    RoundRobin,
    /// Any free item, all with the same probability.
    Random,
    /// The item that the session held last, if it is free; otherwise the one that has been free for the longest time.
    Sticky,
}

impl Policy {
    /// All policies, at the places of their codes in rows.
    pub const ALL: [Policy; 4] = [Policy::LongestIdle, Policy::RoundRobin, Policy::Random, Policy::Sticky];

    pub(crate) fn code(self) -> u8 {
        match self {
            Policy::LongestIdle => 0,
            Policy::RoundRobin => 1,
            Policy::Random => 2,
            Policy::Sticky => 3,
        }
    }
}

/// On which terms items are lent. Times have the caller's unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// For how long an item belongs to its holder.
    pub hold: i64,
    /// For how long after that nobody gets it.
    pub quarantine: i64,
    pub policy: Policy,
    /// Whether no item is lent any more.
    pub is_draining: bool,
}

impl Terms {
    /// The longest hold and quarantine: 100 years in microseconds.
    pub const TIME_MAX: i64 = 100 * 366 * 86_400 * 1_000_000;

    /// Refuses times out of range.
    ///
    /// # Errors
    /// [`Error::InvalidTerms`]
    pub fn check(&self) -> Result<(), Error> {
        if !(1..=Self::TIME_MAX).contains(&self.hold) {
            return Err(Error::InvalidTerms { what: "hold", value: self.hold });
        }
        if !(0..=Self::TIME_MAX).contains(&self.quarantine) {
            return Err(Error::InvalidTerms { what: "quarantine", value: self.quarantine });
        }
        Ok(())
    }
}
