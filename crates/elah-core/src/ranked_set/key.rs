//! The key of an entry: one word for each component of the score, so that the better score has the smaller words, and one that
//! decides between equal scores.

use std::cmp::Ordering;

use super::members::Members;
use super::order::COMPONENTS_MAX;
use super::tree::Keys;

const WORDS_MAX: usize = COMPONENTS_MAX + 1;

/// Up to `WORDS_MAX` words on the stack.
#[derive(Clone, Copy)]
pub(super) struct Key {
    words: [u64; WORDS_MAX],
    len: usize,
}

impl Key {
    pub(super) fn new(words: impl IntoIterator<Item = u64>) -> Self {
        let mut key = Key { words: [0; WORDS_MAX], len: 0 };
        for (place, word) in key.words.iter_mut().zip(words) {
            *place = word;
            key.len += 1;
        }
        key
    }

    /// A key from its first two words and the others.
    #[inline]
    pub(super) fn of_parts(near: [u64; 2], far: &[u64]) -> Self {
        let mut key = Key { words: [0; WORDS_MAX], len: near.len() + far.len() };
        key.words[..near.len()].copy_from_slice(&near);
        key.words[near.len()..key.len].copy_from_slice(far);
        key
    }

    #[inline]
    pub(super) fn words(&self) -> &[u64] {
        &self.words[..self.len]
    }

    /// The words of the score.
    #[inline]
    pub(super) fn score(&self) -> &[u64] {
        score_words(self.words())
    }
}

/// The words of the score in the words of a key.
pub(super) fn score_words(key: &[u64]) -> &[u64] {
    key.split_last().map_or(&[], |(_, scores)| scores)
}

/// A point in the order of entries.
#[derive(Clone, Copy)]
pub(super) struct Point<'a> {
    /// The first words of a key, or all.
    words: &'a [u64],
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

    /// Where the entry of a member stands, or would stand.
    pub(super) fn at(key: &'a [u64], name: &'a [u8]) -> Self {
        Point { words: key, then: Then::At(name) }
    }

    /// Just behind the entry of a member, or where that would stand.
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

/// The number of entries before `point` among sorted ones, whose keys have `width` words.
///
/// What comes first by the first word alone is counted without a branch, by every eighth word and then by eight: the loads of a step do not wait
/// for each other, as those of a search by halves do, and most of what a large set takes is waiting for memory. Halves decide among the others.
#[inline]
pub(super) fn entries_before(point: Point<'_>, members: &Members, keys: &Keys, width: usize, handles: &[u32]) -> usize {
    const STEP: usize = 8;
    let first = point.words[0];
    let near = keys.near(handles.len());
    let steps: usize = near.as_chunks::<STEP>().0.iter().map(|step| usize::from(step[STEP - 1][0] < first)).sum();
    let rest = &near[steps * STEP..near.len().min((steps + 1) * STEP)];
    let mut low = steps * STEP + rest.iter().map(|key| usize::from(key[0] < first)).sum::<usize>();
    let mut high = handles.len();
    if low < high && near[low][0] > first {
        return low;
    }
    while low < high {
        let middle = (low + high) / 2;
        if keys.read(middle, width, |key| point.follows(key, handles[middle], members)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}
