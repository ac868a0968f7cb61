//! A counting B+-tree: each branch stores how many entries, and how many distinct scores, are below each child.
//!
//! Leaves and branches know their parents, and members know their leaves. So a member's rank is found upwards, without comparing
//! a key. A branch has the exact first key of each child.

mod branch;
mod bulk;
mod insertion;
mod keys;
mod leaf;
mod removal;
mod search;

use super::arena::prefetch;
use super::chunks::Chunks;
use super::key::Key;
use super::members::{Member, Members};
use super::point::Point;
use branch::Branch;
use keys::Keys;
use leaf::Leaf;
use search::entries_before;

/// Entries of a leaf and children of a branch; also the number of bits of a leaf's heads.
const CAPACITY: usize = 64;
const NONE: u32 = u32::MAX;

/// The position of a number that occurs once. Checks all of them: one pass without branches, in 32-bit lanes that fill a
/// register.
#[inline]
fn place_of(numbers: &[u32; CAPACITY], number: u32) -> usize {
    let places = numbers.iter().zip(0_u32..).map(|(other, place)| if *other == number { place } else { 0 });
    places.fold(0, |at, place| at | place) as usize
}

pub(super) struct Tree {
    /// Words of a key.
    width: usize,
    leaves: Chunks<Leaf>,
    branches: Chunks<Branch>,
    /// A leaf while `height` is 0, else a branch.
    root: u32,
    height: u32,
    len: usize,
}

/// An entry's leaf, and its place there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) leaf: u32,
    at: usize,
}

impl Tree {
    pub(super) fn new(width: usize) -> Self {
        let mut leaves = Chunks::new();
        let root = leaves.insert(Leaf::default());
        Tree { width, leaves, branches: Chunks::new(), root, height: 0, len: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The number of distinct scores.
    pub(super) fn scores(&self) -> usize {
        self.numbers(self.height, self.root).1 as usize
    }

    pub(super) fn key(&self, place: Place) -> Key {
        self.leaves[place.leaf].key(place.at, self.width)
    }

    /// Passes the words of an entry's key to `work`.
    #[inline]
    pub(super) fn read_key<R>(&self, place: Place, work: impl FnOnce(&[u64]) -> R) -> R {
        self.leaves[place.leaf].keys().read(place.at, self.width, work)
    }

    pub(super) fn handle(&self, place: Place) -> u32 {
        self.leaves[place.leaf].handle(place.at)
    }

    pub(super) fn is_head(&self, place: Place) -> bool {
        self.leaves[place.leaf].is_head(place.at)
    }

    /// Where the entry of a member is.
    #[inline]
    pub(super) fn place(&self, member: Member) -> Place {
        Place { leaf: member.leaf, at: self.leaves[member.leaf].place(member.handle) }
    }

    /// Prefetches the data for finding a member in its leaf.
    #[inline]
    pub(super) fn prefetch(&self, leaf: u32) {
        self.leaves[leaf].prefetch();
    }

    /// Prefetches a whole leaf.
    #[inline]
    pub(super) fn prefetch_all(&self, leaf: u32) {
        prefetch(&self.leaves[leaf]);
    }

    /// Prefetches the whole leaf where an entry with these first key words belongs.
    #[inline]
    pub(super) fn prefetch_for(&self, words: &[u64], members: &Members) {
        let mut node = self.root;
        for _ in 0..self.height {
            let branch = &self.branches[node];
            let at = entries_before(Point::before(words), members, branch.keys(), self.width, branch.handles());
            node = branch.child(at.saturating_sub(1));
        }
        prefetch(&self.leaves[node]);
    }

    /// The branches above a leaf, lowest first, with the position of the child in each.
    #[inline]
    fn path(&self, leaf: u32) -> impl Iterator<Item = (&Branch, usize)> {
        let mut child = leaf;
        let mut parent = self.leaves[leaf].parent;
        std::iter::from_fn(move || {
            if parent == NONE {
                return None;
            }
            let branch = &self.branches[parent];
            let at = branch.place(child);
            (child, parent) = (parent, branch.parent);
            Some((branch, at))
        })
    }

    /// The number of entries before this one.
    #[inline]
    pub(super) fn position(&self, place: Place) -> usize {
        self.path(place.leaf).map(|(branch, at)| branch.count_before(at)).sum::<usize>() + place.at
    }

    /// The number of distinct scores up to this entry's own.
    pub(super) fn scores_through(&self, place: Place) -> usize {
        let before: usize = self.path(place.leaf).map(|(branch, at)| branch.heads_before(at)).sum();
        before + self.leaves[place.leaf].heads_through(place.at)
    }

    /// The number of entries before a point.
    pub(super) fn count_before(&self, point: Point<'_>, members: &Members) -> usize {
        let (place, before) = self.descend(point, members, |_, _| {});
        before + place.at
    }

    /// The place of an entry at `point`, and the number of entries before its leaf. Calls `step` with each branch on the way
    /// down, and the position of the child in it.
    #[inline]
    fn descend(&self, point: Point<'_>, members: &Members, mut step: impl FnMut(u32, usize)) -> (Place, usize) {
        let mut node = self.root;
        let mut before = 0;
        for _ in 0..self.height {
            let branch = &self.branches[node];
            let at = entries_before(point, members, branch.keys(), self.width, branch.handles()).saturating_sub(1);
            before += branch.count_before(at);
            step(node, at);
            node = branch.child(at);
        }
        let leaf = &self.leaves[node];
        let at = entries_before(point, members, leaf.keys(), self.width, leaf.handles());
        (Place { leaf: node, at }, before)
    }

    /// The entry with this many entries before it, which must exist.
    pub(super) fn select(&self, position: usize) -> Place {
        let (mut node, mut rest) = (self.root, position);
        for _ in 0..self.height {
            let branch = &self.branches[node];
            let (at, inside) = branch.child_with_entry(rest);
            (node, rest) = (branch.child(at), inside);
        }
        Place { leaf: node, at: rest }
    }

    /// The position of the first entry of the distinct score number `number`, counted from 0; the number of entries if there are
    /// fewer scores.
    pub(super) fn score_position(&self, number: usize) -> usize {
        if number >= self.scores() {
            return self.len;
        }
        let (mut node, mut rest, mut before) = (self.root, number, 0);
        for _ in 0..self.height {
            let branch = &self.branches[node];
            let (at, inside) = branch.child_with_head(rest);
            before += branch.count_before(at);
            (node, rest) = (branch.child(at), inside);
        }
        before + self.leaves[node].head_place(rest)
    }

    /// The entry this many places before, or the first one, and the distance.
    pub(super) fn back(&self, place: Place, count: usize) -> (Place, usize) {
        let Place { mut leaf, mut at } = place;
        let mut rest = count;
        while rest > at {
            let previous = self.leaves[leaf].previous;
            if previous == NONE {
                return (Place { leaf, at: 0 }, count - rest + at);
            }
            rest -= at;
            (leaf, at) = (previous, self.leaves[previous].len());
        }
        (Place { leaf, at: at - rest }, count)
    }

    /// Up to `count` members from a place on, in its leaf.
    pub(super) fn handles_from(&self, place: Place, count: usize) -> &[u32] {
        let handles = self.leaves[place.leaf].handles();
        &handles[place.at..handles.len().min(place.at + count)]
    }

    /// The entry that follows.
    pub(super) fn next(&self, place: Place) -> Option<Place> {
        let leaf = &self.leaves[place.leaf];
        if place.at + 1 < leaf.len() {
            return Some(Place { leaf: place.leaf, at: place.at + 1 });
        }
        (leaf.next != NONE).then_some(Place { leaf: leaf.next, at: 0 })
    }

    /// Entries and heads below a node at a level; level 0 is the leaves.
    fn numbers(&self, level: u32, node: u32) -> (u32, u32) {
        match level {
            0 => (self.leaves[node].len() as u32, self.leaves[node].heads.count_ones()),
            _ => self.branches[node].totals(),
        }
    }

    fn parent(&self, level: u32, node: u32) -> u32 {
        if level == 0 { self.leaves[node].parent } else { self.branches[node].parent }
    }

    fn set_parent(&mut self, level: u32, node: u32, parent: u32) {
        match level {
            0 => self.leaves[node].parent = parent,
            _ => self.branches[node].parent = parent,
        }
    }

    /// Adds to the numbers of all branches above a leaf, and returns the number of entries before the leaf.
    fn adjust(&mut self, leaf: u32, count: i32, heads: i32) -> usize {
        let mut child = leaf;
        let mut parent = self.leaves[leaf].parent;
        let mut before = 0;
        while parent != NONE {
            let branch = &mut self.branches[parent];
            let at = branch.place(child);
            before += branch.count_before(at);
            branch.adjust(at, count, heads);
            (child, parent) = (parent, branch.parent);
        }
        before
    }

    /// Updates the branches above after the first entry below a node has changed.
    fn first_changed(&mut self, level: u32, node: u32) {
        let (mut level, mut child) = (level, node);
        loop {
            let parent = self.parent(level, child);
            if parent == NONE {
                return;
            }
            let at = self.branches[parent].place(child);
            self.copy_first(level, child, parent, at);
            if at > 0 {
                return;
            }
            (level, child) = (level + 1, parent);
        }
    }

    fn copy_first(&mut self, level: u32, child: u32, parent: u32, at: usize) {
        let width = self.width;
        match level {
            0 => {
                let leaf = &self.leaves[child];
                let (key, handle) = (leaf.key(0, width), leaf.handle(0));
                self.branches[parent].set_first(at, key.words(), handle);
            }
            _ => {
                let key = self.branches[child].key(0, width);
                let handle = self.branches[child].handle(0);
                self.branches[parent].set_first(at, key.words(), handle);
            }
        }
    }

    /// Updates a branch's data of the child at `at`.
    fn refresh(&mut self, level: u32, parent: u32, at: usize) {
        let child = self.branches[parent].child(at);
        let (count, heads) = self.numbers(level, child);
        self.branches[parent].set_numbers(at, count, heads);
        self.copy_first(level, child, parent, at);
    }

    /// Memory of all nodes.
    pub(super) fn bytes(&self) -> usize {
        let far = match self.height {
            0 => self.leaves[self.root].far_bytes(),
            _ => (self.leaves.len() + self.branches.len()) * Keys::far_bytes_max(self.width),
        };
        self.leaves.bytes() + self.branches.bytes() + far
    }
}
