//! Operations on many members in one call. Every step runs for a group of members before the next step. So their waits for memory
//! overlap, and a set of a million members mostly waits for memory.

use super::RankedSet;
use super::error::Error;
use super::key::Key;
use super::members::{Group, TOGETHER};
use super::operator::Operator;
use super::order::Scores;
use super::rank::{Rank, Style};
use super::tree::Place;

impl RankedSet {
    /// The ranks of members, in their order.
    pub fn ranks(&self, names: &[&[u8]], style: Style) -> Vec<Option<Rank>> {
        let mut ranks = Vec::with_capacity(names.len());
        for names in names.chunks(TOGETHER) {
            let places = self.places(names);
            ranks.extend(places.iter().map(|place| place.map(|place| self.rank_of(place, style))));
        }
        ranks
    }

    fn places(&self, names: &[&[u8]]) -> Group<Option<Place>> {
        let tags: Group<u32> = names.iter().map(|name| self.members.near_tag(name)).collect();
        for member in tags.iter().filter_map(|tag| self.members.likely(*tag)) {
            self.members.prefetch_name(member.handle);
            self.tree.prefetch(member.leaf);
        }
        names.iter().zip(tags).map(|(name, tag)| self.find(name, tag)).map(|found| found.map(|(_, place)| place)).collect()
    }

    /// Submits scores in order, all of them or none, and returns how many changed the standing of their member.
    ///
    /// # Errors
    /// Those of [`RankedSet::submit`]. Then no standing has changed.
    pub fn submit_all(&mut self, submissions: &[(&[u8], Scores)], operator: Operator) -> Result<usize, Error> {
        let mut undo = Vec::with_capacity(submissions.len());
        for group in submissions.chunks(TOGETHER) {
            // Prefetches for each of them; a submission may move the others.
            let names: Group<&[u8]> = group.iter().map(|(name, _)| *name).collect();
            std::hint::black_box(self.places(&names));
            for (_, scores) in group.iter().filter(|(_, scores)| self.order.check(scores).is_ok()) {
                self.tree.prefetch_for(Key::new(self.order.words(scores)).words(), &self.members);
            }
            for (name, scores) in group {
                match self.submit(name, scores, operator, Style::Ordinal) {
                    Ok(done) if done.is_changed => undo.push((*name, done.previous)),
                    Ok(_) => {}
                    Err(error) => {
                        undo.into_iter().rev().for_each(|(name, previous)| self.restore(name, previous));
                        return Err(error);
                    }
                }
            }
        }
        Ok(undo.len())
    }

    fn restore(&mut self, name: &[u8], previous: Option<super::Standing>) {
        match previous {
            // It was there before, so there is room for it.
            Some(previous) => drop(self.place(name, previous, Style::Ordinal)),
            None => drop(self.delete(name)),
        }
    }
}
