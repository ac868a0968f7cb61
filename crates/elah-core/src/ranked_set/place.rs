//! The place of a member as bytes that sort as members rank, for ranked members that are kept elsewhere, in a database for example:
//! eight bytes for each component of the score, eight of the sequence when the earliest wins ties, and the name.

use super::order::{Order, Ties};
use super::rank::Rank;
use super::rows::Row;

const WORD_BYTES: usize = 8;

impl Order {
    /// The member of the ordinal rank `rank` whose place this is; `None` when it is too short for one.
    pub fn row_at<'p>(&self, place: &'p [u8], rank: usize) -> Option<Row<'p>> {
        let (scores, rest) = place.split_at_checked(self.components().len() * WORD_BYTES)?;
        let name = match self.ties() {
            Ties::Earliest => rest.split_at_checked(WORD_BYTES)?.1,
            Ties::Member => rest,
        };
        let words = scores.as_chunks::<WORD_BYTES>().0.iter().map(|word| u64::from_be_bytes(*word));
        Some(Row { name, rank: Rank::Whole(rank), scores: self.scores(words) })
    }
}

#[cfg(test)]
mod tests {
    use super::super::order::{Component, Direction};
    use super::*;

    fn order(directions: &[Direction], ties: Ties) -> Order {
        Order::new(directions.iter().map(|direction| Component { direction: *direction, decimals: 0 }).collect(), ties).unwrap()
    }

    fn place(order: &Order, scores: &[i64], sequence: Option<u64>, name: &str) -> Vec<u8> {
        let words = order.words(scores).chain(sequence);
        words.flat_map(u64::to_be_bytes).chain(name.bytes()).collect()
    }

    #[test]
    fn a_place_says_who_stands_there_with_which_score() {
        let order = order(&[Direction::Descending, Direction::Ascending], Ties::Earliest);
        for scores in [[0, 0], [i64::MIN, i64::MAX], [-7, 120]] {
            let place = place(&order, &scores, Some(5), "ann");
            let row = order.row_at(&place, 3).unwrap();
            assert_eq!((row.name, row.rank, row.scores.as_slice()), (b"ann".as_slice(), Rank::Whole(3), scores.as_slice()));
        }
    }

    #[test]
    fn places_sort_as_members_rank() {
        let order = order(&[Direction::Descending], Ties::Member);
        let places = [(9, "a"), (3, "a"), (3, "b"), (-1, "a")].map(|(score, name)| place(&order, &[score], None, name));
        assert!(places.is_sorted());
        assert_eq!(order.row_at(&places[2], 3).unwrap().name, b"b");
    }

    #[test]
    fn what_is_too_short_is_no_place() {
        let order = order(&[Direction::Ascending], Ties::Earliest);
        assert_eq!(order.row_at(&[0; 15], 1), None);
        assert_eq!(order.row_at(&[0; 16], 1).unwrap().name, b"");
    }
}
