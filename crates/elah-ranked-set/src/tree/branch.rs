//! An inner node of the tree: its children, the number of entries below each, and the first key of each.

use super::keys::Keys;
use super::{CAPACITY, NONE, place_of};
use crate::key::Key;

pub(crate) struct Branch {
    pub(super) parent: u32,
    /// 1 above the leaves.
    pub(super) level: u32,
    len: u32,
    children: [u32; CAPACITY],
    /// Entries below each child.
    counts: [u32; CAPACITY],
    /// Entries below each child that are the first of their score.
    heads: [u32; CAPACITY],
    /// The member of the first entry below each child.
    handles: [u32; CAPACITY],
    keys: Keys,
}

impl Default for Branch {
    fn default() -> Self {
        let nothing = [0; CAPACITY];
        let children = [NONE; CAPACITY];
        Branch { parent: NONE, level: 0, len: 0, children, counts: nothing, heads: nothing, handles: nothing, keys: Keys::new() }
    }
}

/// A branch's data of a child.
#[derive(Clone)]
pub(super) struct Child {
    pub(super) node: u32,
    pub(super) count: u32,
    pub(super) heads: u32,
    pub(super) handle: u32,
    pub(super) key: Key,
}

impl Branch {
    pub(super) fn at_level(level: u32) -> Self {
        Branch { level, ..Branch::default() }
    }

    pub(super) fn len(&self) -> usize {
        self.len as usize
    }

    pub(super) fn is_full(&self) -> bool {
        self.len() == CAPACITY
    }

    pub(super) fn child(&self, at: usize) -> u32 {
        self.children[at]
    }

    pub(super) fn children(&self) -> &[u32] {
        &self.children[..self.len()]
    }

    pub(super) fn handle(&self, at: usize) -> u32 {
        self.handles[at]
    }

    pub(super) fn handles(&self) -> &[u32] {
        &self.handles[..self.len()]
    }

    /// Of all children.
    pub(super) fn keys(&self) -> &Keys {
        &self.keys
    }

    pub(super) fn key(&self, at: usize, width: usize) -> Key {
        self.keys.get(at, width)
    }

    /// The position of a child.
    #[inline]
    pub(super) fn place(&self, node: u32) -> usize {
        place_of(&self.children, node)
    }

    /// Entries below the children before `at`.
    #[inline]
    pub(super) fn count_before(&self, at: usize) -> usize {
        self.counts[..at].iter().sum::<u32>() as usize
    }

    /// Heads below the children before `at`.
    #[inline]
    pub(super) fn heads_before(&self, at: usize) -> usize {
        self.heads[..at].iter().sum::<u32>() as usize
    }

    /// The child that holds entry `number` of this branch, and the entry's number inside it.
    pub(super) fn child_with_entry(&self, number: usize) -> (usize, usize) {
        find(&self.counts[..self.len()], number)
    }

    /// The child that holds head `number` of this branch, and the head's number inside it.
    pub(super) fn child_with_head(&self, number: usize) -> (usize, usize) {
        find(&self.heads[..self.len()], number)
    }

    /// Entries and heads below this branch.
    pub(super) fn totals(&self) -> (u32, u32) {
        let len = self.len();
        (self.counts[..len].iter().sum(), self.heads[..len].iter().sum())
    }

    pub(super) fn adjust(&mut self, at: usize, count: i32, heads: i32) {
        self.counts[at] = self.counts[at].wrapping_add_signed(count);
        self.heads[at] = self.heads[at].wrapping_add_signed(heads);
    }

    pub(super) fn set_numbers(&mut self, at: usize, count: u32, heads: u32) {
        self.counts[at] = count;
        self.heads[at] = heads;
    }

    pub(super) fn set_first(&mut self, at: usize, key: &[u64], handle: u32) {
        self.handles[at] = handle;
        self.keys.set(at, key);
    }

    pub(super) fn insert(&mut self, at: usize, child: &Child) {
        let len = self.len();
        let arrays = [&mut self.children, &mut self.counts, &mut self.heads, &mut self.handles];
        for (array, item) in arrays.into_iter().zip([child.node, child.count, child.heads, child.handle]) {
            array.copy_within(at..len, at + 1);
            array[at] = item;
        }
        self.keys.insert(at, child.key.words(), len);
        self.len += 1;
    }

    pub(super) fn remove(&mut self, at: usize, width: usize) {
        let len = self.len();
        for array in [&mut self.children, &mut self.counts, &mut self.heads, &mut self.handles] {
            array.copy_within(at + 1..len, at);
        }
        self.children[len - 1] = NONE;
        self.keys.remove(at, width, len);
        self.len -= 1;
    }

    /// Moves the children from `at` on into a new branch.
    pub(super) fn split_off(&mut self, at: usize, width: usize) -> Branch {
        let mut tail = Branch::at_level(self.level);
        tail.append_part(self, at, width);
        self.children[at..].fill(NONE);
        self.keys.truncate(at, width);
        self.len = at as u32;
        tail
    }

    /// Appends all children of the next branch.
    pub(super) fn append(&mut self, next: &Branch, width: usize) {
        self.append_part(next, 0, width);
    }

    fn append_part(&mut self, from: &Branch, at: usize, width: usize) {
        let (len, added) = (self.len(), from.len() - at);
        self.children[len..len + added].copy_from_slice(&from.children[at..at + added]);
        self.counts[len..len + added].copy_from_slice(&from.counts[at..at + added]);
        self.heads[len..len + added].copy_from_slice(&from.heads[at..at + added]);
        self.handles[len..len + added].copy_from_slice(&from.handles[at..at + added]);
        self.keys.append(len, &from.keys, at, added, width);
        self.len += added as u32;
    }
}

fn find(numbers: &[u32], number: usize) -> (usize, usize) {
    let mut rest = number;
    for (at, count) in numbers.iter().enumerate() {
        match rest.checked_sub(*count as usize) {
            Some(less) => rest = less,
            None => return (at, rest),
        }
    }
    (numbers.len().saturating_sub(1), rest)
}
