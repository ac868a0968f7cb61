//! Sets in a store: stored members return in the same order, and invalid rows are refused.

use std::sync::mpsc;
use std::time::Duration;

use elah_ranked_set::{Direction, Error, LoadError, Operator, Order, RankedSet, Style, Ties};
use elah_store::{Clock, Options, Range, Store, Table};

use super::model::order;

fn store() -> (tempfile::TempDir, Store) {
    let dir = tempfile::tempdir().expect("a directory");
    let options = Options {
        bytes_max: 64 << 20,
        fold_pause: Duration::from_secs(3600),
        sweep_pause: Duration::from_secs(3600),
        clock: Clock::System,
    };
    let store = Store::open(dir.path(), &options).expect("a store");
    (dir, store)
}

/// Stores rows, which share their syncs.
fn put(table: &Table, rows: impl IntoIterator<Item = (Vec<u8>, Vec<u8>)>) {
    let (sender, receiver) = mpsc::channel();
    for (key, value) in rows {
        let sender = sender.clone();
        table.put(key, value, None, false, move |put| sender.send(put).expect("somebody waits"));
    }
    drop(sender);
    assert!(receiver.iter().all(|put| put.is_ok()));
}

fn load(order: Order, members_max: usize, table: &Table, prefix: &[u8]) -> Result<RankedSet, LoadError<elah_store::Error>> {
    RankedSet::load(order, members_max, prefix, |stem, row| {
        let range = Range { prefix: Some(stem.to_vec()), limit: usize::MAX, ..Range::default() };
        table.each(&range, row)
    })
}

#[test]
fn a_set_comes_back_as_it_was() {
    let (_dir, store) = store();
    let table = store.table("sets").expect("a table");
    for ties in [Ties::Earliest, Ties::Member] {
        let order = order(&[Direction::Descending, Direction::Ascending], ties);
        let prefix: &[u8] = if ties == Ties::Earliest { b"games" } else { b"games=" };
        let mut set = RankedSet::new(order.clone(), 1000);
        let mut rows = Vec::new();
        for number in 0..300_i64 {
            let name = vec![b'a' + (number % 26) as u8; number as usize * 4];
            set.submit(&name, &[number * 7919 % 10, number % 3], Operator::Set, Style::Ordinal).expect("room");
            rows.push(set.row(prefix, &name, &set.standing(&name).expect("it is there")));
        }
        put(&table, rows);
        let loaded = load(order, 1000, &table, prefix).expect("it is loaded");
        let rows = |set: &RankedSet| set.rows(0..1000, Style::Dense).map(|row| format!("{row:?}")).collect::<Vec<_>>();
        assert_eq!(loaded.len(), 300);
        assert_eq!(rows(&loaded), rows(&set));
        let mut sets = [set, loaded];
        let standings = sets.each_mut().map(|set| set.submit(b"later", &[0, 0], Operator::Set, Style::Ordinal));
        assert!(standings[0] == standings[1] || ties == Ties::Earliest, "sequences go on");
        assert_eq!(standings[0].as_ref().map(|later| later.rank), standings[1].as_ref().map(|later| later.rank));
    }
}

#[test]
fn rows_of_another_order_are_refused() {
    let (_dir, store) = store();
    let table = store.table("sets").expect("a table");
    let one = order(&[Direction::Descending], Ties::Earliest);
    let mut set = RankedSet::new(one.clone(), 9);
    set.submit(b"ann", &[1], Operator::Set, Style::Ordinal).expect("room");
    put(&table, [set.row(b"", b"ann", &set.standing(b"ann").expect("she is there"))]);
    let loaded = |order, members_max| load(order, members_max, &table, b"").map(|set| set.len());
    assert_eq!(loaded(one.clone(), 1), Ok(1));
    let two = order(&[Direction::Descending; 2], Ties::Earliest);
    let error = loaded(two, 9).expect_err("another order").to_string();
    assert_eq!(
        error,
        "A stored row of a ranked set cannot be read: its score has another number of components than the set's order."
    );
    let long = load(one, 9, &table, &[b'p'; 223]).map(|set| set.len());
    assert_eq!(long, Err(LoadError::Set(Error::PrefixTooLong { bytes: 223 })));
}

#[test]
fn damaged_rows_are_refused() {
    let (_dir, store) = store();
    let order = order(&[Direction::Descending], Ties::Earliest);
    let mut set = RankedSet::new(order.clone(), 9);
    set.submit(b"ann", &[1], Operator::Set, Style::Ordinal).expect("room");
    let (key, value) = set.row(b"", b"ann", &set.standing(b"ann").expect("she is there"));
    for (number, length) in (0..value.len()).enumerate() {
        let table = store.table(&format!("cut{number}")).expect("a table");
        put(&table, [(key.clone(), value[..length].to_vec())]);
        let loaded = load(order.clone(), 9, &table, b"").map(|set| set.len());
        assert!(matches!(loaded, Err(LoadError::Set(Error::InvalidRow { .. }))), "{length}: {loaded:?}");
    }
}
