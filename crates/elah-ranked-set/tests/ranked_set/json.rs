//! Members and submissions as JSON, for scores of every form.

use elah_ranked_set::{Component, Direction, Error, Operator, Order, RankedSet, Style, Ties, name_text};

fn order(decimals: &[u8]) -> Order {
    let component = |decimals: &u8| Component { direction: Direction::Descending, decimals: *decimals };
    Order::new(decimals.iter().map(component).collect(), Ties::Earliest).expect("a valid order")
}

fn row(decimals: &[u8], scores: &[i64], style: Style) -> String {
    let mut set = RankedSet::new(order(decimals), 10);
    set.submit("a\"\u{e9}".as_bytes(), scores, Operator::Set, style).expect("room");
    let mut out = Vec::new();
    set.row_of("a\"\u{e9}".as_bytes(), style).expect("it is there").write_json(&mut out, set.order()).expect("text");
    String::from_utf8(out).expect("text")
}

#[test]
fn scores_keep_all_their_digits() {
    assert_eq!(row(&[0], &[i64::MIN], Style::Ordinal), "\"rank\":1,\"member\":\"a\\\"\u{e9}\",\"score\":-9223372036854775808");
    assert!(row(&[2], &[-5], Style::Ordinal).ends_with("\"score\":\"-0.05\""));
    assert!(row(&[0, 2], &[7, 150], Style::Ordinal).ends_with("\"score\":[7,\"1.50\"]"));
    assert!(row(&[0], &[1], Style::Fractional).starts_with("\"rank\":1.0,"));
}

#[test]
fn a_submission_that_was_not_stored_was_not_done() {
    let mut set = RankedSet::new(order(&[0]), 10);
    let refused = set.submit_stored(b"ann", &[1], Operator::Best, Style::Ordinal, |_| Err(Error::Full { members: 0 }));
    assert_eq!((refused, set.len(), set.version()), (Err(Error::Full { members: 0 }), 0, 0));
    let done = set.submit(b"ann", &[1], Operator::Best, Style::Ordinal).expect("room");
    let unstored = set.submit_stored(b"ann", &[1], Operator::Best, Style::Ordinal, |_| Err(Error::Full { members: 1 }));
    assert!(!unstored.expect("nothing is to be stored").is_changed);
    let mut out = Vec::new();
    done.write_json(&mut out, "ann", set.order());
    let text = r#"{"rank":1,"member":"ann","score":1,"previous_rank":null,"previous_score":null,"changed":true}"#;
    assert_eq!(String::from_utf8(out).expect("text"), text);
}

#[test]
fn every_change_has_a_version_of_its_own() {
    let mut set = RankedSet::new(order(&[0]), 10);
    let mut versions = vec![set.version()];
    set.submit(b"ann", &[1], Operator::Best, Style::Ordinal).expect("room");
    versions.push(set.version());
    set.delete(b"ann");
    versions.push(set.version());
    set.clear();
    versions.push(set.version());
    assert!(versions.is_sorted_by(|a, b| a < b), "{versions:?}");
    set.delete(b"ann");
    assert_eq!(Some(&set.version()), versions.last());
}

#[test]
fn bytes_that_are_no_text_are_refused() {
    assert_eq!(name_text(b"ann"), Ok("ann"));
    assert_eq!(name_text(b"a\xff"), Err(Error::NotText { name: "a\u{fffd}".to_owned() }));
}
