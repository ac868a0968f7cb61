//! Members in the order of their ranks: by position, around a member, behind a cursor.

use std::ops::Range;

use super::error::Error;
use super::key::{Point, score_words};
use super::order::Scores;
use super::rank::{Rank, Style};
use super::tree::Place;
use super::{RankedSet, cursor};

/// A member as it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Row<'s> {
    /// The member's name.
    pub name: &'s [u8],
    /// The rank, in the style that was asked for.
    pub rank: Rank,
    /// The score.
    pub scores: Scores,
}

/// Members one after the other.
pub struct Rows<'s> {
    set: &'s RankedSet,
    next: Option<Place>,
    position: usize,
    end: usize,
    style: Style,
    /// The rank of those with the score of the last row, unless each has its own.
    shared: Option<Rank>,
}

impl<'s> Iterator for Rows<'s> {
    type Item = Row<'s>;

    fn next(&mut self) -> Option<Row<'s>> {
        let place = self.next.filter(|_| self.position < self.end)?;
        let set = self.set;
        if set.tree.is_head(place) {
            self.shared = None;
        }
        let rank = self.shared.unwrap_or_else(|| set.rank_at(place, self.position, self.style));
        self.shared = (self.style != Style::Ordinal).then_some(rank);
        self.next = set.tree.next(place);
        self.position += 1;
        let name = set.members.name(set.tree.handle(place));
        Some(Row { name, rank, scores: set.order.scores(score_words(set.tree.key(place))) })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let rows = self.end - self.position;
        (rows, Some(rows))
    }
}

impl ExactSizeIterator for Rows<'_> {}

impl RankedSet {
    /// The members at these positions, counted from 0; positions that nobody has are left out.
    pub fn rows(&self, positions: Range<usize>, style: Style) -> Rows<'_> {
        let end = positions.end.min(self.len());
        let position = positions.start.min(end);
        let next = (position < end).then(|| self.tree.select(position));
        Rows { set: self, next, position, end, style, shared: None }
    }

    /// The row of a member.
    pub fn row_of(&self, name: &[u8], style: Style) -> Option<Row<'_>> {
        let handle = self.members.find(name)?;
        let place = self.tree.place(handle, &self.members);
        let (name, rank) = (self.members.name(handle), self.rank_of(place, style));
        Some(Row { name, rank, scores: self.order.scores(score_words(self.tree.key(place))) })
    }

    /// The positions of a member, of up to `distance` before it and of up to `distance` behind it.
    pub fn around(&self, name: &[u8], distance: usize) -> Option<Range<usize>> {
        let position = self.position(name)?;
        Some(position.saturating_sub(distance)..position.saturating_add(distance).saturating_add(1).min(self.len()))
    }

    /// The cursor of a member: opaque bytes.
    pub fn cursor(&self, name: &[u8]) -> Option<Vec<u8>> {
        let place = self.find(name)?;
        Some(cursor::encode(&self.order, self.tree.key(place), name))
    }

    /// The positions of up to `limit` members behind a cursor.
    ///
    /// A member that does not move between two pages is on exactly one of them; one that moves is where it then stands. The
    /// member that a cursor was made from may have moved or gone.
    ///
    /// # Errors
    /// `InvalidCursor`.
    pub fn after(&self, cursor: &[u8], limit: usize) -> Result<Range<usize>, Error> {
        let cursor = cursor::decode(&self.order, cursor)?;
        let start = self.tree.count_before(Point::past(cursor.key.words(), cursor.name), &self.members);
        Ok(start..start.saturating_add(limit).min(self.len()))
    }

    /// The positions of up to `limit` members before a cursor.
    ///
    /// # Errors
    /// `InvalidCursor`.
    pub fn before(&self, cursor: &[u8], limit: usize) -> Result<Range<usize>, Error> {
        let cursor = cursor::decode(&self.order, cursor)?;
        let end = self.tree.count_before(Point::at(cursor.key.words(), cursor.name), &self.members);
        Ok(end.saturating_sub(limit)..end)
    }
}
