//! Random insertions and removals in equal number, in sets of all sizes, against sorted collections of the standard library.

use std::collections::{BTreeMap, BTreeSet};

use elah_fuzz::{Random, run};
use elah_ranked_set::{Direction, Operator, Rank, RankedSet, Style, Ties};

use super::model::order;

/// The members in order, with the score and the place of each.
#[derive(Default)]
struct Sorted {
    ranked: BTreeSet<(i64, u64, Vec<u8>)>,
    by_name: BTreeMap<Vec<u8>, (i64, u64)>,
}

impl Sorted {
    fn delete(&mut self, name: &[u8]) -> Option<i64> {
        let (score, sequence) = self.by_name.remove(name)?;
        self.ranked.remove(&(score, sequence, name.to_vec()));
        Some(score)
    }

    fn insert(&mut self, name: Vec<u8>, score: i64, sequence: u64) {
        self.by_name.insert(name.clone(), (score, sequence));
        self.ranked.insert((score, sequence, name));
    }

    fn position(&self, name: &[u8]) -> Option<usize> {
        let (score, sequence) = self.by_name.get(name)?;
        Some(self.ranked.range(..(*score, *sequence, name.to_vec())).count())
    }
}

fn score_of(standing: &elah_ranked_set::Standing) -> i64 {
    standing.scores[0]
}

/// Compares everything that can be read from the set.
fn check(set: &RankedSet, sorted: &Sorted) {
    assert_eq!(set.len(), sorted.by_name.len());
    let rows = set.rows(0..usize::MAX, Style::Ordinal).map(|row| (row.scores[0], row.name.to_vec(), row.rank));
    let expected = sorted.ranked.iter().enumerate().map(|(at, (score, _, name))| (*score, name.clone(), Rank::Whole(at + 1)));
    assert!(rows.eq(expected));
    let scores: BTreeSet<i64> = sorted.ranked.iter().map(|(score, ..)| *score).collect();
    assert_eq!(set.scores(), scores.len());
}

#[test]
fn fuzz_members_that_come_and_go() {
    run("ranked set", |random: &mut Random| {
        let mut set = RankedSet::new(order(&[Direction::Ascending], Ties::Earliest), usize::MAX);
        let mut sorted = Sorted::default();
        let size = *random.pick(&[1, 3, 8, 9, 20, 60, 300, 3000]);
        let steps = size * 4 + random.below(400);
        let (names, scores) = (size * 2, *random.pick(&[1, 5, 1 << 40]));
        for step in 1..=steps as u64 {
            let name = match random.below(names) {
                number if number % 3 == 0 => format!("a common beginning {number}").into_bytes(),
                number => number.to_be_bytes().to_vec(),
            };
            // Half of the names are in the set when it has its full size.
            if sorted.by_name.contains_key(&name) && !random.once_in(4) {
                assert_eq!(set.delete(&name).map(|standing| score_of(&standing)), sorted.delete(&name));
            } else {
                let score = random.below(scores) as i64;
                let previous = sorted.delete(&name);
                let submission = set.submit(&name, &[score], Operator::Last, Style::Ordinal).expect("there is room");
                assert_eq!(submission.previous.as_ref().map(score_of), previous);
                sorted.insert(name.clone(), score, step);
                assert_eq!(submission.rank, Rank::Whole(sorted.position(&name).expect("it is there") + 1));
            }
            let other = random.below(names).to_be_bytes();
            assert_eq!(
                set.standing(&other).map(|standing| score_of(&standing)),
                sorted.by_name.get(&other[..]).map(|(score, _)| *score)
            );
            if random.once_in(steps / 8 + 1) {
                check(&set, &sorted);
            }
        }
        check(&set, &sorted);
        for name in std::mem::take(&mut sorted.by_name).into_keys() {
            assert!(set.delete(&name).is_some());
        }
        assert!(set.is_empty());
    });
}
