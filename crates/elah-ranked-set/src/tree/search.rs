//! The search within a node.

use super::keys::Keys;
use crate::members::Members;
use crate::point::Point;

/// The number of entries before `point` among sorted ones, whose keys have `width` words.
///
/// What comes first by the first word alone is counted without a branch, by every eighth word and then by eight: the loads of a step do not wait
/// for each other, as those of a search by halves do, and most of what a large set takes is waiting for memory. Halves decide among the others.
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
