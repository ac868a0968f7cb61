//! The index of members: from the hash of a name to the member's record and leaf, in one cache line.
//!
//! It consists of tables of up to one huge page, which split in two when they are full (extendible hashing: Fagin, Nievergelt,
//! Pippenger and Strong, 1979). So no growth takes longer than filling one table, whatever the number of members.
//!
//! In a table, a member is in the bucket of its hash or in the first one after it that had room (linear probing). All buckets
//! between the two are full at all times: a removal moves a later member into the free place. So a search ends at the first
//! bucket with room. There always is one, because no table is ever full.

use super::arena::{Block, prefetch};

/// Members per bucket: as many as fit into a cache line.
const SLOTS: usize = 5;
const BUCKETS_MAX: usize = Block::<Bucket>::CAPACITY;
/// Percentage of used places at which a table grows or splits.
const FULL_PERCENT: usize = 85;
const NEW_PERCENT: usize = 60;
/// Members of a new table of maximum size.
const SHARE_MAX: usize = BUCKETS_MAX * SLOTS * 80 / 100;

/// The index's data of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) handle: u32,
    pub(super) leaf: u32,
}

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Bucket {
    tags: [u32; SLOTS],
    handles: [u32; SLOTS],
    leaves: [u32; SLOTS],
    len: u32,
}

const EMPTY: Bucket = Bucket { tags: [0; SLOTS], handles: [0; SLOTS], leaves: [0; SLOTS], len: 0 };

impl Bucket {
    fn is_full(&self) -> bool {
        self.len as usize == SLOTS
    }

    fn member(&self, slot: usize) -> Member {
        Member { handle: self.handles[slot], leaf: self.leaves[slot] }
    }

    /// The slots with a tag.
    #[inline]
    fn slots(&self, tag: u32) -> impl Iterator<Item = usize> {
        let mut found = 0_u32;
        for (slot, other) in self.tags.iter().enumerate() {
            found |= u32::from(*other == tag) << slot;
        }
        found &= (1 << self.len) - 1;
        std::iter::from_fn(move || {
            let slot = found.trailing_zeros() as usize;
            found &= found.wrapping_sub(1);
            (slot < SLOTS).then_some(slot)
        })
    }

    fn push(&mut self, tag: u32, member: Member) {
        let slot = self.len as usize;
        (self.tags[slot], self.handles[slot], self.leaves[slot]) = (tag, member.handle, member.leaf);
        self.len += 1;
    }

    fn remove(&mut self, slot: usize) {
        self.len -= 1;
        let last = self.len as usize;
        self.tags[slot] = self.tags[last];
        self.handles[slot] = self.handles[last];
        self.leaves[slot] = self.leaves[last];
    }
}

struct Table {
    buckets: Block<Bucket>,
    len: usize,
    /// The leading bits of the tags that all members of the table share.
    depth: u32,
}

impl Table {
    /// A table for this many members.
    fn new(members: usize, depth: u32) -> Self {
        let buckets = (members * 100 / NEW_PERCENT).div_ceil(SLOTS).clamp(1, BUCKETS_MAX);
        Table { buckets: Block::filled(EMPTY, buckets), len: 0, depth }
    }

    fn is_full(&self) -> bool {
        self.len + 1 > self.buckets.len() * SLOTS * FULL_PERCENT / 100
    }

    /// The bucket in which the search for a tag begins, from the bits after the shared ones.
    #[inline]
    fn home(&self, tag: u32) -> usize {
        ((u64::from(tag << self.depth) * self.buckets.len() as u64) >> 32) as usize
    }

    fn next(&self, bucket: usize) -> usize {
        if bucket + 1 == self.buckets.len() { 0 } else { bucket + 1 }
    }

    /// The bucket and the slot of a member.
    #[inline]
    fn find(&self, tag: u32, mut is_it: impl FnMut(Member) -> bool) -> Option<(usize, usize)> {
        let mut at = self.home(tag);
        loop {
            let bucket = &self.buckets[at];
            if let Some(slot) = bucket.slots(tag).find(|slot| is_it(bucket.member(*slot))) {
                return Some((at, slot));
            }
            if !bucket.is_full() {
                return None;
            }
            at = self.next(at);
        }
    }

    /// Adds a member to a table that is not full.
    fn insert(&mut self, tag: u32, member: Member) {
        let mut at = self.home(tag);
        while self.buckets[at].is_full() {
            at = self.next(at);
        }
        self.buckets[at].push(tag, member);
        self.len += 1;
    }

    fn remove(&mut self, tag: u32, handle: u32) {
        let Some((found, slot)) = self.find(tag, |member| member.handle == handle) else { return };
        let mut is_crowded = self.buckets[found].is_full();
        self.buckets[found].remove(slot);
        self.len -= 1;
        let (mut room, mut at) = (found, found);
        // Members after a full bucket may belong before it; there are none after one with room.
        while is_crowded {
            at = self.next(at);
            is_crowded = self.buckets[at].is_full();
            if let Some(slot) = self.slot_of_earlier(at, room) {
                let (tag, member) = (self.buckets[at].tags[slot], self.buckets[at].member(slot));
                self.buckets[at].remove(slot);
                self.buckets[room].push(tag, member);
                room = at;
            }
        }
    }

    /// The slot, in a bucket, of a member whose search begins at the earlier bucket `from` or before it.
    fn slot_of_earlier(&self, bucket: usize, from: usize) -> Option<usize> {
        let steps_between =
            |first: usize, last: usize| if first <= last { last - first } else { last + self.buckets.len() - first };
        let (steps, bucket_at) = (steps_between(from, bucket), &self.buckets[bucket]);
        (0..bucket_at.len as usize).find(|slot| steps_between(self.home(bucket_at.tags[*slot]), bucket) >= steps)
    }

    fn each(&self, mut take: impl FnMut(u32, Member)) {
        for bucket in self.buckets.iter() {
            (0..bucket.len as usize).for_each(|slot| take(bucket.tags[slot], bucket.member(slot)));
        }
    }

    /// A larger table with the same members.
    fn grown(&self) -> Table {
        let mut table = Table::new(self.len, self.depth);
        self.each(|tag, member| table.insert(tag, member));
        table
    }

    /// Two tables with about a half of the members each.
    fn split(&self) -> [Table; 2] {
        let half = |tag: u32| ((tag << self.depth) >> 31) as usize;
        let mut counts = [0; 2];
        self.each(|tag, _| counts[half(tag)] += 1);
        let mut halves = counts.map(|count| Table::new(count, self.depth + 1));
        self.each(|tag, member| halves[half(tag)].insert(tag, member));
        halves
    }
}

/// See the module. A tag is a hash of 32 bits; equal names have equal tags.
pub(super) struct Index {
    tables: Vec<Table>,
    /// The number of the table for each value of a tag's first `depth` bits.
    directory: Vec<u32>,
    depth: u32,
}

impl Index {
    pub(super) fn new() -> Self {
        Index::for_members(0)
    }

    fn for_members(count: usize) -> Self {
        let depth = count.div_ceil(SHARE_MAX).max(1).next_power_of_two().trailing_zeros();
        let tables: Vec<Table> = (0..1 << depth).map(|_| Table::new(count >> depth, depth)).collect();
        Index { directory: (0..tables.len() as u32).collect(), tables, depth }
    }

    /// The index of members and their tags.
    pub(super) fn of(members: impl ExactSizeIterator<Item = (u32, Member)>) -> Self {
        let mut index = Index::for_members(members.len());
        if index.depth == 0 {
            members.for_each(|(tag, member)| index.insert(tag, member));
            return index;
        }
        // Table by table, so that each stays in the cache while it is filled.
        let share = members.len() >> index.depth;
        let mut shares: Vec<Vec<(u32, Member)>> = index.tables.iter().map(|_| Vec::with_capacity(share + share / 8)).collect();
        members.for_each(|(tag, member)| shares[index.place(tag)].push((tag, member)));
        shares.into_iter().flatten().for_each(|(tag, member)| index.insert(tag, member));
        index
    }

    #[inline]
    fn place(&self, tag: u32) -> usize {
        ((u64::from(tag) << self.depth) >> 32) as usize
    }

    #[inline]
    fn table(&self, tag: u32) -> &Table {
        &self.tables[self.directory[self.place(tag)] as usize]
    }

    fn table_mut(&mut self, tag: u32) -> &mut Table {
        let number = self.directory[self.place(tag)];
        &mut self.tables[number as usize]
    }

    /// Prefetches the memory that a search for a tag reads first.
    #[inline]
    pub(super) fn prefetch(&self, tag: u32) {
        let table = self.table(tag);
        prefetch(&table.buckets[table.home(tag)]);
    }

    /// The member with a tag for which `is_it` holds.
    #[inline]
    pub(super) fn find(&self, tag: u32, is_it: impl FnMut(Member) -> bool) -> Option<Member> {
        let table = self.table(tag);
        table.find(tag, is_it).map(|(bucket, slot)| table.buckets[bucket].member(slot))
    }

    /// Adds a member that is not there yet.
    pub(super) fn insert(&mut self, tag: u32, member: Member) {
        while self.table(tag).is_full() {
            self.make_room(tag);
        }
        self.table_mut(tag).insert(tag, member);
    }

    fn make_room(&mut self, tag: u32) {
        let table = self.table_mut(tag);
        if table.buckets.len() < BUCKETS_MAX {
            *table = table.grown();
            return;
        }
        let (depth, [low, high]) = (table.depth, table.split());
        *table = low;
        if depth == self.depth {
            self.directory = self.directory.iter().flat_map(|number| [*number; 2]).collect();
            self.depth += 1;
        }
        // The places of the old table are adjacent; the later half has the next bit set.
        let (number, added) = (self.directory[self.place(tag)], self.tables.len() as u32);
        let places = self.directory.iter_mut().filter(|place| **place == number);
        places.skip(1 << (self.depth - depth - 1)).for_each(|place| *place = added);
        self.tables.push(high);
    }

    /// Sets the leaf of a member.
    #[inline]
    pub(super) fn set_leaf(&mut self, tag: u32, member: Member) {
        let table = self.table_mut(tag);
        if let Some((bucket, slot)) = table.find(tag, |other| other.handle == member.handle) {
            table.buckets[bucket].leaves[slot] = member.leaf;
        }
    }

    pub(super) fn remove(&mut self, tag: u32, handle: u32) {
        self.table_mut(tag).remove(tag, handle);
    }

    pub(super) fn bytes(&self) -> usize {
        self.tables.iter().map(|table| table.buckets.bytes()).sum()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::{BUCKETS_MAX, FULL_PERCENT, Index, Member, SLOTS};

    /// Tags as different as hashes.
    fn tag(number: u32) -> u32 {
        (u64::from(number).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as u32
    }

    fn found(index: &Index, number: u32) -> Option<u32> {
        index.find(tag(number), |member| member.handle == number).map(|member| member.leaf)
    }

    /// The invariant of every search: each table has room, and each member is in the first bucket that had room for it.
    fn check(index: &Index) {
        for table in &index.tables {
            assert!(table.len * 100 <= table.buckets.len() * SLOTS * FULL_PERCENT);
            assert_eq!(table.len, table.buckets.iter().map(|bucket| bucket.len as usize).sum());
            for (number, bucket) in table.buckets.iter().enumerate() {
                for tag in &bucket.tags[..bucket.len as usize] {
                    let mut at = table.home(*tag);
                    while at != number {
                        assert!(table.buckets[at].is_full(), "a search for {tag} ends at {at} and not at {number}");
                        at = table.next(at);
                    }
                }
            }
        }
    }

    /// The average number of buckets that a search for a missing member reads.
    fn mean_search(index: &Index) -> f64 {
        let steps = (0..10_000).map(|number| {
            let tag = tag(u32::MAX - number);
            let table = index.table(tag);
            let ahead = std::iter::successors(Some(table.home(tag)), |at| Some(table.next(*at)));
            1 + ahead.take_while(|at| table.buckets[*at].is_full()).count()
        });
        steps.sum::<usize>() as f64 / 10_000.0
    }

    /// A few members that came and went once marked every bucket as having members after it. A search for another one then never
    /// ended.
    #[test]
    fn searches_end_and_stay_short_while_members_come_and_go() {
        for count in [1, 2, 3, 4, 5, 7, 8, 9, 12, 13, 40, 300, 5000, 90_000] {
            let mut index = Index::of((0..count).map(|number| (tag(number), Member { handle: number, leaf: number })));
            let fresh = mean_search(&index);
            let mut members: Vec<u32> = (0..count).collect();
            let turns = (count * 20).max(20_000);
            for number in count..count + turns {
                // Removes any of them, not the oldest.
                let place = &mut members[tag(number) as usize % count as usize];
                index.remove(tag(*place), *place);
                *place = number;
                assert_eq!(found(&index, number), None);
                index.insert(tag(number), Member { handle: number, leaf: number });
                if number % (turns / 20) == 0 {
                    check(&index);
                }
            }
            check(&index);
            assert!(members.iter().all(|number| found(&index, *number) == Some(*number)));
            let (tables, churned) = (
                Index::of(members.iter().map(|number| (tag(*number), Member { handle: *number, leaf: 0 }))),
                mean_search(&index),
            );
            assert!(
                churned <= fresh.max(mean_search(&tables)) * 1.5,
                "{count} members: {fresh} buckets at first, {churned} then"
            );
        }
    }

    /// Through several splits, and back.
    #[test]
    fn members_are_found_while_tables_split_and_members_go() {
        let mut index = Index::new();
        let count = (BUCKETS_MAX * SLOTS * 3 / 2) as u32;
        for number in 0..count {
            index.insert(tag(number), Member { handle: number, leaf: number ^ 1 });
            if number % 50_021 == 0 {
                assert!((0..=number).step_by(997).all(|number| found(&index, number) == Some(number ^ 1)));
            }
        }
        assert!(index.tables.len() >= 2);
        for number in (0..count).step_by(3) {
            index.remove(tag(number), number);
        }
        for number in 0..count {
            assert_eq!(found(&index, number), (number % 3 != 0).then_some(number ^ 1));
        }
        (0..count).for_each(|number| index.remove(tag(number), number));
        assert!(index.tables.iter().all(|table| table.len == 0));
        assert!(index.tables.iter().all(|table| table.buckets.iter().all(|bucket| bucket.len == 0)));
    }

    /// An index that is built at once finds the same as one that has grown.
    #[test]
    fn an_index_of_many_members_is_made_at_once() {
        for count in [0, 1, 4, 1000, 400_000] {
            let index = Index::of((0..count).map(|number| (tag(number), Member { handle: number, leaf: 7 })));
            assert!((0..count).all(|number| found(&index, number) == Some(7)));
            assert_eq!(found(&index, count), None);
        }
    }

    /// Any number of members may share a tag; that is only slower.
    #[test]
    fn members_of_one_tag_are_told_apart() {
        let mut index = Index::new();
        let mut expected = HashMap::new();
        for step in 0..2000_u32 {
            let handle = step * 7 % 300;
            if expected.remove(&handle).is_some() {
                index.remove(u32::MAX, handle);
            } else {
                expected.insert(handle, step);
                index.insert(u32::MAX, Member { handle, leaf: 0 });
                index.set_leaf(u32::MAX, Member { handle, leaf: step });
            }
        }
        for handle in 0..300 {
            let leaf = index.find(u32::MAX, |member| member.handle == handle).map(|member| member.leaf);
            assert_eq!(leaf, expected.get(&handle).copied());
        }
        assert!(index.bytes() < 300 * 64 * 100 / FULL_PERCENT);
    }
}
