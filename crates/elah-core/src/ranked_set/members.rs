//! The members: a record for each, and the index from names to records.

use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;

use super::batch::Group;
use super::records::Records;

/// From so many members on the index has many small tables, so that none takes long to grow.
const ONE_TABLE_MAX: usize = 1 << 15;
const TABLES: usize = 256;

/// A handle stands for a member, and is given out again when that has gone.
pub(super) struct Members {
    records: Records,
    index: Vec<HashTable<u32>>,
    /// Keyed at random: names come from outside, and whoever sends them must not be able to make them collide.
    hasher: RandomState,
}

impl Members {
    pub(super) fn new() -> Self {
        Members { records: Records::default(), index: vec![HashTable::new()], hasher: RandomState::new() }
    }

    #[inline]
    pub(super) fn name(&self, handle: u32) -> &[u8] {
        self.records.name(handle)
    }

    #[inline]
    pub(super) fn leaf(&self, handle: u32) -> u32 {
        self.records.leaf(handle)
    }

    #[inline]
    pub(super) fn set_leaf(&mut self, handle: u32, leaf: u32) {
        self.records.set_leaf(handle, leaf);
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

    /// The handles of some names: all hashes first, so that the look-ups do not wait for each other.
    pub(super) fn find_all(&self, names: &[&[u8]]) -> Group<Option<u32>> {
        let hashes: Group<u64> = names.iter().map(|name| self.hash(name)).collect();
        let find = |(name, hash): (&&[u8], &u64)| {
            self.index[self.table(*hash)].find(*hash, |handle| self.name(*handle) == *name).copied()
        };
        names.iter().zip(&hashes).map(find).collect()
    }

    /// Adds a name that has no handle yet.
    pub(super) fn add(&mut self, name: &[u8]) -> u32 {
        if self.index.len() == 1 && self.records.len() == ONE_TABLE_MAX {
            let old = std::mem::replace(&mut self.index, vec![HashTable::new(); TABLES]);
            old.into_iter().flatten().for_each(|handle| self.enter(handle));
        }
        let handle = self.records.add(name);
        self.enter(handle);
        handle
    }

    fn enter(&mut self, handle: u32) {
        let hash = self.hash(self.name(handle));
        let table = self.table(hash);
        let Members { records, index, hasher } = self;
        index[table].insert_unique(hash, handle, |handle| hasher.hash_one(records.name(*handle)));
    }

    /// Adds a name that has no handle yet, and that is not found before `index_all`.
    pub(super) fn add_unindexed(&mut self, name: &[u8]) -> u32 {
        self.records.add(name)
    }

    /// Makes the index of all members at once: each table has its size from the beginning and is filled while it is near.
    pub(super) fn index_all(&mut self, handles: impl ExactSizeIterator<Item = u32>) {
        let tables = if handles.len() > ONE_TABLE_MAX { TABLES } else { 1 };
        let share = handles.len() / tables;
        self.index = vec![HashTable::new(); tables];
        let mut shares: Vec<Vec<(u64, u32)>> = (0..tables).map(|_| Vec::with_capacity(share + share / 8)).collect();
        for handle in handles {
            let hash = self.hash(self.name(handle));
            shares[self.table(hash)].push((hash, handle));
        }
        let Members { records, index, hasher } = self;
        for (table, share) in index.iter_mut().zip(shares) {
            table.reserve(share.len(), |handle| hasher.hash_one(records.name(*handle)));
            for (hash, handle) in share {
                table.insert_unique(hash, handle, |handle| hasher.hash_one(records.name(*handle)));
            }
        }
    }

    pub(super) fn remove(&mut self, handle: u32) {
        let hash = self.hash(self.name(handle));
        let table = self.table(hash);
        if let Ok(entry) = self.index[table].find_entry(hash, |other| *other == handle) {
            entry.remove();
        }
        self.records.remove(handle);
    }

    /// Whether another name finds room in the 32 bits of handles.
    pub(super) fn has_room(&self) -> bool {
        self.records.has_room()
    }

    pub(super) fn bytes(&self) -> usize {
        let index: usize = self.index.iter().map(HashTable::allocation_size).sum();
        self.records.bytes() + index
    }

    /// The bytes of the names alone.
    pub(super) fn name_bytes(&self) -> usize {
        self.records.name_bytes()
    }
}
