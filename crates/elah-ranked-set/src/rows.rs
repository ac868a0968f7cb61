//! Members in the order of their ranks: by position, around a member, after a cursor.

use std::ops::Range;

use super::error::Error;
use super::order::Scores;
use super::point::Point;
use super::rank::{Rank, Style};
use super::tree::Place;
use super::{RankedSet, cursor};

/// The current data of a member.
#[derive(Clone, Debug, PartialEq)]
pub struct Row<'s> {
    /// The member's name.
    pub name: &'s [u8],
    /// The rank, in the requested style.
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
    /// The rank shared by members with the score of the last row, unless each has its own.
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
        if let Some(next) = self.next {
            self.bring(place, next);
        }
        let name = set.members.name(set.tree.handle(place));
        Some(Row { name, rank, scores: set.scores_at(place) })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let rows = self.end - self.position;
        (rows, Some(rows))
    }
}

impl ExactSizeIterator for Rows<'_> {}

/// How many names ahead are prefetched.
const AHEAD: usize = 12;

impl<'s> Rows<'s> {
    fn new(set: &'s RankedSet, first: Option<Place>, position: usize, end: usize, style: Style) -> Self {
        let rows = Rows { set, next: first, position, end, style, shared: None };
        if let Some(first) = first {
            rows.bring_first(first);
        }
        rows
    }

    /// Prefetches the first names of a leaf, or those from a place on.
    fn bring_first(&self, place: Place) {
        let names = self.set.tree.handles_from(place, AHEAD.min(self.end - self.position));
        names.iter().for_each(|handle| self.set.members.prefetch_name(*handle));
    }

    /// Prefetches what follows `place`: the name `AHEAD` places on, or the beginning of a new leaf.
    fn bring(&self, place: Place, next: Place) {
        if next.leaf != place.leaf {
            return self.bring_first(next);
        }
        if self.position + AHEAD <= self.end
            && let [.., last] = self.set.tree.handles_from(next, AHEAD)
        {
            self.set.members.prefetch_name(*last);
        }
    }
}

impl RankedSet {
    /// The members at these positions, counted from 0; skips positions beyond the end.
    pub fn rows(&self, positions: Range<usize>, style: Style) -> Rows<'_> {
        let end = positions.end.min(self.len());
        let position = positions.start.min(end);
        let next = (position < end).then(|| self.tree.select(position));
        Rows::new(self, next, position, end, style)
    }

    /// A member with up to `distance` members before and after it.
    pub fn rows_around(&self, name: &[u8], distance: usize, style: Style) -> Option<Rows<'_>> {
        let place = self.place_of(name)?;
        let (first, before) = self.tree.back(place, distance);
        let behind = distance.saturating_add(1);
        // The names arrive in the cache while the position is counted.
        let names = self.tree.handles_from(first, AHEAD.min(behind.saturating_add(before)));
        names.iter().for_each(|handle| self.members.prefetch_name(*handle));
        let position = self.tree.position(place);
        let end = position.saturating_add(behind).min(self.len());
        Some(Rows { set: self, next: Some(first), position: position - before, end, style, shared: None })
    }

    /// The row of a member.
    pub fn row_of(&self, name: &[u8], style: Style) -> Option<Row<'_>> {
        let (member, place) = self.find(name, self.members.tag(name))?;
        let (name, rank) = (self.members.name(member.handle), self.rank_of(place, style));
        Some(Row { name, rank, scores: self.scores_at(place) })
    }

    /// The positions of a member, of up to `distance` before it and of up to `distance` behind it.
    pub fn around(&self, name: &[u8], distance: usize) -> Option<Range<usize>> {
        let position = self.position(name)?;
        Some(position.saturating_sub(distance)..position.saturating_add(distance).saturating_add(1).min(self.len()))
    }

    /// The cursor of a member: opaque bytes.
    pub fn cursor(&self, name: &[u8]) -> Option<Vec<u8>> {
        let place = self.place_of(name)?;
        Some(cursor::encode(&self.order, self.tree.key(place).words(), name))
    }

    /// The positions of up to `limit` members after a cursor.
    ///
    /// A member that does not move between two pages is on exactly one of them; one that moves is at its new position. The member
    /// of the cursor may have moved or been removed.
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
