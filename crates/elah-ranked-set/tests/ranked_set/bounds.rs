//! The limits: names, scores, components, members.

use elah_ranked_set::{
    COMPONENTS_MAX, Component, Direction, Error, MEMBER_BYTES_MAX, Operator, Order, Rank, RankedSet, Scores, Style, Ties,
};

use super::model::order;

fn set() -> RankedSet {
    RankedSet::new(order(&[Direction::Descending], Ties::Earliest), 3)
}

#[test]
fn names_of_all_lengths() {
    let mut set = set();
    let longest = vec![b'n'; MEMBER_BYTES_MAX];
    for (name, score) in [(&b""[..], 1), (&longest, 2), (b"\xFF\0", 3)] {
        set.submit(name, &[score], Operator::Best, Style::Ordinal).expect("room");
    }
    assert_eq!(set.rows(0..3, Style::Ordinal).map(|row| row.name.len()).collect::<Vec<_>>(), [2, MEMBER_BYTES_MAX, 0]);
    assert_eq!(set.rank(b"", Style::Ordinal), Some(Rank::Whole(3)));
    let error = set.submit(&vec![b'n'; MEMBER_BYTES_MAX + 1], &[1], Operator::Best, Style::Ordinal).expect_err("too long");
    assert_eq!(error.to_string(), "A member's name of 10241 bytes is too long; it may have up to 10240.");
}

#[test]
fn the_ends_of_64_bits() {
    for direction in [Direction::Ascending, Direction::Descending] {
        let mut set = RankedSet::new(order(&[direction], Ties::Earliest), 9);
        for (name, score) in
            [(b"a", i64::MIN), (b"b", i64::MIN + 1), (b"c", -1), (b"d", 0), (b"e", i64::MAX - 1), (b"f", i64::MAX)]
        {
            set.submit(name, &[score], Operator::Set, Style::Ordinal).expect("room");
        }
        let mut names: Vec<u8> = set.rows(0..9, Style::Ordinal).flat_map(|row| row.name.to_vec()).collect();
        if direction == Direction::Descending {
            names.reverse();
        }
        assert_eq!(names, b"abcdef");
        let error = set.submit(b"f", &[1], Operator::Increment, Style::Ordinal).expect_err("too large");
        assert!(error.to_string().starts_with("A score of 92233720368547758.07 + 0.01 is out of range"), "{error}");
        assert_eq!(set.standing(b"f").map(|standing| standing.scores.to_vec()), Some(vec![i64::MAX]));
        assert_eq!(set.equal_histogram(2).expect("two").iter().map(|bucket| bucket.count).collect::<Vec<_>>(), [3, 3]);
        assert_eq!(set.equal_histogram(1).expect("one")[0].count, 6);
    }
}

#[test]
fn a_full_set_still_takes_scores() {
    let mut set = set();
    for name in [b"a", b"b", b"c"] {
        set.submit(name, &[1], Operator::Best, Style::Ordinal).expect("room");
    }
    let refused = set.submit(b"d", &[1], Operator::Best, Style::Ordinal);
    assert_eq!(refused, Err(Error::Full { members: 3 }));
    assert_eq!(set.decide(b"d", &[1], Operator::Best), Err(Error::Full { members: 3 }));
    assert_eq!(set.submit(b"a", &[9], Operator::Best, Style::Ordinal).map(|submission| submission.rank), Ok(Rank::Whole(1)));
    set.delete(b"b");
    assert!(set.submit(b"d", &[1], Operator::Best, Style::Ordinal).is_ok());
}

/// Two decisions for the last place are both stored before one is placed. A set that refused the second could not be
/// loaded again.
#[test]
fn what_was_decided_and_stored_is_placed_and_loaded() {
    let mut set = set();
    for name in [b"a", b"b"] {
        set.submit(name, &[1], Operator::Best, Style::Ordinal).expect("room");
    }
    let decisions = [b"c", b"d"].map(|name| (name, set.decide(name, &[1], Operator::Best).expect("room").expect("it is new")));
    for (name, standing) in decisions {
        set.place(name, standing, Style::Ordinal).expect("it is stored");
    }
    let rows = [b"a", b"b", b"c", b"d"].map(|name| set.row(b"", name, &set.standing(name).expect("it is there")));
    let loaded = RankedSet::load(set.order().clone(), 3, b"", |stem, take| {
        assert!(rows.iter().all(|(key, value)| key.starts_with(stem) && take(key, value)));
        Ok::<(), Error>(())
    });
    let mut loaded = loaded.expect("a set");
    assert_eq!(loaded.len(), 4);
    assert_eq!(loaded.submit(b"e", &[1], Operator::Best, Style::Ordinal), Err(Error::Full { members: 4 }));
}

/// The last of many submissions does not fit, so none of them happens.
#[test]
fn many_submissions_are_all_or_nothing() {
    let mut set = set();
    for (name, score) in [(b"a", 5), (b"b", i64::MAX - 1)] {
        set.submit(name, &[score], Operator::Set, Style::Ordinal).expect("room");
    }
    let state = |set: &RankedSet| {
        let standings: Vec<_> = ["a", "b", "c", "d"].iter().map(|name| set.standing(name.as_bytes())).collect();
        (standings, set.rows(0..9, Style::Dense).map(|row| format!("{row:?}")).collect::<Vec<_>>())
    };
    let before = state(&set);
    let one = |name: &'static str| (name.as_bytes(), Scores::from_slice(&[1]));
    let too_large = ["a", "c", "a", "b", "b"].map(one);
    assert!(matches!(set.submit_all(&too_large, Operator::Increment), Err(Error::OutOfRange { .. })));
    assert_eq!(state(&set), before);
    let too_many = ["c", "b", "d"].map(one);
    assert_eq!(set.submit_all(&too_many, Operator::Set), Err(Error::Full { members: 3 }));
    assert_eq!(state(&set), before);
    assert_eq!(set.submit_all(&too_many[..2], Operator::Set), Ok(2));
    assert_eq!(set.len(), 3);
}

#[test]
fn orders_and_scores_must_fit() {
    let component = Component { direction: Direction::Ascending, decimals: 0 };
    assert!(matches!(Order::new(vec![], Ties::Earliest), Err(Error::InvalidOrder { components: 0, .. })));
    assert!(Order::new(vec![component; COMPONENTS_MAX], Ties::Earliest).is_ok());
    assert!(matches!(Order::new(vec![component; COMPONENTS_MAX + 1], Ties::Earliest), Err(Error::InvalidOrder { .. })));
    let precise = Component { decimals: 19, ..component };
    assert!(matches!(Order::new(vec![precise], Ties::Earliest), Err(Error::InvalidOrder { decimals: 19, .. })));
    for scores in [&[][..], &[1, 2]] {
        assert!(matches!(set().submit(b"a", scores, Operator::Best, Style::Ordinal), Err(Error::WrongComponents { .. })));
        assert!(matches!(set().span(Some(scores), None, false), Err(Error::WrongComponents { .. })));
    }
}

/// Which operations keep a member's place among equals, and which do not.
#[test]
fn the_earliest_is_who_reached_the_score_first() {
    let mut set = set();
    let mut first = |name: &[u8], score: i64, operator: Operator| {
        set.submit(name, &[score], operator, Style::Ordinal).expect("room");
        set.rows(0..1, Style::Ordinal).next().map(|row| row.name.to_vec())
    };
    assert_eq!(first(b"ann", 5, Operator::Best).as_deref(), Some(&b"ann"[..]));
    assert_eq!(first(b"bob", 5, Operator::Best).as_deref(), Some(&b"ann"[..]), "who comes later stands behind");
    for operator in [Operator::Best, Operator::Set, Operator::Min, Operator::Max] {
        assert_eq!(first(b"ann", 5, operator).as_deref(), Some(&b"ann"[..]), "the same score again keeps the place");
    }
    assert_eq!(first(b"ann", 0, Operator::Increment).as_deref(), Some(&b"ann"[..]));
    assert_eq!(first(b"ann", 5, Operator::Last).as_deref(), Some(&b"bob"[..]), "`last` counts as reached now");
    assert_eq!(first(b"bob", 4, Operator::Set).as_deref(), Some(&b"ann"[..]));
    assert_eq!(first(b"bob", 5, Operator::Set).as_deref(), Some(&b"ann"[..]), "left and reached again is later");
}

/// A score is one attempt: the better second component of a worse attempt is ignored.
#[test]
fn attempts_are_not_mixed() {
    let mut set = RankedSet::new(order(&[Direction::Descending, Direction::Ascending], Ties::Earliest), 3);
    set.submit(b"ann", &[100, 60], Operator::Best, Style::Ordinal).expect("room");
    set.submit(b"ann", &[90, 10], Operator::Best, Style::Ordinal).expect("room");
    assert_eq!(set.standing(b"ann").expect("she is there").scores.to_vec(), [100, 60]);
    set.submit(b"ann", &[100, 50], Operator::Best, Style::Ordinal).expect("room");
    assert_eq!(set.standing(b"ann").expect("she is there").scores.to_vec(), [100, 50]);
}

/// 100, 90, 90, 80 in every style.
#[test]
fn the_five_styles() {
    let mut set = RankedSet::new(order(&[Direction::Descending], Ties::Earliest), 4);
    for (name, score) in [(b"a", 100), (b"b", 90), (b"c", 90), (b"d", 80)] {
        set.submit(name, &[score], Operator::Best, Style::Ordinal).expect("room");
    }
    let ranks = |style| set.rows(0..4, style).map(|row| row.rank).collect::<Vec<_>>();
    assert_eq!(ranks(Style::Ordinal), [1, 2, 3, 4].map(Rank::Whole));
    assert_eq!(ranks(Style::Dense), [1, 2, 2, 3].map(Rank::Whole));
    assert_eq!(ranks(Style::Competition), [1, 2, 2, 4].map(Rank::Whole));
    assert_eq!(ranks(Style::Modified), [1, 3, 3, 4].map(Rank::Whole));
    assert_eq!(ranks(Style::Fractional), [1.0, 2.5, 2.5, 4.0].map(Rank::Mean));
}
