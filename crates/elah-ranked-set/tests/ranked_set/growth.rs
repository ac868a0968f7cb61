//! Sets that grow and shrink through several heights of the tree, in every pattern that splits and joins its nodes.

use elah_ranked_set::{Direction, Operator, RankedSet, Style, Ties};

use super::model::{Model, order};

/// A generator of the same numbers in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

fn name(number: u64) -> Vec<u8> {
    format!("member-{number}").into_bytes()
}

/// Adds members with the scores of `score`, checks, removes them in another order, checks on the way.
fn grow_and_shrink(count: u64, score: impl Fn(&mut Numbers, u64) -> i64, removed: impl Fn(u64) -> u64) {
    let directions = [Direction::Descending];
    let mut set = RankedSet::new(order(&directions, Ties::Earliest), usize::MAX);
    let mut scores = Vec::new();
    let mut numbers = Numbers(0x9E37_79B9_7F4A_7C15);
    for number in 0..count {
        let score = score(&mut numbers, number);
        set.submit(&name(number), &[score], Operator::Set, Style::Ordinal).expect("room");
        scores.push(score);
    }
    check(&set, &scores, |_| true);
    for step in 0..count {
        assert!(set.delete(&name(removed(step))).is_some());
        if step % (count / 7) == 0 {
            let gone: std::collections::HashSet<u64> = (0..=step).map(&removed).collect();
            check(&set, &scores, |number| !gone.contains(&number));
        }
    }
    assert!(set.is_empty());
    assert_eq!(set.scores(), 0);
}

fn check(set: &RankedSet, scores: &[i64], is_there: impl Fn(u64) -> bool) {
    let mut expected: Vec<(i64, u64)> =
        scores.iter().enumerate().filter(|(at, _)| is_there(*at as u64)).map(|(at, score)| (-score, at as u64)).collect();
    expected.sort_unstable();
    let rows: Vec<Vec<u8>> = set.rows(0..usize::MAX, Style::Ordinal).map(|row| row.name.to_vec()).collect();
    assert_eq!(rows, expected.iter().map(|(_, at)| name(*at)).collect::<Vec<_>>());
    let mut dense = 0;
    let mut last = None;
    for (position, (score, at)) in expected.iter().enumerate() {
        dense += usize::from(last != Some(score));
        last = Some(score);
        assert_eq!(set.position(&name(*at)), Some(position));
        assert_eq!(set.rank(&name(*at), Style::Dense), Some(elah_ranked_set::Rank::Whole(dense)));
    }
    assert_eq!(set.scores(), dense);
}

#[test]
fn random_scores_and_random_order() {
    grow_and_shrink(12_000, |numbers, _| numbers.below(1 << 40) as i64, |step| (step * 7919) % 12_000);
}

#[test]
fn few_scores() {
    grow_and_shrink(8_000, |numbers, _| numbers.below(40) as i64, |step| (step * 7919) % 8_000);
}

#[test]
fn ever_better_scores() {
    grow_and_shrink(8_000, |_, number| number as i64, |step| step);
}

#[test]
fn ever_worse_scores() {
    grow_and_shrink(8_000, |_, number| -(number as i64), |step| step);
}

#[test]
fn one_score_for_all() {
    grow_and_shrink(8_000, |_, _| 0, |step| 7_999 - step);
}

/// Three components of both directions, names that decide ties, and names of all lengths.
#[test]
fn a_long_life_against_the_model() {
    let directions = [Direction::Descending, Direction::Ascending, Direction::Descending];
    for ties in [Ties::Earliest, Ties::Member] {
        let mut set = RankedSet::new(order(&directions, ties), usize::MAX);
        let mut model = Model::new(&directions, ties);
        let mut numbers = Numbers(42);
        for round in 0..6 {
            for _ in 0..1500 {
                let number = numbers.below(1000);
                let name = format!("{number}{}", "x".repeat(number as usize % 300)).into_bytes();
                if numbers.below(10) < if round % 2 == 0 { 2 } else { 8 } {
                    assert_eq!(set.delete(&name).is_some(), model.delete(&name));
                } else {
                    let scores: Vec<i64> = (0..3).map(|_| numbers.below(6) as i64).collect();
                    model.submit(&name, &scores, Operator::Set);
                    set.submit(&name, &scores, Operator::Set, Style::Ordinal).expect("room");
                }
            }
            model.check(&set);
            model.check_ranks(&set, 13);
        }
    }
}

/// Memory beside the names after growth in order, random growth, and many changes.
#[test]
fn a_member_takes_at_most_64_bytes() {
    let count = 100_000;
    for is_random in [false, true] {
        let mut set = RankedSet::new(order(&[Direction::Descending], Ties::Earliest), usize::MAX);
        let mut numbers = Numbers(7);
        let mut most = 0;
        for number in 0..count {
            let score = if is_random { numbers.below(1 << 50) as i64 } else { number as i64 };
            set.submit(&name(number), &[score], Operator::Set, Style::Ordinal).expect("room");
            if number > 50_000 {
                most = most.max((set.bytes() - set.name_bytes()) / set.len());
            }
        }
        for _ in 0..150_000 {
            let (number, score) = (numbers.below(count), numbers.below(1 << 50) as i64);
            set.submit(&name(number), &[score], Operator::Set, Style::Ordinal).expect("room");
        }
        most = most.max((set.bytes() - set.name_bytes()) / set.len());
        assert!(most <= 64, "{most} bytes");
        let rows: Vec<(Vec<u8>, i64)> =
            set.rows(0..set.len(), Style::Ordinal).map(|row| (row.name.to_vec(), row.scores[0])).collect();
        assert!(rows.is_sorted_by(|a, b| a.1 >= b.1));
        for (position, (name, _)) in rows.iter().enumerate().step_by(97) {
            assert_eq!(set.position(name), Some(position));
        }
    }
}

/// So many members that records and leaves occupy several blocks, and that the index has split.
#[test]
fn a_large_set_keeps_its_order() {
    let count = 150_000;
    let mut set = RankedSet::new(order(&[Direction::Descending], Ties::Earliest), usize::MAX);
    let mut numbers = Numbers(23);
    let mut scores: Vec<i64> = (0..count).map(|_| numbers.below(1 << 50) as i64).collect();
    let submit = |set: &mut RankedSet, number: u64, score: i64| {
        set.submit(&name(number), &[score], Operator::Set, Style::Ordinal).expect("room");
    };
    (0..count).for_each(|number| submit(&mut set, number, scores[number as usize]));
    for _ in 0..5_000 {
        let (number, score) = (numbers.below(count), numbers.below(1 << 50) as i64);
        submit(&mut set, number, score);
        scores[number as usize] = score;
    }
    assert!((set.bytes() - set.name_bytes()) / set.len() <= 64);
    let gone = |number: u64| number.is_multiple_of(9);
    (0..count).filter(|number| gone(*number)).for_each(|number| assert!(set.delete(&name(number)).is_some()));
    let mut expected: Vec<u64> = (0..count).filter(|number| !gone(*number)).collect();
    expected.sort_unstable_by_key(|number| std::cmp::Reverse(scores[*number as usize]));
    let rows = set.rows(0..usize::MAX, Style::Ordinal);
    assert!(rows.map(|row| row.name.to_vec()).eq(expected.iter().map(|number| name(*number))));
    for (position, number) in expected.iter().enumerate().step_by(31) {
        assert_eq!(set.position(&name(*number)), Some(position));
    }
    assert!((0..count).filter(|number| gone(*number)).all(|number| set.position(&name(number)).is_none()));
}

/// Removed members make room for new ones.
#[test]
fn memory_does_not_grow_when_members_come_and_go() {
    let mut set = RankedSet::new(order(&[Direction::Descending], Ties::Earliest), usize::MAX);
    let mut numbers = Numbers(11);
    let mut bytes = Vec::new();
    for round in 0..12 {
        for number in 0..5000 {
            let name = format!("{}-{number}-{round}", "n".repeat(number % 40)).into_bytes();
            set.submit(&name, &[numbers.below(1000) as i64], Operator::Set, Style::Ordinal).expect("room");
        }
        bytes.push(set.bytes());
        for number in 0..5000 {
            assert!(set.delete(format!("{}-{number}-{round}", "n".repeat(number % 40)).as_bytes()).is_some());
        }
    }
    assert!(bytes[11] < bytes[2] + bytes[2] / 10, "{bytes:?}");
}
