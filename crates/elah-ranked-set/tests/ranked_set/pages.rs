//! Pages by cursor while scores move: a member that does not move is on exactly one of them.

use std::collections::HashMap;

use elah_ranked_set::{Direction, Error, Operator, RankedSet, Style, Ties};
use proptest::prelude::*;

use super::model::order;

fn name(number: u16) -> Vec<u8> {
    number.to_string().into_bytes()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn pages_neither_skip_nor_repeat_who_stands_still(
        by_name in any::<bool>(),
        backwards in any::<bool>(),
        limit in 1_usize..9,
        members in prop::collection::vec(0_i64..20, 1..200),
        moves in prop::collection::vec((0_u16..200, prop::option::of(0_i64..20)), 0..200),
    ) {
        let ties = if by_name { Ties::Member } else { Ties::Earliest };
        let mut set = RankedSet::new(order(&[Direction::Descending], ties), 1000);
        for (number, score) in members.iter().enumerate() {
            set.submit(&name(number as u16), &[*score], Operator::Set, Style::Ordinal).expect("room");
        }
        let mut still: HashMap<Vec<u8>, usize> = (0..members.len() as u16).map(|number| (name(number), 0)).collect();
        let mut moves = moves.into_iter();
        let mut cursor: Option<Vec<u8>> = None;
        loop {
            let positions = match (&cursor, backwards) {
                (None, false) => 0..limit,
                (None, true) => set.len().saturating_sub(limit)..set.len(),
                (Some(cursor), false) => set.after(cursor, limit).expect("a cursor of this set"),
                (Some(cursor), true) => set.before(cursor, limit).expect("a cursor of this set"),
            };
            let page: Vec<Vec<u8>> = set.rows(positions, Style::Ordinal).map(|row| row.name.to_vec()).collect();
            for name in &page {
                still.entry(name.clone()).and_modify(|seen| *seen += 1);
            }
            let Some(last) = (if backwards { page.first() } else { page.last() }) else { break };
            cursor = set.cursor(last);
            for (number, score) in moves.by_ref().take(3) {
                // A changed member is not checked, even if it is that of the cursor.
                still.remove(&name(number));
                match score {
                    Some(score) => drop(set.submit(&name(number), &[score], Operator::Last, Style::Ordinal).expect("room")),
                    None => drop(set.delete(&name(number))),
                }
            }
        }
        prop_assert!(still.values().all(|seen| *seen == 1), "{still:?}");
    }
}

#[test]
fn what_is_no_cursor_is_refused() {
    let mut set = RankedSet::new(order(&[Direction::Descending], Ties::Earliest), 10);
    set.submit(b"ann", &[1], Operator::Set, Style::Ordinal).expect("room");
    let cursor = set.cursor(b"ann").expect("she is there");
    assert_eq!(set.cursor(b"bob"), None);
    assert_eq!(set.after(&cursor, 5), Ok(1..1));
    assert_eq!(set.before(&cursor, 5), Ok(0..0));
    for broken in [&b""[..], b"x", &cursor[..4], &cursor[..15], &[cursor.clone(), vec![b'n'; 20_000]].concat()] {
        assert!(matches!(set.after(broken, 5), Err(Error::InvalidCursor { .. })), "{broken:?}");
    }
    for other in [order(&[Direction::Ascending], Ties::Earliest), order(&[Direction::Descending], Ties::Member)] {
        assert!(matches!(RankedSet::new(other, 10).before(&cursor, 5), Err(Error::InvalidCursor { .. })));
    }
}
