//! A store whose file has reached its limit: it refuses what does not fit, stores what does, and can use freed room.

use std::sync::mpsc::channel;

use elah_store::{Error, Range, Table};

use super::support::{Opened, delete, get, increment, put, wait};

const BYTES_MAX: u64 = 1024 * 1024;

fn key(n: usize) -> Vec<u8> {
    format!("key{n:06}").into_bytes()
}

/// Submits all at once, so that they share syncs, and returns the result of each.
fn all_at_once<T: Send + 'static>(calls: impl Iterator<Item = impl FnOnce(Box<dyn FnOnce(T) + Send>)>) -> Vec<T> {
    let (sender, receiver) = channel();
    for call in calls {
        let sender = sender.clone();
        call(Box::new(move |outcome| sender.send(outcome).expect("somebody waits")));
    }
    drop(sender);
    receiver.iter().collect()
}

/// Puts values until one does not fit, and returns how many there are.
fn fill(table: &Table, value_bytes: usize) -> usize {
    let step = (100_000 / value_bytes).clamp(1, 500);
    let mut filled = 0;
    loop {
        let outcomes = all_at_once(
            (filled..filled + step).map(|n| move |done| table.put(key(n), vec![b'x'; value_bytes], None, false, done)),
        );
        let stored = outcomes.iter().take_while(|outcome| **outcome == Ok(true)).count();
        filled += stored;
        if stored < outcomes.len() {
            assert!(matches!(outcomes[stored], Err(Error::Full { .. })), "{:?}", outcomes[stored]);
            return table.size().expect("a size") as usize;
        }
    }
}

#[test]
fn room_that_is_made_can_be_used() {
    for value_bytes in [10, 100, 1000, 3000, 20_000] {
        let mut opened = Opened::with_bytes_max(BYTES_MAX);
        let table = opened.store.table("heap").expect("a name");
        let filled = fill(&table, value_bytes);
        let keys: Vec<_> = table.range(&Range { limit: usize::MAX, ..Range::default() }).expect("a range");
        assert_eq!(keys.len(), filled, "{value_bytes} bytes each: what was refused is not there");
        let (first, rest) = keys.split_at(20.min(filled));
        for (key, _) in first {
            assert_eq!(delete(&table, key), Ok(true), "{value_bytes} bytes each, of {filled} {key:?}");
        }
        let deleted = all_at_once(rest.iter().map(|(key, _)| |done| table.delete(key.clone(), done)));
        assert!(deleted.iter().all(|outcome| *outcome == Ok(true)), "{value_bytes} bytes each: {deleted:?}");
        assert_eq!(table.size(), Ok(0));
        let again = fill(&table, value_bytes);
        // Long values need pages beside each other: how many of those are left depends on which deletions came together.
        let tenths = if value_bytes > 4096 { 8 } else { 9 };
        assert!(again * 10 >= filled * tenths, "{value_bytes} bytes each: {filled} fitted at first and {again} again");
        opened.reopen();
        let table = opened.store.table("heap").expect("a name");
        assert_eq!(table.range(&Range { limit: usize::MAX, ..Range::default() }).map(|entries| entries.len()), Ok(again));
    }
}

/// A read that goes on keeps the pages of what it sees: nothing that deletions free is used again, and each needs pages of its own.
#[test]
fn a_full_store_can_be_emptied_while_it_is_read() {
    for value_bytes in [10, 100, 1000, 3000, 20_000] {
        let opened = Opened::with_bytes_max(BYTES_MAX);
        let table = opened.store.table("heap").expect("a name");
        let filled = fill(&table, value_bytes);
        let mut read = opened.store.begin().expect("a transaction");
        for n in 0..3 {
            assert_eq!(delete(&table, &key(n)), Ok(true), "{value_bytes} bytes each, of {filled} {n}");
        }
        assert_eq!(read.get(&table, &key(0)).map(|value| value.map(|value| value.len())), Ok(Some(value_bytes)));
    }
}

#[test]
fn a_full_store_takes_values_as_long_as_those_that_they_replace() {
    let opened = Opened::with_bytes_max(BYTES_MAX);
    let table = opened.store.table("heap").expect("a name");
    for n in 0..fill(&table, 1000) {
        assert_eq!(put(&table, &key(n), &[b'y'; 1000], None), Ok(true), "{n}");
    }
}

#[test]
fn one_write_that_does_not_fit_spares_the_others() {
    let opened = Opened::with_bytes_max(BYTES_MAX);
    let table = opened.store.table("heap").expect("a name");
    let (sender, receiver) = channel();
    for n in 0..40u8 {
        let value = if n % 10 == 5 { vec![b'x'; 2 * BYTES_MAX as usize] } else { vec![n] };
        let sender = sender.clone();
        table.put(vec![b'k', n], value, None, false, move |outcome| sender.send((n, outcome)).expect("somebody waits"));
    }
    drop(sender);
    for (n, outcome) in receiver {
        if n % 10 == 5 {
            assert!(matches!(outcome, Err(Error::Full { .. })), "{n}: {outcome:?}");
            assert_eq!(get(&table, &[b'k', n]), None);
        } else {
            assert_eq!(outcome, Ok(true));
            assert_eq!(get(&table, &[b'k', n]), Some(vec![n]));
        }
    }
}

#[test]
fn counts_in_memory_wait_for_room() {
    const KEYS: usize = 1000;
    let opened = Opened::with_bytes_max(BYTES_MAX);
    let (table, visits) = (opened.store.table("heap").expect("a name"), opened.store.counter("visits").expect("a name"));
    increment(&visits, b"known", 1, None).expect("an increment");
    let filled = fill(&table, 100);
    for n in 0..KEYS {
        assert_eq!(visits.increment_in_memory(format!("new {n}").as_bytes(), 1), Ok(Some(1)));
    }
    let flushed = wait(|done| opened.store.flush(done));
    assert!(matches!(flushed, Err(Error::Full { .. })), "{flushed:?}");
    all_at_once::<Result<bool, Error>>((0..filled / 2).map(|n| {
        let table = &table;
        move |done| table.delete(key(n), done)
    }));
    assert_eq!(wait(|done| opened.store.flush(done)), Ok(()));
    assert!((0..KEYS).all(|n| visits.get(format!("new {n}").as_bytes()) == Ok(1)));
}
