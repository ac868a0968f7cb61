//! Histograms of the first component, divided at given numbers or into equal parts.

use super::RankedSet;
use super::error::Error;

/// Members whose first component is at least `from` and less than `to`; a missing end is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// The smallest number in it.
    pub from: Option<i64>,
    /// The smallest number above it.
    pub to: Option<i64>,
    /// The number of members.
    pub count: usize,
}

impl RankedSet {
    /// The members below, between and above these numbers, which are sorted first; equal ones count once.
    ///
    /// # Errors
    /// None that depend on the numbers.
    pub fn histogram(&self, bounds: &[i64]) -> Result<Vec<Bucket>, Error> {
        let mut bounds = bounds.to_vec();
        bounds.sort_unstable();
        bounds.dedup();
        let ends: Vec<Option<i64>> = [None].into_iter().chain(bounds.into_iter().map(Some)).chain([None]).collect();
        ends.windows(2).map(|ends| self.bucket(ends[0], ends[1])).collect()
    }

    /// Parts of equal width between the smallest and the largest score; the last may be narrower. There are fewer parts if there
    /// are fewer scores, and none for an empty set.
    ///
    /// # Errors
    /// None that depend on the number.
    pub fn equal_histogram(&self, buckets: usize) -> Result<Vec<Bucket>, Error> {
        let Some((min, max)) = self.extremes().filter(|_| buckets > 0) else { return Ok(Vec::new()) };
        let values = i128::from(max) - i128::from(min) + 1;
        let width = values.div_euclid(buckets as i128) + i128::from(values.rem_euclid(buckets as i128) > 0);
        let mut parts = Vec::new();
        let mut from = i128::from(min);
        while from <= i128::from(max) {
            let to = from + width;
            // The end of the last part may exceed 64 bits; then it is open.
            parts.push(self.bucket(i64::try_from(from).ok(), i64::try_from(to).ok())?);
            from = to;
        }
        Ok(parts)
    }

    /// The smallest and the largest first component.
    fn extremes(&self) -> Option<(i64, i64)> {
        let ends = [0, self.len().checked_sub(1)?].map(|position| self.standing_at(self.tree.select(position)).scores[0]);
        Some((ends[0].min(ends[1]), ends[0].max(ends[1])))
    }

    fn bucket(&self, from: Option<i64>, to: Option<i64>) -> Result<Bucket, Error> {
        let count = self.span(from.as_ref().map(std::slice::from_ref), to.as_ref().map(std::slice::from_ref), true)?.len();
        Ok(Bucket { from, to, count })
    }
}
