//! The construction of a whole tree from sorted entries, which compares only neighbouring scores.

use super::branch::Branch;
use super::leaf::Leaf;
use super::{CAPACITY, Tree};
use crate::key::score_words;

/// Entries of a new leaf and children of a new branch: some room is left for insertions.
const FILLED: usize = CAPACITY * 7 / 8;

impl Tree {
    /// A tree of entries, which must be in order. Calls `placed` with the position and the leaf of each.
    pub(in super::super) fn build<'k>(
        width: usize,
        entries: impl Iterator<Item = (&'k [u64], u32)>,
        mut placed: impl FnMut(usize, u32),
    ) -> Self {
        let mut tree = Tree::new(width);
        let mut nodes = vec![tree.root];
        let mut last: Option<&[u64]> = None;
        for (key, handle) in entries {
            let mut leaf = nodes[nodes.len() - 1];
            if tree.leaves[leaf].len() == FILLED {
                let previous = leaf;
                leaf = tree.leaves.insert(Leaf::with_room(width));
                tree.leaves[leaf].previous = previous;
                tree.leaves[previous].next = leaf;
                nodes.push(leaf);
            }
            let is_head = last.is_none_or(|last| score_words(last) != score_words(key));
            let at = tree.leaves[leaf].len();
            tree.leaves[leaf].insert(at, key, handle, is_head);
            placed(tree.len, leaf);
            last = Some(key);
            tree.len += 1;
        }
        while nodes.len() > 1 {
            nodes = tree.add_level(&nodes);
        }
        tree.root = nodes[0];
        tree
    }

    /// The branches over nodes of one level.
    fn add_level(&mut self, nodes: &[u32]) -> Vec<u32> {
        let level = self.height;
        self.height += 1;
        let branches = nodes.chunks(FILLED).map(|nodes| {
            let branch = self.branches.insert(Branch::at_level(level + 1));
            for (at, node) in nodes.iter().enumerate() {
                let child = self.child(level, *node);
                self.branches[branch].insert(at, &child);
                self.set_parent(level, *node, branch);
            }
            branch
        });
        branches.collect()
    }
}
