//! A leaf of the tree: up to `CAPACITY` entries in order, and a bit for each that is the first of its score.

use super::keys::Keys;
use super::{CAPACITY, NONE, place_of};
use crate::arena::prefetch;
use crate::key::Key;

pub(crate) struct Leaf {
    pub(super) parent: u32,
    pub(super) previous: u32,
    pub(super) next: u32,
    len: u32,
    /// Bit n: the score of entry n differs from that of the entry before it, in this leaf or the previous one.
    pub(super) heads: u64,
    handles: [u32; CAPACITY],
    keys: Keys,
}

impl Default for Leaf {
    fn default() -> Self {
        Leaf { parent: NONE, previous: NONE, next: NONE, len: 0, heads: 0, handles: [NONE; CAPACITY], keys: Keys::new() }
    }
}

/// The bits below `at`.
fn below(at: usize) -> u64 {
    if at < 64 { (1 << at) - 1 } else { u64::MAX }
}

impl Leaf {
    /// A leaf with room for all its entries, each of `width` words.
    pub(super) fn with_room(width: usize) -> Self {
        Leaf { keys: Keys::with_room(width), ..Leaf::default() }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len as usize
    }

    pub(super) fn is_full(&self) -> bool {
        self.len() == CAPACITY
    }

    pub(super) fn keys(&self) -> &Keys {
        &self.keys
    }

    #[inline]
    pub(super) fn key(&self, at: usize, width: usize) -> Key {
        self.keys.get(at, width)
    }

    #[inline]
    pub(super) fn handle(&self, at: usize) -> u32 {
        self.handles[at]
    }

    pub(super) fn handles(&self) -> &[u32] {
        &self.handles[..self.len()]
    }

    /// Prefetches everything but the keys.
    #[inline]
    pub(super) fn prefetch(&self) {
        prefetch(&self.heads);
        prefetch(&self.handles);
    }

    /// The position of a member's entry.
    #[inline]
    pub(super) fn place(&self, handle: u32) -> usize {
        place_of(&self.handles, handle)
    }

    pub(super) fn is_head(&self, at: usize) -> bool {
        self.heads >> at & 1 == 1
    }

    /// The number of first-of-their-score entries up to `at`.
    pub(super) fn heads_through(&self, at: usize) -> usize {
        (self.heads & below(at + 1)).count_ones() as usize
    }

    /// The place of the head number `number`, counted from 0.
    pub(super) fn head_place(&self, number: usize) -> usize {
        let mut heads = self.heads;
        for _ in 0..number {
            heads &= heads - 1;
        }
        heads.trailing_zeros() as usize
    }

    pub(super) fn insert(&mut self, at: usize, key: &[u64], handle: u32, is_head: bool) {
        let len = self.len();
        self.handles.copy_within(at..len, at + 1);
        self.handles[at] = handle;
        self.keys.insert(at, key, len);
        let low = below(at);
        self.heads = self.heads & low | (self.heads & !low) << 1 | u64::from(is_head) << at;
        self.len += 1;
    }

    pub(super) fn remove(&mut self, at: usize, width: usize) {
        let len = self.len();
        self.handles.copy_within(at + 1..len, at);
        self.handles[len - 1] = NONE;
        self.keys.remove(at, width, len);
        let low = below(at);
        self.heads = self.heads & low | self.heads >> 1 & !low;
        self.len -= 1;
    }

    /// Moves the entries from `at` on into a new leaf.
    pub(super) fn split_off(&mut self, at: usize, width: usize) -> Leaf {
        let mut tail = Leaf::with_room(width);
        tail.append_part(self, at, width);
        self.handles[at..].fill(NONE);
        self.keys.truncate(at, width);
        self.heads &= below(at);
        self.len = at as u32;
        tail
    }

    /// Appends all entries of the next leaf.
    pub(super) fn append(&mut self, next: &Leaf, width: usize) {
        self.append_part(next, 0, width);
    }

    fn append_part(&mut self, from: &Leaf, at: usize, width: usize) {
        let (len, added) = (self.len(), from.len() - at);
        self.handles[len..len + added].copy_from_slice(&from.handles[at..at + added]);
        self.keys.append(len, &from.keys, at, added, width);
        if len < 64 && at < 64 {
            self.heads |= from.heads >> at << len;
        }
        self.len += added as u32;
    }

    pub(super) fn far_bytes(&self) -> usize {
        self.keys.far_bytes()
    }

    /// Exchanges the entries of two leaves, not their places in the tree.
    pub(super) fn swap_entries(&mut self, other: &mut Leaf) {
        std::mem::swap(self, other);
        std::mem::swap(&mut self.parent, &mut other.parent);
        std::mem::swap(&mut self.previous, &mut other.previous);
        std::mem::swap(&mut self.next, &mut other.next);
    }
}
