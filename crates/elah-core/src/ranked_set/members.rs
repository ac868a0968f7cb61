//! The members: a handle for each name, the leaf that each stands in, and the index from names to handles.

use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;

use super::chunks::Chunks;
use super::names::Names;

/// From so many members on the index has many small tables, so that none takes long to grow.
const ONE_TABLE_MAX: usize = 1 << 15;
const TABLES: usize = 256;

#[derive(Default)]
struct Slot {
    leaf: u32,
    name_at: u32,
    name_len: u16,
}

/// Handles are numbers of slots. A handle is given out again when its member has gone.
pub(super) struct Members {
    slots: Chunks<Slot, { 1 << 14 }>,
    names: Names,
    index: Vec<HashTable<u32>>,
    /// Keyed at random: names come from outside, and whoever sends them must not be able to make them collide.
    hasher: RandomState,
}

impl Members {
    pub(super) fn new() -> Self {
        let index = vec![HashTable::new()];
        Members { slots: Chunks::new(), names: Names::default(), index, hasher: RandomState::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    #[inline]
    pub(super) fn name(&self, handle: u32) -> &[u8] {
        let slot = &self.slots[handle];
        self.names.get(slot.name_at, slot.name_len)
    }

    #[inline]
    pub(super) fn leaf(&self, handle: u32) -> u32 {
        self.slots[handle].leaf
    }

    #[inline]
    pub(super) fn set_leaf(&mut self, handle: u32, leaf: u32) {
        self.slots[handle].leaf = leaf;
    }

    fn hash(&self, name: &[u8]) -> u64 {
        self.hasher.hash_one(name)
    }

    /// The table for a hash. Its place inside the table is decided by other bits.
    fn table(&self, hash: u64) -> usize {
        (hash >> 32) as usize & (self.index.len() - 1)
    }

    #[inline]
    pub(super) fn find(&self, name: &[u8]) -> Option<u32> {
        let hash = self.hash(name);
        self.index[self.table(hash)].find(hash, |handle| self.name(*handle) == name).copied()
    }

    /// Adds a name that has no handle yet.
    pub(super) fn add(&mut self, name: &[u8]) -> u32 {
        if self.index.len() == 1 && self.len() == ONE_TABLE_MAX {
            self.spread(TABLES, 0);
        }
        let name_at = self.names.add(name);
        let handle = self.slots.insert(Slot { leaf: 0, name_at, name_len: name.len() as u16 });
        self.enter(handle);
        handle
    }

    fn enter(&mut self, handle: u32) {
        let hash = self.hash(self.name(handle));
        let table = self.table(hash);
        let Members { slots, names, index, hasher } = self;
        let rehash = |handle: &u32| {
            let slot = &slots[*handle];
            hasher.hash_one(names.get(slot.name_at, slot.name_len))
        };
        index[table].insert_unique(hash, handle, rehash);
    }

    /// Divides the index into so many tables, each with room for its share of `expected` members.
    fn spread(&mut self, tables: usize, expected: usize) {
        let room = expected / tables + expected / tables / 8;
        let old = std::mem::replace(&mut self.index, (0..tables).map(|_| HashTable::with_capacity(room)).collect());
        old.into_iter().flatten().for_each(|handle| self.enter(handle));
    }

    /// Makes room for so many members at once.
    pub(super) fn expect(&mut self, members: usize) {
        if self.index.len() == 1 && members > ONE_TABLE_MAX {
            self.spread(TABLES, members);
        }
    }

    pub(super) fn remove(&mut self, handle: u32) {
        let hash = self.hash(self.name(handle));
        let table = self.table(hash);
        if let Ok(entry) = self.index[table].find_entry(hash, |other| *other == handle) {
            entry.remove();
        }
        let slot = self.slots.remove(handle);
        self.names.remove(slot.name_at, slot.name_len);
    }

    /// Whether another name finds room in the 32 bits of handles and of places of names.
    pub(super) fn has_room(&self) -> bool {
        self.names.has_room()
    }

    pub(super) fn bytes(&self) -> usize {
        let index: usize = self.index.iter().map(HashTable::allocation_size).sum();
        self.slots.bytes() + self.names.bytes() + index
    }

    /// Memory of the names alone.
    pub(super) fn name_bytes(&self) -> usize {
        self.names.bytes()
    }
}
