//! A plainly correct ranked set: a list that is sorted anew for each question.

use std::cmp::Ordering;
use std::ops::Range;

use elah_ranked_set::{Component, Direction, Operator, Order, Rank, RankedSet, Standing, Style, Ties};

pub const STYLES: [Style; 5] = [Style::Ordinal, Style::Dense, Style::Competition, Style::Modified, Style::Fractional];

#[derive(Clone, Debug)]
pub struct Member {
    pub name: Vec<u8>,
    pub scores: Vec<i64>,
    pub sequence: u64,
}

#[derive(Clone)]
pub struct Model {
    pub directions: Vec<Direction>,
    pub ties: Ties,
    pub members: Vec<Member>,
    next_sequence: u64,
}

/// An order whose components all have two decimals.
pub fn order(directions: &[Direction], ties: Ties) -> Order {
    let components = directions.iter().map(|direction| Component { direction: *direction, decimals: 2 }).collect();
    Order::new(components, ties).expect("a valid order")
}

impl Model {
    pub fn new(directions: &[Direction], ties: Ties) -> Self {
        Model { directions: directions.to_vec(), ties, members: Vec::new(), next_sequence: 1 }
    }

    /// `Less` when the first score ranks first.
    pub fn compare_scores(&self, a: &[i64], b: &[i64]) -> Ordering {
        let both = self.directions.iter().zip(a.iter().zip(b));
        both.map(|(direction, (a, b))| if *direction == Direction::Ascending { a.cmp(b) } else { b.cmp(a) })
            .find(|ordering| ordering.is_ne())
            .unwrap_or(Ordering::Equal)
    }

    fn compare(&self, a: &Member, b: &Member) -> Ordering {
        let tie = match self.ties {
            Ties::Earliest => a.sequence.cmp(&b.sequence),
            Ties::Member => Ordering::Equal,
        };
        self.compare_scores(&a.scores, &b.scores).then(tie).then_with(|| a.name.cmp(&b.name))
    }

    pub fn sorted(&self) -> Vec<&Member> {
        let mut members: Vec<&Member> = self.members.iter().collect();
        members.sort_by(|a, b| self.compare(a, b));
        members
    }

    pub fn find(&self, name: &[u8]) -> Option<&Member> {
        self.members.iter().find(|member| member.name == name)
    }

    /// Ranks by their definitions.
    pub fn rank(&self, name: &[u8], style: Style) -> Option<Rank> {
        let member = self.find(name)?;
        let better = self.members.iter().filter(|other| self.compare_scores(&other.scores, &member.scores).is_lt());
        let better_count = better.clone().count();
        let equal = self.members.iter().filter(|other| other.scores == member.scores).count();
        Some(match style {
            Style::Ordinal => Rank::Whole(self.members.iter().filter(|other| self.compare(other, member).is_lt()).count() + 1),
            Style::Dense => {
                let mut scores: Vec<_> = better.map(|other| other.scores.clone()).collect();
                scores.sort();
                scores.dedup();
                Rank::Whole(scores.len() + 1)
            }
            Style::Competition => Rank::Whole(better_count + 1),
            Style::Modified => Rank::Whole(better_count + equal),
            Style::Fractional => Rank::Mean(better_count as f64 + (equal as f64 + 1.0) / 2.0),
        })
    }

    /// Whether anything changed.
    pub fn submit(&mut self, name: &[u8], scores: &[i64], operator: Operator) -> bool {
        let old = self.find(name).map(|member| member.scores.clone());
        let new = match &old {
            None => scores.to_vec(),
            Some(old) => match operator {
                Operator::Best if self.compare_scores(scores, old).is_lt() => scores.to_vec(),
                Operator::Min => old.as_slice().min(scores).to_vec(),
                Operator::Max => old.as_slice().max(scores).to_vec(),
                Operator::Set | Operator::Last => scores.to_vec(),
                Operator::Increment => old.iter().zip(scores).map(|(old, by)| old + by).collect(),
                Operator::Best => old.clone(),
            },
        };
        if old.as_ref() == Some(&new) && operator != Operator::Last {
            return false;
        }
        self.members.retain(|member| member.name != name);
        let sequence = if self.ties == Ties::Earliest { self.next_sequence } else { 0 };
        self.next_sequence += 1;
        self.members.push(Member { name: name.to_vec(), scores: new, sequence });
        old.is_none() || old.as_deref() != Some(scores) || self.ties == Ties::Earliest || operator != Operator::Last
    }

    pub fn delete(&mut self, name: &[u8]) -> bool {
        let before = self.members.len();
        self.members.retain(|member| member.name != name);
        self.members.len() < before
    }

    /// Restores a member's earlier standing.
    pub fn restore(&mut self, name: &[u8], standing: Option<Standing>) {
        self.delete(name);
        if let Some(Standing { scores, sequence }) = standing {
            self.members.push(Member { name: name.to_vec(), scores: scores.to_vec(), sequence });
        }
    }

    /// The positions of the members with scores in a range, found by checking each.
    pub fn span(&self, from: Option<i64>, to: Option<i64>, excludes_to: bool) -> Range<usize> {
        let is_in = |member: &&Member| {
            let first = member.scores[0];
            let is_below = to.is_none_or(|to| first < to || !excludes_to && first == to);
            from.is_none_or(|from| first >= from) && is_below
        };
        let is_before = |member: &&Member| {
            let first = member.scores[0];
            match self.directions[0] {
                Direction::Ascending => from.is_some_and(|from| first < from),
                Direction::Descending => to.is_some_and(|to| first > to || excludes_to && first == to),
            }
        };
        let start = self.members.iter().filter(is_before).count();
        start..start + self.members.iter().filter(is_in).count()
    }

    /// Compares everything that can be read.
    pub fn check(&self, set: &RankedSet) {
        let sorted = self.sorted();
        assert_eq!(set.len(), sorted.len());
        for style in STYLES {
            let rows: Vec<_> = set.rows(0..usize::MAX, style).map(|row| (row.name, row.scores.to_vec())).collect();
            let expected: Vec<_> = sorted.iter().map(|member| (&member.name[..], member.scores.clone())).collect();
            assert_eq!(rows, expected);
        }
        let mut scores: Vec<_> = sorted.iter().map(|member| &member.scores).collect();
        scores.dedup();
        assert_eq!(set.scores(), scores.len());
    }

    /// Compares all ranks of some members: of each `step`th.
    pub fn check_ranks(&self, set: &RankedSet, step: usize) {
        for (position, member) in self.sorted().into_iter().enumerate().step_by(step) {
            assert_eq!(set.position(&member.name), Some(position));
            for style in STYLES {
                let rank = self.rank(&member.name, style);
                assert_eq!(set.rank(&member.name, style), rank, "{style:?}");
                assert_eq!(set.rows(position..position + 1, style).next().map(|row| row.rank), rank, "{style:?}");
                assert_eq!(set.row_of(&member.name, style).map(|row| row.rank), rank, "{style:?}");
            }
            let standing = Standing { scores: member.scores.iter().copied().collect(), sequence: member.sequence };
            assert_eq!(set.standing(&member.name), Some(standing));
        }
    }
}
