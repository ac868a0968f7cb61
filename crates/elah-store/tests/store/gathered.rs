//! Random writes of calls in large batches: the tables must equal maps, in every entry and in number.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use elah_store::{Claim, Gathered, GroupCommits, Range, Table};
use proptest::collection::vec;
use proptest::prelude::*;

use super::support::{Opened, wait};

const TABLES: [&str; 2] = ["own", "index"];
const TTL: Duration = Duration::from_secs(5);

/// Of one call: the table, the key, and a value, whether it expires; or no value to delete the key.
type Write = (u8, Vec<u8>, Option<(Vec<u8>, bool)>);

/// Few keys, so that writes collide. They share the bytes that are compared first, and contain zeros.
fn key() -> impl Strategy<Value = Vec<u8>> {
    let end = vec(prop_oneof![Just(0u8), Just(b'a'), Just(0xff)], 0..3);
    (prop_oneof![Just(1usize), Just(7), Just(8), Just(22), Just(23), Just(24), Just(60)], end).prop_map(|(length, end)| {
        let mut key = vec![b'k'; length];
        key.extend(end);
        key
    })
}

fn write() -> impl Strategy<Value = Write> {
    let value = (prop_oneof![4 => vec(any::<u8>(), 0..90), 1 => vec(any::<u8>(), 5000..5001)], prop::bool::weighted(0.2));
    (0..TABLES.len() as u8, key(), proptest::option::weighted(0.8, value))
}

/// By table and key; the time of expiry in milliseconds.
type Model = BTreeMap<(u8, Vec<u8>), (Vec<u8>, Option<u64>)>;

struct Run {
    opened: Opened,
    model: Model,
}

impl Run {
    fn tables(&self) -> Vec<Table> {
        TABLES.iter().map(|name| self.opened.store.table(name).expect("a name")).collect()
    }

    /// Stores the calls in one batch.
    fn store(&mut self, calls: &[Vec<Write>]) {
        let commits = GroupCommits::new(&self.tables(), Duration::ZERO).expect("tables of one store");
        let claims: Vec<Arc<Claim>> = wait(|done| commits.claim(vec![3, 5], 8, 7, done)).expect("claims");
        let mut number = 0;
        for (call, writes) in calls.iter().enumerate() {
            let mut gathered = Gathered::default();
            for (table, key, value) in writes {
                match value {
                    Some((value, expires)) => {
                        let expires_at_ms = expires.then(|| self.opened.now_ms() + TTL.as_millis() as u64);
                        gathered.put(*table, &key[..1], &key[1..], value, expires_at_ms).expect("a key");
                        self.model.insert((*table, key.clone()), (value.clone(), expires_at_ms));
                    }
                    None => {
                        gathered.delete(*table, key, b"").expect("a key");
                        self.model.remove(&(*table, key.clone()));
                    }
                }
            }
            number = commits.gather(&claims[call % claims.len()], &mut gathered);
        }
        commits.submit();
        wait(|done| commits.when_settled(number, move || done(())));
        assert!(claims.iter().all(|claim| !claim.has_failed()));
    }

    fn compare(&self) {
        let now_ms = self.opened.now_ms();
        for (number, table) in (0..).zip(self.tables()) {
            let own = || self.model.iter().filter(|((table, _), _)| *table == number);
            let live = own().filter(|(_, (_, expires))| expires.is_none_or(|time| time > now_ms));
            let expected: Vec<_> = live.map(|((_, key), (value, _))| (key.clone(), value.clone())).collect();
            assert_eq!(table.range(&Range { limit: usize::MAX, ..Range::default() }), Ok(expected));
            assert_eq!(table.size(), Ok(own().count() as u64));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn what_calls_gather_is_stored_as_in_a_map(batches in vec((vec(vec(write(), 0..8), 1..12), 0..4u64), 1..6)) {
        let mut run = Run { opened: Opened::new(), model: Model::new() };
        for (calls, seconds) in &batches {
            run.store(calls);
            run.compare();
            run.opened.advance(Duration::from_secs(*seconds));
        }
        run.opened.reopen();
        run.compare();
    }
}
