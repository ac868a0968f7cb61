//! A point in the order of entries: where a search ends.

use std::cmp::Ordering;

use super::members::Members;

/// A point in the order of entries.
#[derive(Clone, Copy)]
pub(super) struct Point<'a> {
    /// The first words of a key, or all.
    pub(super) words: &'a [u64],
    then: Then<'a>,
}

#[derive(Clone, Copy)]
enum Then<'a> {
    Before,
    After,
    At(&'a [u8]),
    Past(&'a [u8]),
}

impl<'a> Point<'a> {
    /// Before all entries whose keys begin with these words.
    pub(super) fn before(words: &'a [u64]) -> Self {
        Point { words, then: Then::Before }
    }

    /// After all entries whose keys begin with these words.
    pub(super) fn after(words: &'a [u64]) -> Self {
        Point { words, then: Then::After }
    }

    /// The position of a member's entry, existing or not.
    pub(super) fn at(key: &'a [u64], name: &'a [u8]) -> Self {
        Point { words: key, then: Then::At(name) }
    }

    /// The position just after a member's entry, existing or not.
    pub(super) fn past(key: &'a [u64], name: &'a [u8]) -> Self {
        Point { words: key, then: Then::Past(name) }
    }

    /// Whether an entry comes before this point. Equal keys are decided by the names, so that no two entries are equal.
    #[inline]
    pub(super) fn follows(&self, key: &[u64], handle: u32, members: &Members) -> bool {
        for (other, own) in key.iter().zip(self.words) {
            match other.cmp(own) {
                Ordering::Less => return true,
                Ordering::Greater => return false,
                Ordering::Equal => {}
            }
        }
        match self.then {
            Then::Before => false,
            Then::After => true,
            Then::At(name) => members.name(handle) < name,
            Then::Past(name) => members.name(handle) <= name,
        }
    }
}
