//! A range of a table, and a walk over it.

use std::ops::Bound;

use heed::{AnyTls, RoTxn};

use super::bounds::KEY_BYTES_MAX;
use super::env::Tree;
use super::error::Error;
use super::layout::TableId;

/// A key and its value.
pub type Entry = (Vec<u8>, Vec<u8>);

/// A part of a table, in the order of its keys' bytes. All conditions must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Range {
    /// Keys that start with this.
    pub prefix: Option<Vec<u8>>,
    /// Keys from this one on.
    pub from: Option<Vec<u8>>,
    /// Keys before this one.
    pub to: Option<Vec<u8>>,
    /// Keys that come after this one in the direction of the walk: the last key of the page before.
    pub after: Option<Vec<u8>>,
    /// At most this many entries.
    pub limit: usize,
    /// From the last key to the first.
    pub is_reverse: bool,
}

/// Lower and upper bound.
pub type Bounds = (Bound<Vec<u8>>, Bound<Vec<u8>>);

impl Range {
    /// The bounds within a table; `None` when nothing can lie between them.
    pub fn bounds(&self) -> Result<Option<Bounds>, Error> {
        for key in [&self.prefix, &self.from, &self.to, &self.after].into_iter().flatten() {
            if key.len() > KEY_BYTES_MAX {
                return Err(Error::InvalidKey { bytes: key.len() });
            }
        }
        let after = self.after.clone().map_or(Bound::Unbounded, Bound::Excluded);
        let (after, before) = if self.is_reverse { (Bound::Unbounded, after) } else { (after, Bound::Unbounded) };
        let from = self.from.clone().map_or(Bound::Unbounded, Bound::Included);
        let to = self.to.clone().map_or(Bound::Unbounded, Bound::Excluded);
        let (prefix, prefix_end) = match &self.prefix {
            None => (Bound::Unbounded, Bound::Unbounded),
            Some(prefix) => (Bound::Included(prefix.clone()), successor(prefix).map_or(Bound::Unbounded, Bound::Excluded)),
        };
        let lower = higher_start(higher_start(after, from), prefix);
        let upper = lower_end(lower_end(before, to), prefix_end);
        Ok((!is_empty(&lower, &upper)).then_some((lower, upper)))
    }
}

/// The first byte string after all those with the prefix `prefix`; `None` if there is none.
fn successor(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|byte| *byte != u8::MAX)?;
    let mut successor = prefix[..=last].to_vec();
    successor[last] += 1;
    Some(successor)
}

fn higher_start(a: Bound<Vec<u8>>, b: Bound<Vec<u8>>) -> Bound<Vec<u8>> {
    match (key(&a), key(&b)) {
        (None, _) => b,
        (_, None) => a,
        (Some(x), Some(y)) if x > y || (x == y && matches!(a, Bound::Excluded(_))) => a,
        _ => b,
    }
}

fn lower_end(a: Bound<Vec<u8>>, b: Bound<Vec<u8>>) -> Bound<Vec<u8>> {
    match (key(&a), key(&b)) {
        (None, _) => b,
        (_, None) => a,
        (Some(x), Some(y)) if x < y || (x == y && matches!(a, Bound::Excluded(_))) => a,
        _ => b,
    }
}

fn key(bound: &Bound<Vec<u8>>) -> Option<&[u8]> {
    match bound {
        Bound::Included(key) | Bound::Excluded(key) => Some(key),
        Bound::Unbounded => None,
    }
}

fn is_empty(lower: &Bound<Vec<u8>>, upper: &Bound<Vec<u8>>) -> bool {
    match (lower, upper) {
        (Bound::Included(lower), Bound::Included(upper)) => lower > upper,
        (Bound::Unbounded, _) | (_, Bound::Unbounded) => false,
        (Bound::Included(lower) | Bound::Excluded(lower), Bound::Included(upper) | Bound::Excluded(upper)) => lower >= upper,
    }
}

/// Called by a walk for each key and stored value; `false` ends it.
pub(super) type Visit<'v> = dyn FnMut(&[u8], &[u8]) -> Result<bool, Error> + 'v;

/// Walks the entries of `table` between `bounds`.
pub(super) fn walk(
    tree: Tree,
    txn: &RoTxn<'_, AnyTls>,
    table: TableId,
    bounds: &Bounds,
    is_reverse: bool,
    visit: &mut Visit<'_>,
) -> Result<(), Error> {
    let bounds = in_tree(table, bounds);
    let bounds = (bounds.0.as_ref().map(Vec::as_slice), bounds.1.as_ref().map(Vec::as_slice));
    let mut visit = |entry: heed::Result<(&[u8], &[u8])>| {
        let (key, value) = entry?;
        visit(&key[2..], value)
    };
    if is_reverse {
        for entry in tree.rev_range(txn, &bounds)? {
            if !visit(entry)? {
                break;
            }
        }
    } else {
        for entry in tree.range(txn, &bounds)? {
            if !visit(entry)? {
                break;
            }
        }
    }
    Ok(())
}

fn in_tree(table: TableId, (lower, upper): &Bounds) -> Bounds {
    let full = |key: &Vec<u8>| [&table.0.to_be_bytes(), key.as_slice()].concat();
    let lower = match lower.as_ref().map(full) {
        Bound::Unbounded => Bound::Included(table.0.to_be_bytes().to_vec()),
        bound => bound,
    };
    let upper = match upper.as_ref().map(full) {
        Bound::Unbounded => Bound::Excluded(table.next().0.to_be_bytes().to_vec()),
        bound => bound,
    };
    (lower, upper)
}
