//! A set from its stored rows, in one pass over them and one sort.

use std::fmt;

use super::error::Error;
use super::key::Key;
use super::members::{Member, Members};
use super::order::Order;
use super::row;
use super::tree::Tree;
use super::{MEMBER_BYTES_MAX, PREFIX_BYTES_MAX, RankedSet};

/// Why a set could not be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadError<E> {
    /// The rows could not be read.
    Rows(E),
    /// A row cannot be one of the set.
    Set(Error),
}

impl<E: fmt::Display> fmt::Display for LoadError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoadError::Rows(error) => error.fmt(f),
            LoadError::Set(error) => error.fmt(f),
        }
    }
}

impl<E: fmt::Debug + fmt::Display> std::error::Error for LoadError<E> {}

impl<E> From<Error> for LoadError<E> {
    fn from(error: Error) -> Self {
        LoadError::Set(error)
    }
}

/// A member to be sorted in.
struct Entry {
    /// The first two words of the key, which decide most comparisons.
    first: (u64, u64),
    handle: u32,
    /// Which of the keys is its own.
    number: u32,
}

/// Entries as they come, to be sorted.
struct Unsorted {
    width: usize,
    /// The keys of all, one after the other.
    words: Vec<u64>,
    entries: Vec<Entry>,
}

impl RankedSet {
    /// The set stored as rows whose keys begin with `prefix`. `each_row` reads them: it gets the beginning of the keys, and calls
    /// a function with the key and the value of each row until that returns false. It loads all rows, even beyond `members_max`.
    ///
    /// # Errors
    /// Those of `each_row`; `InvalidRow` for a row of another set or order; `PrefixTooLong`; `Full` when 32 bits have no more
    /// handles.
    pub fn load<E>(
        order: Order,
        members_max: usize,
        prefix: &[u8],
        each_row: impl FnOnce(&[u8], &mut dyn FnMut(&[u8], &[u8]) -> bool) -> Result<(), E>,
    ) -> Result<Self, LoadError<E>> {
        if prefix.len() > PREFIX_BYTES_MAX {
            return Err(Error::PrefixTooLong { bytes: prefix.len() }.into());
        }
        let mut set = RankedSet::new(order, members_max);
        let width = set.order.components().len() + 1;
        let mut unsorted = Unsorted { width, words: Vec::new(), entries: Vec::new() };
        let mut refused = Ok(());
        let stem = row::stem(prefix);
        each_row(&stem, &mut |key, value| {
            refused = set.take(&key[stem.len()..], value, &mut unsorted);
            refused.is_ok()
        })
        .map_err(LoadError::Rows)?;
        refused?;
        unsorted.sort(&set.members);
        let Unsorted { words, entries, .. } = &unsorted;
        let sorted = entries.iter().map(|entry| (key_of(words, width, entry.number), entry.handle));
        // In this order their names are adjacent.
        let mut members = vec![Member { handle: 0, leaf: 0 }; entries.len()];
        set.tree = Tree::build(width, sorted, |position, leaf| {
            let Entry { handle, number, .. } = entries[position];
            members[number as usize] = Member { handle, leaf };
        });
        set.members.enter_all(members.into_iter());
        Ok(set)
    }

    fn take(&mut self, key: &[u8], value: &[u8], unsorted: &mut Unsorted) -> Result<(), Error> {
        let row = row::decode(&self.order, key, value)?;
        if row.name.len() > MEMBER_BYTES_MAX {
            return Err(Error::MemberTooLong { bytes: row.name.len() });
        }
        if !self.members.has_room() {
            return Err(Error::Full { members: unsorted.entries.len() });
        }
        self.next_sequence = self.next_sequence.max(row.sequence.saturating_add(1));
        unsorted.push(&self.order.key(&row.scores, row.sequence, row.name), self.members.add(row.name));
        Ok(())
    }
}

fn key_of(words: &[u64], width: usize, number: u32) -> &[u64] {
    &words[number as usize * width..][..width]
}

impl Unsorted {
    fn push(&mut self, key: &Key, handle: u32) {
        let words = key.words();
        self.words.extend(words);
        self.entries.push(Entry { first: (words[0], words[1]), handle, number: self.entries.len() as u32 });
    }

    fn sort(&mut self, members: &Members) {
        let Unsorted { width, words, entries } = self;
        entries.sort_unstable_by(|a, b| {
            let whole = |entry: &Entry| key_of(words, *width, entry.number);
            let name = |entry: &Entry| members.name(entry.handle);
            a.first.cmp(&b.first).then_with(|| whole(a).cmp(whole(b))).then_with(|| name(a).cmp(name(b)))
        });
    }
}
