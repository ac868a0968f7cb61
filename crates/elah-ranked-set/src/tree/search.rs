//! The search within a node.

use super::keys::Keys;
use crate::members::Members;
use crate::point::Point;

/// The number of entries before `point` among sorted ones with keys of `width` words.
///
/// Entries that differ in the first word are counted without a branch, first every eighth word and then eight words. The loads of
/// one step do not depend on each other, unlike those of a binary search, and a large set mostly waits for memory. A binary
/// search decides among the rest.
#[inline]
pub(super) fn entries_before(point: Point<'_>, members: &Members, keys: &Keys, width: usize, handles: &[u32]) -> usize {
    const STEP: usize = 8;
    let first = point.words[0];
    let near = keys.near(handles.len());
    let steps: usize = near.as_chunks::<STEP>().0.iter().map(|step| usize::from(step[STEP - 1][0] < first)).sum();
    let rest = &near[steps * STEP..near.len().min((steps + 1) * STEP)];
    let mut low = steps * STEP + rest.iter().map(|key| usize::from(key[0] < first)).sum::<usize>();
    let mut high = handles.len();
    if low < high && near[low][0] > first {
        return low;
    }
    while low < high {
        let middle = (low + high) / 2;
        if keys.read(middle, width, |key| point.follows(key, handles[middle], members)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}
