//! The five styles of rank, each computed on demand from one structure.

use super::RankedSet;
use super::tree::Place;

/// How ranks are numbered. The examples have four members, of whom the second and third have the same score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// 1 2 3 4: every member has its own rank; ties decide.
    Ordinal,
    /// 1 2 2 3: the number of better scores, plus 1.
    Dense,
    /// 1 2 2 4: the number of better members, plus 1.
    Competition,
    /// 1 3 3 4: the number of members that are as good or better.
    Modified,
    /// 1 2.5 2.5 4: the mean of the ordinal ranks of those with the score.
    Fractional,
}

/// A rank, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rank {
    /// Of every style but `Fractional`.
    Whole(usize),
    /// Of `Fractional`: a whole number or a half. Exact for all sets that fit into memory.
    Mean(f64),
}

impl RankedSet {
    /// The rank of the entry at `place`.
    #[inline]
    pub(super) fn rank_of(&self, place: Place, style: Style) -> Rank {
        match style {
            Style::Dense => Rank::Whole(self.tree.scores_through(place)),
            _ => self.rank_at(place, self.tree.position(place), style),
        }
    }

    /// The rank of the entry at `place`, which has `position` entries before it.
    pub(super) fn rank_at(&self, place: Place, position: usize, style: Style) -> Rank {
        let number = || self.tree.scores_through(place);
        match style {
            Style::Ordinal => Rank::Whole(position + 1),
            Style::Dense => Rank::Whole(number()),
            Style::Competition => Rank::Whole(self.tree.score_position(number() - 1) + 1),
            Style::Modified => Rank::Whole(self.tree.score_position(number())),
            Style::Fractional => {
                let number = number();
                let (first, last) = (self.tree.score_position(number - 1) + 1, self.tree.score_position(number));
                Rank::Mean((first + last) as f64 / 2.0)
            }
        }
    }
}
