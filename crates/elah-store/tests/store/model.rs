//! Random operations on a store and on a `BTreeMap`: every result must be the same, also after reopening the store.

use std::collections::BTreeMap;
use std::time::Duration;

use elah_store::{Counter, Range, Table};
use proptest::collection::vec;
use proptest::prelude::*;

use super::support::{Opened, commit, delete, get, increment, put, put_new, wait};

#[derive(Clone, Debug)]
pub enum Operation {
    Put(Vec<u8>, Vec<u8>, Option<u8>),
    PutNew(Vec<u8>, Vec<u8>, Option<u8>),
    Delete(Vec<u8>),
    Range(Range),
    Increment(Vec<u8>, i8, Option<i8>),
    IncrementInMemory(Vec<u8>, i8),
    DeleteCount(Vec<u8>),
    Together(Vec<Operation>),
    Advance(u8),
    Sweep,
    Flush,
    Reopen,
}

/// Few keys, so that operations collide, with bytes that are hard to order.
fn key() -> impl Strategy<Value = Vec<u8>> {
    vec(prop_oneof![Just(0u8), Just(b'a'), Just(b'b'), Just(0xfe), Just(0xff)], 1..4)
}

fn value() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![vec(any::<u8>(), 0..8), vec(any::<u8>(), 5000..5001)]
}

fn range() -> impl Strategy<Value = Range> {
    let end = || proptest::option::of(prop_oneof![Just(Vec::new()), key()]);
    (end(), end(), end(), end(), 0..6usize, any::<bool>()).prop_map(|(prefix, from, to, after, limit, is_reverse)| Range {
        prefix,
        from,
        to,
        after,
        limit,
        is_reverse,
    })
}

fn simple() -> impl Strategy<Value = Operation> {
    let ttl = || proptest::option::of(1..20u8);
    prop_oneof![
        4 => (key(), value(), ttl()).prop_map(|(key, value, ttl)| Operation::Put(key, value, ttl)),
        2 => (key(), value(), ttl()).prop_map(|(key, value, ttl)| Operation::PutNew(key, value, ttl)),
        2 => key().prop_map(Operation::Delete),
        4 => range().prop_map(Operation::Range),
        2 => (key(), any::<i8>(), proptest::option::of(any::<i8>())).prop_map(|(key, by, max)| Operation::Increment(key, by, max)),
    ]
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        12 => simple(),
        3 => (key(), any::<i8>()).prop_map(|(key, by)| Operation::IncrementInMemory(key, by)),
        1 => key().prop_map(Operation::DeleteCount),
        3 => vec(simple(), 1..6).prop_map(Operation::Together),
        1 => (1..20u8).prop_map(Operation::Advance),
        1 => Just(Operation::Sweep),
        1 => Just(Operation::Flush),
        1 => Just(Operation::Reopen),
    ]
}

#[derive(Clone, Default)]
struct Model {
    entries: BTreeMap<Vec<u8>, (Vec<u8>, Option<u64>)>,
    counts: BTreeMap<Vec<u8>, i64>,
}

impl Model {
    fn get(&self, key: &[u8], now_ms: u64) -> Option<Vec<u8>> {
        self.entries.get(key).filter(|(_, expires)| expires.is_none_or(|time| time > now_ms)).map(|(value, _)| value.clone())
    }

    fn range(&self, range: &Range, now_ms: u64) -> Vec<(Vec<u8>, Vec<u8>)> {
        let is_in = |key: &Vec<u8>| {
            range.prefix.as_ref().is_none_or(|prefix| key.starts_with(prefix))
                && range.from.as_ref().is_none_or(|from| key >= from)
                && range.to.as_ref().is_none_or(|to| key < to)
                && range.after.as_ref().is_none_or(|after| if range.is_reverse { key < after } else { key > after })
        };
        let mut keys: Vec<_> = self.entries.keys().filter(|key| is_in(key)).collect();
        if range.is_reverse {
            keys.reverse();
        }
        keys.into_iter().filter_map(|key| Some((key.clone(), self.get(key, now_ms)?))).take(range.limit).collect()
    }

    fn sweep(&mut self, now_ms: u64) -> usize {
        let before = self.entries.len();
        self.entries.retain(|_, (_, expires)| expires.is_none_or(|time| time > now_ms));
        before - self.entries.len()
    }
}

fn seconds(ttl: &Option<u8>) -> Option<Duration> {
    ttl.map(|seconds| Duration::from_secs(u64::from(seconds)))
}

/// One run: the store, its model, and the operations on both.
pub struct Run {
    pub opened: Opened,
    pub table: Table,
    pub counter: Counter,
    model: Model,
}

impl Run {
    pub fn new() -> Self {
        let opened = Opened::new();
        let (table, counter) = Self::names(&opened);
        Run { opened, table, counter, model: Model::default() }
    }

    fn names(opened: &Opened) -> (Table, Counter) {
        (opened.store.table("things").expect("a name"), opened.store.counter("things").expect("a name"))
    }

    pub fn apply(&mut self, operation: &Operation) {
        let now_ms = self.opened.now_ms();
        match operation {
            Operation::Put(key, value, ttl) => {
                put(&self.table, key, value, seconds(ttl)).expect("a put");
            }
            Operation::PutNew(key, value, ttl) => {
                let is_new = self.model.get(key, now_ms).is_none();
                assert_eq!(put_new(&self.table, key, value, seconds(ttl)), Ok(is_new));
            }
            Operation::Delete(key) => assert_eq!(delete(&self.table, key), Ok(self.model.get(key, now_ms).is_some())),
            Operation::Range(range) => assert_eq!(self.table.range(range), Ok(self.model.range(range, now_ms))),
            Operation::Increment(key, by, max) => {
                let expected = self.sum(key, *by, *max);
                assert_eq!(increment(&self.counter, key, i64::from(*by), max.map(i64::from)), Ok(expected));
            }
            Operation::IncrementInMemory(key, by) => {
                let by = i64::from(*by);
                let value = match self.counter.increment_in_memory(key, by).expect("an increment") {
                    None => increment(&self.counter, key, by, None).expect("an increment"),
                    value => value,
                };
                let count = self.model.counts.entry(key.clone()).or_insert(0);
                *count += by;
                assert_eq!(value, Some(*count));
            }
            Operation::DeleteCount(key) => {
                let was_there = self.model.counts.remove(key).is_some();
                assert_eq!(wait(|done| self.counter.delete(key.clone(), done)), Ok(was_there));
            }
            Operation::Together(operations) => return self.apply_together(operations, now_ms),
            Operation::Advance(seconds) => self.opened.advance(Duration::from_secs(u64::from(*seconds))),
            Operation::Sweep => assert_eq!(wait(|done| self.opened.store.sweep(done)), Ok(self.model.sweep(now_ms))),
            Operation::Flush => assert_eq!(wait(|done| self.opened.store.flush(done)), Ok(())),
            Operation::Reopen => {
                self.opened.reopen();
                (self.table, self.counter) = Self::names(&self.opened);
            }
        }
        self.note(operation, now_ms);
    }

    fn sum(&self, key: &[u8], by: i8, max: Option<i8>) -> Option<i64> {
        let sum = self.model.counts.get(key).unwrap_or(&0) + i64::from(by);
        max.is_none_or(|max| sum <= i64::from(max)).then_some(sum)
    }

    /// Applies an operation of the store to the model.
    fn note(&mut self, operation: &Operation, now_ms: u64) {
        match operation {
            Operation::PutNew(key, ..) if self.model.get(key, now_ms).is_some() => {}
            Operation::Put(key, value, ttl) | Operation::PutNew(key, value, ttl) => {
                let expires = ttl.map(|seconds| now_ms + u64::from(seconds) * 1000);
                self.model.entries.insert(key.clone(), (value.clone(), expires));
            }
            Operation::Delete(key) => {
                self.model.entries.remove(key);
            }
            Operation::Increment(key, by, max) => {
                if let Some(sum) = self.sum(key, *by, *max) {
                    self.model.counts.insert(key.clone(), sum);
                }
            }
            _ => {}
        }
    }

    fn apply_together(&mut self, operations: &[Operation], now_ms: u64) {
        wait(|done| self.opened.store.flush(done)).expect("a flush");
        let mut transaction = self.opened.store.begin().expect("a transaction");
        for operation in operations {
            match operation {
                Operation::Put(key, value, ttl) => transaction.put(&self.table, key, value.clone(), seconds(ttl)).expect("a put"),
                Operation::PutNew(key, value, ttl) => {
                    let is_new = self.model.get(key, now_ms).is_none();
                    assert_eq!(transaction.put_new(&self.table, key, value.clone(), seconds(ttl)), Ok(is_new));
                }
                Operation::Delete(key) => {
                    let is_there = self.model.get(key, now_ms).is_some();
                    assert_eq!(transaction.delete(&self.table, key), Ok(is_there));
                    if !is_there {
                        // Expired entries are left to the sweeper.
                        continue;
                    }
                }
                Operation::Range(range) => {
                    assert_eq!(transaction.range(&self.table, range), Ok(self.model.range(range, now_ms)));
                }
                Operation::Increment(key, by, max) => {
                    let expected = self.sum(key, *by, *max);
                    assert_eq!(transaction.increment(&self.counter, key, i64::from(*by), max.map(i64::from)), Ok(expected));
                }
                other => unreachable!("{other:?} is not part of a transaction"),
            }
            self.note(operation, now_ms);
        }
        assert_eq!(commit(transaction), Ok(()));
    }

    pub fn compare(&self) {
        let everything = Range { limit: usize::MAX, ..Range::default() };
        assert_eq!(self.table.range(&everything), Ok(self.model.range(&everything, self.opened.now_ms())));
        assert_eq!(self.table.size(), Ok(self.model.entries.len() as u64));
        for (key, count) in &self.model.counts {
            assert_eq!(self.counter.get(key), Ok(*count));
        }
        for key in self.model.entries.keys() {
            assert_eq!(get(&self.table, key), self.model.get(key, self.opened.now_ms()));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn the_store_does_what_a_map_does(operations in vec(operation(), 1..60)) {
        let mut run = Run::new();
        for operation in &operations {
            run.apply(operation);
        }
        run.compare();
        run.apply(&Operation::Reopen);
        run.compare();
    }
}
