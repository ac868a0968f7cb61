//! The removal of an entry: updates above it, and the merging of small nodes with a neighbour.

use super::{CAPACITY, NONE, Place, Tree};
use crate::key::Key;
use crate::members::Members;

/// A node with fewer entries tries to merge with a neighbour.
const SMALL: usize = CAPACITY / 2;
/// The most entries of two merged nodes, so that the next insertion does not split them again.
const JOINED_MAX: usize = CAPACITY - 8;

impl Tree {
    /// Removes an entry, and returns its former position.
    pub(in super::super) fn remove(&mut self, place: Place, members: &mut Members) -> usize {
        let Place { leaf, at } = place;
        let key = self.key(place);
        let was_head = self.is_head(place);
        let before = self.adjust(leaf, -1, -i32::from(was_head));
        self.leaves[leaf].remove(at, self.width);
        self.len -= 1;
        if was_head {
            self.mark_next_of_score(place, &key);
        }
        if self.leaves[leaf].len() == 0 {
            self.drop_leaf(leaf);
        } else {
            if at == 0 {
                self.first_changed(0, leaf);
            }
            if self.leaves[leaf].len() < SMALL {
                self.join_leaf(leaf, members);
            }
        }
        before + at
    }

    /// The entry now at `place` is the first of its score if it has the score of the removed one.
    fn mark_next_of_score(&mut self, place: Place, key: &Key) {
        if let Some(Place { leaf, at }) = self.entry_from(place)
            && self.leaves[leaf].key(at, self.width).score() == key.score()
        {
            self.leaves[leaf].heads |= 1 << at;
            self.adjust(leaf, 0, 1);
        }
    }

    /// Removes an empty leaf from the tree; the last one stays.
    fn drop_leaf(&mut self, leaf: u32) {
        let (parent, previous, next) = (self.leaves[leaf].parent, self.leaves[leaf].previous, self.leaves[leaf].next);
        if parent == NONE {
            return;
        }
        self.unlink(leaf, previous, next);
        self.drop_child(0, leaf, parent);
    }

    fn unlink(&mut self, leaf: u32, previous: u32, next: u32) {
        if previous != NONE {
            self.leaves[previous].next = next;
        }
        if next != NONE {
            self.leaves[next].previous = previous;
        }
        self.leaves.remove(leaf);
    }

    /// Merges a small leaf with a neighbour if both fit into one.
    fn join_leaf(&mut self, leaf: u32, members: &mut Members) {
        let pairs = [
            self.sibling(leaf, 1).map(|(next, parent, at)| (leaf, next, parent, at)),
            self.sibling(leaf, -1).map(|(previous, parent, at)| (previous, leaf, parent, at - 1)),
        ];
        for (left, right, parent, at) in pairs.into_iter().flatten() {
            if self.leaves[left].len() + self.leaves[right].len() <= JOINED_MAX {
                let (previous, next) = (self.leaves[right].previous, self.leaves[right].next);
                let moved = std::mem::take(&mut self.leaves[right]);
                self.unlink(right, previous, next);
                members.set_leaves(moved.handles(), left);
                self.leaves[left].append(&moved, self.width);
                self.refresh(0, parent, at);
                self.drop_child(0, right, parent);
                return;
            }
        }
    }

    /// Removes a deleted node from its parent.
    fn drop_child(&mut self, level: u32, node: u32, parent: u32) {
        let at = self.branches[parent].place(node);
        self.branches[parent].remove(at, self.width);
        if self.branches[parent].len() == 0 {
            let above = self.branches[parent].parent;
            self.branches.remove(parent);
            // A root has at least two children, so there is a branch above this one.
            return self.drop_child(level + 1, parent, above);
        }
        if at == 0 {
            self.first_changed(level + 1, parent);
        }
        if self.branches[parent].parent == NONE {
            self.lower_root();
        } else if self.branches[parent].len() < SMALL {
            self.join_branch(level + 1, parent);
        }
    }

    /// Replaces a root with one child by that child.
    fn lower_root(&mut self) {
        while self.height > 0 && self.branches[self.root].len() == 1 {
            let child = self.branches[self.root].child(0);
            self.branches.remove(self.root);
            self.height -= 1;
            self.root = child;
            self.set_parent(self.height, child, NONE);
        }
    }

    fn join_branch(&mut self, level: u32, branch: u32) {
        let parent = self.branches[branch].parent;
        let at = self.branches[parent].place(branch);
        for left_at in [Some(at), at.checked_sub(1)].into_iter().flatten() {
            if left_at + 1 >= self.branches[parent].len() {
                continue;
            }
            let (left, right) = (self.branches[parent].child(left_at), self.branches[parent].child(left_at + 1));
            if self.branches[left].len() + self.branches[right].len() <= JOINED_MAX {
                let moved = self.branches.remove(right);
                for child in moved.children() {
                    self.set_parent(level - 1, *child, left);
                }
                self.branches[left].append(&moved, self.width);
                self.refresh(level, parent, left_at);
                return self.drop_child(level, right, parent);
            }
        }
    }
}
