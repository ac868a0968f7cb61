//! Free slots of a pool, and the choice of the next one by policy. Every operation takes at most logarithmic time.

use std::collections::BTreeSet;

use crate::Policy;

/// Place of a slot that is not in the array of a random choice.
const NOWHERE: u32 = u32::MAX;

/// The free slots, kept as the policy needs them.
#[derive(Clone, Debug)]
pub(crate) enum Free {
    /// By the time since which they are free. For `LongestIdle` and `Sticky`.
    ByIdleTime(BTreeSet<(i64, u32)>),
    /// By number, and the slot from which the next choice starts.
    InTurn(BTreeSet<u32>, u32),
    /// In an array without holes; the place of each slot in it; the state of the generator.
    Shuffled { slots: Vec<u32>, places: Vec<u32>, random: u64 },
}

impl Free {
    pub(crate) fn new(policy: Policy, seed: u64, next: u32) -> Self {
        match policy {
            Policy::LongestIdle | Policy::Sticky => Free::ByIdleTime(BTreeSet::new()),
            Policy::RoundRobin => Free::InTurn(BTreeSet::new(), next),
            Policy::Random => Free::Shuffled { slots: Vec::new(), places: Vec::new(), random: seed },
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Free::ByIdleTime(slots) => slots.len(),
            Free::InTurn(slots, _) => slots.len(),
            Free::Shuffled { slots, .. } => slots.len(),
        }
    }

    /// The slot from which the next choice in turn starts, 0 for other policies.
    pub(crate) fn next_in_turn(&self) -> u32 {
        if let Free::InTurn(_, next) = self { *next } else { 0 }
    }

    /// Adds a slot that has been free since `idle_since`.
    pub(crate) fn insert(&mut self, slot: u32, idle_since: i64) {
        match self {
            Free::ByIdleTime(slots) => {
                slots.insert((idle_since, slot));
            }
            Free::InTurn(slots, _) => {
                slots.insert(slot);
            }
            Free::Shuffled { slots, places, .. } => {
                if places.len() <= slot as usize {
                    places.resize(slot as usize + 1, NOWHERE);
                }
                places[slot as usize] = slots.len() as u32;
                slots.push(slot);
            }
        }
    }

    /// Removes a slot that has been free since `idle_since` and is not lent.
    pub(crate) fn remove(&mut self, slot: u32, idle_since: i64) {
        match self {
            Free::ByIdleTime(slots) => {
                slots.remove(&(idle_since, slot));
            }
            Free::InTurn(slots, _) => {
                slots.remove(&slot);
            }
            Free::Shuffled { slots, places, .. } => {
                let Some(place) = places.get_mut(slot as usize).filter(|place| **place != NOWHERE) else { return };
                let place = std::mem::replace(place, NOWHERE) as usize;
                slots.swap_remove(place);
                if let Some(moved) = slots.get(place) {
                    places[*moved as usize] = place as u32;
                }
            }
        }
    }

    /// Removes a slot because it is lent, as `choose` would have.
    pub(crate) fn take(&mut self, slot: u32, idle_since: i64) {
        self.remove(slot, idle_since);
        if let Free::InTurn(_, next) = self {
            *next = slot + 1;
        }
    }

    /// The slot that is to be lent next. It stays until `take`.
    pub(crate) fn choose(&mut self) -> Option<u32> {
        match self {
            Free::ByIdleTime(slots) => slots.first().map(|(_, slot)| *slot),
            Free::InTurn(slots, next) => slots.range(*next..).next().or_else(|| slots.first()).copied(),
            Free::Shuffled { slots, random, .. } => {
                let place = (u128::from(next_random(random)) * slots.len() as u128) >> 64;
                slots.get(place as usize).copied()
            }
        }
    }
}

/// SplitMix64 (G. L. Steele, D. Lea, C. H. Flood, 2014).
fn next_random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut number = *state;
    number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}
