//! Transactions of many threads: the result must equal that of some serial order.

use std::sync::mpsc::{self, Receiver};
use std::thread;

use elah_store::{Error, Range, Reservation, Store, Table, Transaction};

use super::support::{Opened, commit, get, increment, put, wait};

const THREADS: usize = 8;

/// Runs `attempt` in new transactions until one is committed.
fn until_committed(store: &Store, mut attempt: impl FnMut(&mut Transaction)) {
    loop {
        let mut transaction = store.begin().expect("a transaction");
        attempt(&mut transaction);
        match commit(transaction) {
            Ok(()) => return,
            Err(Error::Conflict) => {}
            Err(other) => panic!("{other}"),
        }
    }
}

fn number(value: Option<Vec<u8>>) -> i64 {
    value.map_or(0, |value| String::from_utf8(value).expect("digits").parse().expect("a number"))
}

#[test]
fn a_sum_of_accounts_stays_while_money_moves() {
    let opened = Opened::new();
    let accounts = opened.store.table("accounts").expect("a name");
    for account in 0..4u8 {
        put(&accounts, &[account], b"100", None).expect("a put");
    }
    let move_money = |thread: usize, round: usize| {
        let (from, to) = ([(thread + round) as u8 % 4], [(thread * 3 + round * 2 + 1) as u8 % 4]);
        until_committed(&opened.store, |transaction| {
            let all: i64 = (0..4u8).map(|account| number(transaction.get(&accounts, &[account]).expect("a read"))).sum();
            assert_eq!(all, 400, "one moment");
            let left = number(transaction.get(&accounts, &from).expect("a read")) - 7;
            transaction.put(&accounts, &from, left.to_string().into_bytes(), None).expect("a put");
            let more = number(transaction.get(&accounts, &to).expect("a read")) + 7;
            transaction.put(&accounts, &to, more.to_string().into_bytes(), None).expect("a put");
        });
    };
    let move_money = &move_money;
    thread::scope(|scope| {
        for thread in 0..THREADS {
            scope.spawn(move || (0..20).for_each(|round| move_money(thread, round)));
        }
    });
    assert_eq!((0..4u8).map(|account| number(get(&accounts, &[account]))).sum::<i64>(), 400);
}

/// Write skew: each transaction reads everything and adds one entry only if there is room. A check of single keys would let two
/// pass.
#[test]
fn a_range_that_was_read_admits_no_newcomer() {
    let opened = Opened::new();
    let seats = opened.store.table("seats").expect("a name");
    let take = |seats: &Table, name: String| {
        let mut got = false;
        until_committed(&opened.store, |transaction| {
            let taken = transaction.range(seats, &Range { limit: 100, ..Range::default() }).expect("a range");
            got = taken.len() < 10;
            if got {
                transaction.put(seats, name.as_bytes(), Vec::new(), None).expect("a put");
            }
        });
        got
    };
    let take = &take;
    let seats = &seats;
    let got: usize = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| scope.spawn(move || (0..4).filter(|round| take(seats, format!("{thread}-{round}"))).count()))
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).sum()
    });
    assert_eq!((got, seats.size()), (10, Ok(10)));
}

#[test]
fn a_page_depends_on_what_it_shows_and_not_on_what_follows() {
    let opened = Opened::new();
    let table = opened.store.table("pages").expect("a name");
    for key in ["a", "b", "d"] {
        put(&table, key.as_bytes(), b"", None).expect("a put");
    }
    let page = Range { limit: 2, ..Range::default() };
    let read_and_write = |meanwhile: &str, is_reverse: bool| {
        let mut transaction = opened.store.begin().expect("a transaction");
        transaction.range(&table, &Range { is_reverse, ..page.clone() }).expect("a range");
        put(&table, meanwhile.as_bytes(), b"", None).expect("a put");
        transaction.put(&table, b"z", b"".to_vec(), None).expect("a put");
        commit(transaction)
    };
    assert_eq!(read_and_write("c", false), Ok(()), "the page ends with b");
    assert_eq!(read_and_write("aa", false), Err(Error::Conflict), "within the page");
    assert_eq!(read_and_write("0", true), Ok(()), "the last page ends with d");
    assert_eq!(read_and_write("zz", true), Err(Error::Conflict), "before the last page");
}

fn reserve(store: &Store) -> Reservation {
    wait(|done| store.reserve(done)).expect("a reservation")
}

/// Writes without waiting.
fn begin_put(table: &Table, key: &[u8], value: &[u8]) -> Receiver<Result<bool, Error>> {
    let (sender, stored) = mpsc::channel();
    table.put(key.to_vec(), value.to_vec(), None, false, move |outcome| sender.send(outcome).expect("somebody waits"));
    stored
}

/// A thread that gets no core for longer than a reservation lasts may lose, but not each time; without a reservation it always
/// does.
#[test]
fn what_was_reserved_for_goes_before_what_came_first() {
    let opened = Opened::new();
    let table = opened.store.table("t").expect("a name");
    let has_won = (0..100_u8).any(|attempt| {
        let mut transaction = reserve(&opened.store).begin().expect("a transaction");
        let other = begin_put(&table, b"k", &[attempt]);
        let seen = transaction.get(&table, b"k").expect("a read");
        transaction.put(&table, b"seen", seen.clone().unwrap_or_default(), None).expect("a put");
        let committed = commit(transaction);
        assert_eq!(other.recv(), Ok(Ok(true)));
        assert_eq!(get(&table, b"k"), Some(vec![attempt]));
        assert!(committed.is_err() || get(&table, b"seen") == Some(seen.unwrap_or_default()));
        committed.is_ok()
    });
    assert!(has_won);
}

/// Adding 0 created a count outside a transaction and none within one: a later deletion then said that there was none.
#[test]
fn adding_zero_creates_a_count_as_it_does_outside_a_transaction() {
    let opened = Opened::new();
    let counter = opened.store.counter("c").expect("a name");
    assert_eq!(increment(&counter, b"outside", 0, None), Ok(Some(0)));
    let mut transaction = opened.store.begin().expect("a transaction");
    assert_eq!(transaction.increment(&counter, b"inside", 0, None), Ok(Some(0)));
    transaction.delete_count(&counter, b"reset").expect("a reset");
    assert_eq!(commit(transaction), Ok(()));
    let existed = |key: &[u8]| wait(|done| counter.delete(key.to_vec(), done));
    assert_eq!([existed(b"outside"), existed(b"inside"), existed(b"reset")], [Ok(true), Ok(true), Ok(false)]);
}

#[test]
fn several_reservations_are_granted_and_given_up() {
    let opened = Opened::new();
    let table = opened.store.table("t").expect("a name");
    let first = reserve(&opened.store);
    let (sender, granted) = mpsc::channel();
    opened.store.reserve(move |reservation| sender.send(reservation).expect("somebody waits"));
    let other = begin_put(&table, b"k", b"v");
    drop(first);
    assert_eq!(other.recv(), Ok(Ok(true)));
    let second = granted.recv().expect("a result").expect("a reservation");
    drop(second.begin().expect("a transaction"));
    assert_eq!(put(&table, b"k", b"w", None), Ok(true));
}

#[test]
fn others_do_not_wait_long_for_who_has_reserved() {
    let opened = Opened::new();
    let table = opened.store.table("t").expect("a name");
    let mut transaction = reserve(&opened.store).begin().expect("a transaction");
    assert_eq!(transaction.get(&table, b"k"), Ok(None));
    assert_eq!(put(&table, b"k", b"v", None), Ok(true), "before the transaction ends");
    transaction.put(&table, b"seen", b"nothing".to_vec(), None).expect("a put");
    assert_eq!(commit(transaction), Err(Error::Conflict));
    opened.store.close();
    assert_eq!(wait(|done| opened.store.reserve(done)).err(), Some(Error::Closed));
}
