//! The combination of a submitted score with a member's current one.

use super::error::Error;
use super::number::text_of;
use super::order::{Component, Scores};

/// How a submission changes a member's score. A new member gets the submitted score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// Keeps the one that ranks first.
    Best,
    /// Replaces it. The same score again changes nothing, so the member keeps its place among equals.
    Set,
    /// Adds each component. An increment of 0 changes nothing.
    Increment,
    /// Keeps the smaller: the first component that differs decides, whatever its direction.
    Min,
    /// Keeps the larger: the first component that differs decides, whatever its direction.
    Max,
    /// Replaces it, and counts as reached now even if it is equal: the member moves behind its equals.
    Last,
}

impl Operator {
    /// The score after the submission, or `None` if nothing changes. `ranks_first` is whether the submitted score ranks first.
    pub(super) fn apply(
        self,
        components: &[Component],
        old: &[i64],
        submitted: &[i64],
        ranks_first: impl Fn() -> bool,
    ) -> Result<Option<Scores>, Error> {
        let replaces = match self {
            Operator::Best => ranks_first(),
            Operator::Set => submitted != old,
            Operator::Min => submitted < old,
            Operator::Max => submitted > old,
            Operator::Last => true,
            Operator::Increment => return sum(components, old, submitted).map(|sum| (sum.as_slice() != old).then_some(sum)),
        };
        Ok(replaces.then(|| Scores::from_slice(submitted)))
    }
}

fn sum(components: &[Component], old: &[i64], submitted: &[i64]) -> Result<Scores, Error> {
    let sums = components.iter().zip(old).zip(submitted).map(|((component, old), by)| {
        old.checked_add(*by).ok_or_else(|| {
            let decimals = component.decimals;
            Error::OutOfRange { text: format!("{} + {}", text_of(*old, decimals), text_of(*by, decimals)), decimals }
        })
    });
    sums.collect()
}
