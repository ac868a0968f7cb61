//! The keys of a node's entries. The first two words of each, enough for a score of one component, are in the node itself. So the
//! number of the node is enough to prefetch them.

use super::CAPACITY;
use crate::key::Key;

const NEAR: usize = 2;

#[derive(Clone)]
pub(crate) struct Keys {
    near: [[u64; NEAR]; CAPACITY],
    /// The other words of all keys, one key after the other.
    far: Vec<u64>,
}

impl Keys {
    pub(super) const fn new() -> Self {
        Keys { near: [[0; NEAR]; CAPACITY], far: Vec::new() }
    }

    /// Keys of `width` words, with room for all.
    pub(super) fn with_room(width: usize) -> Self {
        Keys { far: Vec::with_capacity(Self::far_bytes_max(width) / size_of::<u64>()), ..Keys::new() }
    }

    /// The first two words of the keys of `len` entries.
    #[inline]
    pub(crate) fn near(&self, len: usize) -> &[[u64; NEAR]] {
        &self.near[..len]
    }

    #[inline]
    pub(crate) fn get(&self, at: usize, width: usize) -> Key {
        let far = width - NEAR;
        Key::of_parts(self.near[at], &self.far[at * far..(at + 1) * far])
    }

    /// Passes the words of a key to `work`, without a copy if all are near.
    #[inline]
    pub(crate) fn read<R>(&self, at: usize, width: usize, work: impl FnOnce(&[u64]) -> R) -> R {
        if width == NEAR { work(&self.near[at]) } else { work(self.get(at, width).words()) }
    }

    pub(super) fn set(&mut self, at: usize, key: &[u64]) {
        let (near, far) = key.split_at(NEAR);
        self.near[at].copy_from_slice(near);
        self.far[at * far.len()..(at + 1) * far.len()].copy_from_slice(far);
    }

    /// Puts a key before those from `at` on, of `len`.
    pub(super) fn insert(&mut self, at: usize, key: &[u64], len: usize) {
        self.near.copy_within(at..len, at + 1);
        let (words, far) = (self.far.len(), key.len() - NEAR);
        self.far.resize(words + far, 0);
        self.far.copy_within(at * far..words, (at + 1) * far);
        self.set(at, key);
    }

    /// Removes the key at `at` out of `len` keys of `width` words.
    pub(super) fn remove(&mut self, at: usize, width: usize, len: usize) {
        self.near.copy_within(at + 1..len, at);
        let far = width - NEAR;
        self.far.copy_within((at + 1) * far.., at * far);
        self.far.truncate((len - 1) * far);
    }

    /// Keeps the first `len` keys.
    pub(super) fn truncate(&mut self, len: usize, width: usize) {
        self.far.truncate(len * (width - NEAR));
    }

    /// Adds `added` keys of another node, from `at` on, behind the `len` that are here.
    pub(super) fn append(&mut self, len: usize, from: &Keys, at: usize, added: usize, width: usize) {
        self.near[len..len + added].copy_from_slice(&from.near[at..at + added]);
        let far = width - NEAR;
        self.far.extend_from_slice(&from.far[at * far..(at + added) * far]);
    }

    /// Memory outside of the node.
    pub(super) fn far_bytes(&self) -> usize {
        self.far.capacity() * size_of::<u64>()
    }

    /// The same for a node with room for all its entries.
    pub(super) const fn far_bytes_max(width: usize) -> usize {
        CAPACITY * (width - NEAR) * size_of::<u64>()
    }
}
