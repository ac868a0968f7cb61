//! The insertion of an entry: the search, room in the leaf, and updates above it.

use smallvec::SmallVec;

use super::branch::{Branch, Child};
use super::{CAPACITY, NONE, Place, Tree};
use crate::key::score_words;
use crate::members::Members;
use crate::point::Point;

/// A neighbour with this many free places takes entries of a full leaf, which then need not be split. So leaves are fuller.
const FREE_TO_SHARE: usize = 8;
/// Where a node at the end of a growing run is split, so that it stays nearly full.
const SPLIT_AT_END: usize = CAPACITY - 4;

/// Branches from the root down, with the position of the child in each. Sets of a thousand million members have six.
type Path = SmallVec<[(u32, usize); 6]>;

impl Tree {
    /// Adds the entry of a new member, and returns its place and position. The caller enters the leaf into the index.
    pub(in super::super) fn insert(&mut self, key: &[u64], handle: u32, members: &mut Members) -> (Place, usize) {
        let mut path = Path::new();
        let (place, before) = self.descend(Point::at(key, members.name(handle)), members, |branch, at| path.push((branch, at)));
        let position = before + place.at;
        let is_head = !self.follows_its_score(place, key);
        if is_head {
            self.unmark_next_of_score(place, key);
        }
        let is_full = self.leaves[place.leaf].is_full();
        let place = if is_full { self.make_room(place, members) } else { place };
        let Place { leaf, at } = place;
        self.leaves[leaf].insert(at, key, handle, is_head);
        match is_full {
            // Other branches may be above the leaf now.
            true => drop(self.adjust(leaf, 1, i32::from(is_head))),
            false => path.iter().for_each(|(branch, at)| self.branches[*branch].adjust(*at, 1, i32::from(is_head))),
        }
        if at == 0 {
            self.first_changed(0, leaf);
        }
        self.len += 1;
        (place, position)
    }

    /// Whether the entry before `place` has the score of `key`.
    fn follows_its_score(&self, place: Place, key: &[u64]) -> bool {
        let (leaf, end) = match place.at {
            0 if self.leaves[place.leaf].previous == NONE => return false,
            0 => (self.leaves[place.leaf].previous, self.leaves[self.leaves[place.leaf].previous].len()),
            at => (place.leaf, at),
        };
        self.leaves[leaf].key(end - 1, self.width).score() == score_words(key)
    }

    /// The entry at `place`, or the first of the next leaf if that is behind the last of its own.
    pub(super) fn entry_from(&self, place: Place) -> Option<Place> {
        let leaf = &self.leaves[place.leaf];
        if place.at < leaf.len() {
            return Some(place);
        }
        (leaf.next != NONE).then_some(Place { leaf: leaf.next, at: 0 })
    }

    /// The entry at `place` is no longer the first of its score if one with the same score comes before it.
    fn unmark_next_of_score(&mut self, place: Place, key: &[u64]) {
        if let Some(Place { leaf, at }) = self.entry_from(place)
            && self.leaves[leaf].key(at, self.width).score() == score_words(key)
        {
            self.leaves[leaf].heads &= !(1 << at);
            self.adjust(leaf, 0, -1);
        }
    }

    /// Makes room in a full leaf, and returns the place of the new entry.
    fn make_room(&mut self, place: Place, members: &mut Members) -> Place {
        self.share_with_next(place, members)
            .or_else(|| self.share_with_previous(place, members))
            .unwrap_or_else(|| self.split_leaf(place, members))
    }

    /// The leaf beside this one below the same parent, `step` places on, with the parent and this one's place there.
    pub(super) fn sibling(&self, leaf: u32, step: isize) -> Option<(u32, u32, usize)> {
        let parent = self.leaves[leaf].parent;
        if parent == NONE {
            return None;
        }
        let at = self.branches[parent].place(leaf);
        let other = at.checked_add_signed(step).filter(|other| *other < self.branches[parent].len())?;
        Some((self.branches[parent].child(other), parent, at))
    }

    fn share_with_next(&mut self, place: Place, members: &mut Members) -> Option<Place> {
        let (next, parent, at) = self.sibling(place.leaf, 1)?;
        let free = CAPACITY - self.leaves[next].len();
        if free < FREE_TO_SHARE {
            return None;
        }
        let kept = CAPACITY - free / 2;
        let mut moved = self.leaves[place.leaf].split_off(kept, self.width);
        members.set_leaves(moved.handles(), next);
        moved.append(&self.leaves[next], self.width);
        self.leaves[next].swap_entries(&mut moved);
        self.refresh(0, parent, at);
        self.refresh(0, parent, at + 1);
        Some(if place.at <= kept { place } else { Place { leaf: next, at: place.at - kept } })
    }

    fn share_with_previous(&mut self, place: Place, members: &mut Members) -> Option<Place> {
        let (previous, parent, at) = self.sibling(place.leaf, -1)?;
        let len = self.leaves[previous].len();
        let moved = (CAPACITY - len) / 2;
        if CAPACITY - len < FREE_TO_SHARE {
            return None;
        }
        let mut rest = self.leaves[place.leaf].split_off(moved, self.width);
        self.leaves[place.leaf].swap_entries(&mut rest);
        members.set_leaves(rest.handles(), previous);
        self.leaves[previous].append(&rest, self.width);
        self.refresh(0, parent, at - 1);
        self.refresh(0, parent, at);
        Some(match place.at.checked_sub(moved) {
            Some(inside) => Place { leaf: place.leaf, at: inside },
            None => Place { leaf: previous, at: len + place.at },
        })
    }

    fn split_leaf(&mut self, place: Place, members: &mut Members) -> Place {
        let is_end = self.leaves[place.leaf].next == NONE && place.at == CAPACITY;
        let kept = if is_end { SPLIT_AT_END } else { CAPACITY / 2 };
        let mut tail = self.leaves[place.leaf].split_off(kept, self.width);
        let next = self.leaves[place.leaf].next;
        (tail.previous, tail.next) = (place.leaf, next);
        let tail = self.leaves.insert(tail);
        self.leaves[place.leaf].next = tail;
        if next != NONE {
            self.leaves[next].previous = tail;
        }
        members.set_leaves(self.leaves[tail].handles(), tail);
        self.add_sibling(0, place.leaf, tail);
        if place.at <= kept { place } else { Place { leaf: tail, at: place.at - kept } }
    }

    /// Adds a node that was split off after the original one.
    fn add_sibling(&mut self, level: u32, node: u32, added: u32) {
        let parent = match self.parent(level, node) {
            NONE => self.grow_root(level, node),
            parent => parent,
        };
        let at = self.branches[parent].place(node);
        self.refresh(level, parent, at);
        let (parent, at) = self.branch_with_room(level + 1, parent, at + 1);
        let child = self.child(level, added);
        self.branches[parent].insert(at, &child);
        self.set_parent(level, added, parent);
        self.refresh_above(level + 1, parent);
    }

    /// The new root, with the old one as its only child.
    fn grow_root(&mut self, level: u32, node: u32) -> u32 {
        let child = self.child(level, node);
        let mut branch = Branch::at_level(level + 1);
        branch.insert(0, &child);
        let root = self.branches.insert(branch);
        self.set_parent(level, node, root);
        (self.root, self.height) = (root, level + 1);
        root
    }

    /// A parent's data of a node.
    pub(super) fn child(&self, level: u32, node: u32) -> Child {
        let (count, heads) = self.numbers(level, node);
        let (key, handle) = match level {
            0 => (self.leaves[node].key(0, self.width), self.leaves[node].handle(0)),
            _ => (self.branches[node].key(0, self.width), self.branches[node].handle(0)),
        };
        Child { node, count, heads, handle, key }
    }

    /// Makes room in a full branch, and returns the place of the new child.
    fn branch_with_room(&mut self, level: u32, branch: u32, at: usize) -> (u32, usize) {
        if !self.branches[branch].is_full() {
            return (branch, at);
        }
        let kept = if at == CAPACITY { SPLIT_AT_END } else { CAPACITY / 2 };
        let tail = self.branches[branch].split_off(kept, self.width);
        let tail = self.branches.insert(tail);
        for place in 0..self.branches[tail].len() {
            self.set_parent(level - 1, self.branches[tail].child(place), tail);
        }
        self.add_sibling(level, branch, tail);
        if at <= kept { (branch, at) } else { (tail, at - kept) }
    }

    /// Updates all branches above one that was split, or whose child was.
    fn refresh_above(&mut self, level: u32, branch: u32) {
        let (mut level, mut branch) = (level, branch);
        loop {
            let parent = self.branches[branch].parent;
            if parent == NONE {
                return;
            }
            let at = self.branches[parent].place(branch);
            self.refresh(level, parent, at);
            (level, branch) = (level + 1, parent);
        }
    }
}
