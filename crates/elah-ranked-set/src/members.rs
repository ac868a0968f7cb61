//! The members: a record for each, and the index from names to records and leaves.

use std::hash::{BuildHasher, Hasher, RandomState};

use smallvec::SmallVec;

use super::index::Index;
use super::records::Records;

pub(super) use super::index::Member;

/// Members that are looked up together; a core can wait for about ten cache lines at once.
pub(super) const TOGETHER: usize = 16;

/// One value for each of them.
pub(super) type Group<T> = SmallVec<[T; TOGETHER]>;

/// A handle identifies a member, and is reused after its removal.
pub(super) struct Members {
    records: Records,
    index: Index,
    /// Keyed at random, so that clients cannot send names that collide.
    hasher: RandomState,
}

impl Members {
    pub(super) fn new() -> Self {
        Members { records: Records::new(), index: Index::new(), hasher: RandomState::new() }
    }

    #[inline]
    pub(super) fn name(&self, handle: u32) -> &[u8] {
        self.records.name(handle)
    }

    /// Prefetches the name of a member.
    #[inline]
    pub(super) fn prefetch_name(&self, handle: u32) {
        self.records.prefetch(handle);
    }

    /// The tag of a name in the index.
    #[inline]
    pub(super) fn tag(&self, name: &[u8]) -> u32 {
        let mut hasher = self.hasher.build_hasher();
        hasher.write(name);
        (hasher.finish() >> 32) as u32
    }

    /// The tag of a name; prefetches its bucket.
    #[inline]
    pub(super) fn near_tag(&self, name: &[u8]) -> u32 {
        let tag = self.tag(name);
        self.index.prefetch(tag);
        tag
    }

    /// The member with this name and tag. Calls `bring` with candidates before the names are compared.
    #[inline]
    pub(super) fn find(&self, name: &[u8], tag: u32, bring: impl Fn(Member)) -> Option<Member> {
        self.index.find(tag, |member| {
            bring(member);
            self.name(member.handle) == name
        })
    }

    /// A member that is probably the one with this tag.
    #[inline]
    pub(super) fn likely(&self, tag: u32) -> Option<Member> {
        self.index.find(tag, |_| true)
    }

    /// Stores a name. It is found only after it is entered.
    pub(super) fn add(&mut self, name: &[u8]) -> u32 {
        self.records.add(name)
    }

    /// Enters a name that is not there yet into the index.
    pub(super) fn enter(&mut self, tag: u32, member: Member) {
        self.index.insert(tag, member);
    }

    /// Builds the index of all members at once.
    pub(super) fn enter_all(&mut self, members: impl ExactSizeIterator<Item = Member>) {
        self.index = Index::of(members.map(|member| (self.tag(self.name(member.handle)), member)));
    }

    /// Sets the leaf of a member.
    #[inline]
    pub(super) fn set_leaf(&mut self, tag: u32, member: Member) {
        self.index.set_leaf(tag, member);
    }

    /// Sets the leaf of some members: prefetches all names first, then all buckets.
    pub(super) fn set_leaves(&mut self, handles: &[u32], leaf: u32) {
        for handles in handles.chunks(TOGETHER) {
            handles.iter().for_each(|handle| self.prefetch_name(*handle));
            let tags: Group<u32> = handles.iter().map(|handle| self.near_tag(self.name(*handle))).collect();
            handles.iter().zip(tags).for_each(|(handle, tag)| self.set_leaf(tag, Member { handle: *handle, leaf }));
        }
    }

    pub(super) fn remove(&mut self, tag: u32, handle: u32) {
        self.index.remove(tag, handle);
        self.records.remove(handle);
    }

    /// Whether the 32 bits of handles have room for another name.
    pub(super) fn has_room(&self) -> bool {
        self.records.has_room()
    }

    pub(super) fn bytes(&self) -> usize {
        self.records.bytes() + self.index.bytes()
    }

    /// The bytes of the names alone.
    pub(super) fn name_bytes(&self) -> usize {
        self.records.name_bytes()
    }
}
