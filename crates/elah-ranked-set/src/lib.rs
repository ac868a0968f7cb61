//! An ordered set with ranks. Inserting, changing and removing a member, its rank, the member at a rank and the number of members
//! in a range of scores all take logarithmic time.
//!
//! Scores are exact: signed 64-bit integers, or decimals with a fixed number of digits, of one or several components that are
//! compared in order. One structure serves every style of rank, because it counts members and distinct scores.

mod arena;
mod batch;
mod bounds;
mod chunks;
mod cursor;
mod decimal;
mod error;
mod histogram;
mod index;
mod json;
mod key;
mod load;
mod members;
pub mod number;
mod operator;
mod order;
mod point;
mod rank;
mod records;
mod row;
mod rows;
mod tree;

use std::ops::Range;

pub use bounds::{COMPONENTS_MAX, CURSOR_BYTES_MAX, DECIMALS_MAX, MEMBER_BYTES_MAX, PREFIX_BYTES_MAX, ROW_KEY_BYTES_MAX};
pub use error::Error;
pub use json::name_text;
pub use load::LoadError;
pub use operator::Operator;
pub use order::{Component, Direction, Order, Scores, Ties};
pub use rank::{Rank, Style};
pub use rows::{Row, Rows};

use key::{Key, score_words};
use members::{Member, Members};
use point::Point;
use tree::{Place, Tree};

/// See the module.
pub struct RankedSet {
    order: Order,
    members_max: usize,
    tree: Tree,
    members: Members,
    next_sequence: u64,
    version: u64,
}

/// The score of a member, and its place among equal scores.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The score.
    pub scores: Scores,
    /// When the score was reached, as a number of the set's writes; 0 in a set whose ties are decided by the name.
    pub sequence: u64,
}

impl Standing {
    /// Appends the value of the row that holds the standing in a store.
    pub fn write_row(&self, out: &mut Vec<u8>, order: &Order, name: &[u8]) {
        row::write_value(out, order, name, &self.scores, self.sequence);
    }
}

/// The effect of a submission, or `None` for a member whose standing stays. Deciding changes nothing in the set.
pub type Decision = Option<Standing>;

/// The result of a write.
#[derive(Clone, Debug, PartialEq)]
pub struct Submission {
    /// The rank after it.
    pub rank: Rank,
    /// The rank before it, of an existing member.
    pub previous_rank: Option<Rank>,
    /// The standing after it.
    pub standing: Standing,
    /// The standing before it, of an existing member.
    pub previous: Option<Standing>,
    /// Whether the standing was changed.
    pub is_changed: bool,
}

impl RankedSet {
    /// An empty set that refuses submissions of new members from `members_max` members on. What is stored already is always
    /// accepted: loaded, placed and restored members may exceed it.
    pub fn new(order: Order, members_max: usize) -> Self {
        let tree = Tree::new(order.components().len() + 1);
        // The numbers of members and handles have 32 bits.
        let members_max = members_max.min(u32::MAX as usize - 1);
        RankedSet { order, members_max, tree, members: Members::new(), next_sequence: 1, version: 0 }
    }

    /// The order of the set.
    pub fn order(&self) -> &Order {
        &self.order
    }

    /// The number of members.
    pub fn len(&self) -> usize {
        self.tree.len()
    }

    /// Whether there are no members.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of distinct scores.
    pub fn scores(&self) -> usize {
        self.tree.scores()
    }

    /// A number that grows with each change.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Memory that the set has allocated, in bytes.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + self.tree.bytes() + self.members.bytes()
    }

    /// The bytes of the members' names, a part of `bytes`.
    pub fn name_bytes(&self) -> usize {
        self.members.name_bytes()
    }

    /// A member and its place. The waits for the name and the leaf overlap, mostly before the name is known to match.
    #[inline]
    fn find(&self, name: &[u8], tag: u32) -> Option<(Member, Place)> {
        let member = self.members.find(name, tag, |member| self.tree.prefetch(member.leaf))?;
        Some((member, self.tree.place(member)))
    }

    #[inline]
    fn place_of(&self, name: &[u8]) -> Option<Place> {
        self.find(name, self.members.tag(name)).map(|(_, place)| place)
    }

    /// The same for a member that will probably get these scores: prefetches the leaf where they belong.
    fn find_to_change(&self, name: &[u8], scores: &[i64]) -> (u32, Option<(Member, Place)>) {
        let tag = self.members.near_tag(name);
        self.tree.prefetch_for(Key::new(self.order.words(scores)).words(), &self.members);
        let member = self.members.find(name, tag, |member| self.tree.prefetch_all(member.leaf));
        (tag, member.map(|member| (member, self.tree.place(member))))
    }

    fn standing_at(&self, place: Place) -> Standing {
        self.tree.read_key(place, |key| Standing {
            scores: self.order.scores(score_words(key).iter().copied()),
            sequence: self.order.sequence(key),
        })
    }

    fn scores_at(&self, place: Place) -> Scores {
        self.tree.read_key(place, |key| self.order.scores(score_words(key).iter().copied()))
    }

    /// The standing of a member.
    pub fn standing(&self, name: &[u8]) -> Option<Standing> {
        self.place_of(name).map(|place| self.standing_at(place))
    }

    /// The rank of a member.
    pub fn rank(&self, name: &[u8], style: Style) -> Option<Rank> {
        self.place_of(name).map(|place| self.rank_of(place, style))
    }

    /// The number of members that rank before a member.
    pub fn position(&self, name: &[u8]) -> Option<usize> {
        self.place_of(name).map(|place| self.tree.position(place))
    }

    /// The number of members with a better score than a member.
    pub fn better_than(&self, name: &[u8]) -> Option<usize> {
        let place = self.place_of(name)?;
        Some(self.tree.score_position(self.tree.scores_through(place) - 1))
    }

    /// The effect of a submission, without applying it. The sequence is the one that `place` will assign.
    ///
    /// # Errors
    /// `WrongComponents`, `MemberTooLong`, `Full`, and `OutOfRange` for a sum.
    pub fn decide(&mut self, name: &[u8], scores: &[i64], operator: Operator) -> Result<Decision, Error> {
        self.check(name, scores)?;
        let place = self.place_of(name);
        let decided = self.decide_at(place, scores, operator)?;
        Ok(decided.map(|scores| Standing { scores, sequence: self.take_sequence() }))
    }

    fn check(&self, name: &[u8], scores: &[i64]) -> Result<(), Error> {
        self.order.check(scores)?;
        match name.len() <= MEMBER_BYTES_MAX {
            true => Ok(()),
            false => Err(Error::MemberTooLong { bytes: name.len() }),
        }
    }

    fn decide_at(&self, place: Option<Place>, scores: &[i64], operator: Operator) -> Result<Option<Scores>, Error> {
        match place {
            Some(place) => {
                let ranks_first =
                    || self.tree.read_key(place, |key| self.order.words(scores).lt(score_words(key).iter().copied()));
                operator.apply(self.order.components(), &self.scores_at(place), scores, ranks_first)
            }
            None => self.check_room(self.members_max).map(|()| Some(Scores::from_slice(scores))),
        }
    }

    fn check_room(&self, members_max: usize) -> Result<(), Error> {
        match self.len() < members_max && self.members.has_room() {
            true => Ok(()),
            false => Err(Error::Full { members: self.len() }),
        }
    }

    fn take_sequence(&mut self) -> u64 {
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        match self.order.ties() {
            Ties::Earliest => sequence,
            Ties::Member => 0,
        }
    }

    /// Decides and applies a submission.
    ///
    /// # Errors
    /// Those of [`RankedSet::decide`]. Then nothing has changed.
    pub fn submit(&mut self, name: &[u8], scores: &[i64], operator: Operator, style: Style) -> Result<Submission, Error> {
        self.submit_stored(name, scores, operator, style, |_| Ok(()))
    }

    /// Decides a submission, passes the new standing to `store`, and applies it. An unchanged standing is not stored.
    ///
    /// # Errors
    /// Those of [`RankedSet::decide`] and of `store`. Then nothing has changed.
    pub fn submit_stored<E: From<Error>>(
        &mut self,
        name: &[u8],
        scores: &[i64],
        operator: Operator,
        style: Style,
        store: impl FnOnce(&Standing) -> Result<(), E>,
    ) -> Result<Submission, E> {
        self.check(name, scores)?;
        let (tag, found) = self.find_to_change(name, scores);
        let decided = self.decide_at(found.map(|(_, place)| place), scores, operator)?;
        let standing = decided.map(|scores| Standing { scores, sequence: self.take_sequence() });
        standing.as_ref().map_or(Ok(()), store)?;
        Ok(self.put(name, tag, found, standing, style))
    }

    /// Sets a member's standing: one that was decided, or an earlier one. `members_max` does not apply: the standing may be
    /// stored by now, and other members may have been placed since it was decided.
    ///
    /// # Errors
    /// `WrongComponents` and `MemberTooLong`; `Full` when 32 bits have no more handles.
    pub fn place(&mut self, name: &[u8], standing: Standing, style: Style) -> Result<Submission, Error> {
        self.check(name, &standing.scores)?;
        let (tag, found) = self.find_to_change(name, &standing.scores);
        if found.is_none() {
            self.check_room(usize::MAX)?;
        }
        self.next_sequence = self.next_sequence.max(standing.sequence.saturating_add(1));
        Ok(self.put(name, tag, found, Some(standing), style))
    }

    fn put(
        &mut self,
        name: &[u8],
        tag: u32,
        found: Option<(Member, Place)>,
        standing: Option<Standing>,
        style: Style,
    ) -> Submission {
        let previous = found.map(|(_, place)| self.standing_at(place));
        let Some(standing) = standing.filter(|standing| previous.as_ref() != Some(standing)) else {
            return self.unchanged(found, previous, style);
        };
        self.version += 1;
        let key = self.order.key(&standing.scores, standing.sequence, name);
        let (place, position, previous_rank) = match found {
            Some((member, place)) => {
                let rank = (style != Style::Ordinal).then(|| self.rank_at(place, self.tree.position(place), style));
                let before = self.tree.remove(place, &mut self.members);
                let (place, position) = self.tree.insert(key.words(), member.handle, &mut self.members);
                if place.leaf != member.leaf {
                    self.members.set_leaf(tag, Member { leaf: place.leaf, ..member });
                }
                (place, position, Some(rank.unwrap_or(Rank::Whole(before + 1))))
            }
            None => {
                let handle = self.members.add(name);
                let (place, position) = self.tree.insert(key.words(), handle, &mut self.members);
                self.members.enter(tag, Member { handle, leaf: place.leaf });
                (place, position, None)
            }
        };
        let rank = self.rank_at(place, position, style);
        Submission { rank, previous_rank, standing, previous, is_changed: true }
    }

    fn unchanged(&self, found: Option<(Member, Place)>, previous: Option<Standing>, style: Style) -> Submission {
        let rank = found.map(|(_, place)| self.rank_at(place, self.tree.position(place), style));
        let standing = previous.clone().unwrap_or(Standing { scores: Scores::new(), sequence: 0 });
        Submission { rank: rank.unwrap_or(Rank::Whole(0)), previous_rank: rank, standing, previous, is_changed: false }
    }

    /// Removes a member, and returns its standing.
    pub fn delete(&mut self, name: &[u8]) -> Option<Standing> {
        let tag = self.members.tag(name);
        let (member, place) = self.find(name, tag)?;
        let standing = self.standing_at(place);
        self.tree.remove(place, &mut self.members);
        self.members.remove(tag, member.handle);
        self.version += 1;
        Some(standing)
    }

    /// Removes all members. Sequences continue.
    pub fn clear(&mut self) {
        self.tree = Tree::new(self.order.components().len() + 1);
        self.members = Members::new();
        self.version += 1;
    }

    /// The positions of the members whose scores are between two ends, either of which may be missing. `from` is the numerically
    /// smaller one; with `excludes_to` the range ends before `to`. Ends of several components are compared in the set's order,
    /// and may omit components at the end.
    ///
    /// # Errors
    /// `WrongComponents` if an end has no component, or more than the set's scores.
    pub fn span(&self, from: Option<&[i64]>, to: Option<&[i64]>, excludes_to: bool) -> Result<Range<usize>, Error> {
        let from = from.map(|scores| self.bound(scores)).transpose()?;
        let to = to.map(|scores| self.bound(scores)).transpose()?;
        let before = |end: &Key| self.tree.count_before(Point::before(end.words()), &self.members);
        let after = |end: &Key| self.tree.count_before(Point::after(end.words()), &self.members);
        let (start, end) = match (self.order.components()[0].direction, excludes_to) {
            (Direction::Ascending, true) => (from.as_ref().map(before), to.as_ref().map(before)),
            (Direction::Ascending, false) => (from.as_ref().map(before), to.as_ref().map(after)),
            (Direction::Descending, true) => (to.as_ref().map(after), from.as_ref().map(after)),
            (Direction::Descending, false) => (to.as_ref().map(before), from.as_ref().map(after)),
        };
        let start = start.unwrap_or(0);
        Ok(start..end.unwrap_or(self.len()).max(start))
    }

    fn bound(&self, scores: &[i64]) -> Result<Key, Error> {
        if scores.is_empty() || scores.len() > self.order.components().len() {
            return self.order.check(scores).map(|()| Key::new([]));
        }
        Ok(Key::new(self.order.words(scores)))
    }

    /// The key and the value of the row that holds a standing in a store. `prefix` has up to `PREFIX_BYTES_MAX` bytes.
    pub fn row(&self, prefix: &[u8], name: &[u8], standing: &Standing) -> (Vec<u8>, Vec<u8>) {
        let mut value = Vec::new();
        standing.write_row(&mut value, &self.order, name);
        (row::key(prefix, name), value)
    }

    /// The key of a member's row in a store.
    pub fn row_key(prefix: &[u8], name: &[u8]) -> Vec<u8> {
        row::key(prefix, name)
    }

    /// Appends the key of a member's row in a store.
    ///
    /// # Errors
    /// `PrefixTooLong`.
    pub fn write_row_key(out: &mut Vec<u8>, prefix: &[u8], name: &[u8]) -> Result<(), Error> {
        if prefix.len() > PREFIX_BYTES_MAX {
            return Err(Error::PrefixTooLong { bytes: prefix.len() });
        }
        row::write_key(out, prefix, name);
        Ok(())
    }

    /// The standing in the value of a member's row.
    ///
    /// # Errors
    /// `InvalidRow`.
    pub fn read_row(&self, name: &[u8], value: &[u8]) -> Result<Standing, Error> {
        let key = row::key(&[], name);
        let row = row::decode(&self.order, &key[1..], value)?;
        Ok(Standing { scores: row.scores, sequence: row.sequence })
    }
}
