//! The operations of `model` with difficult keys: of maximum length, of zeros and of bytes 255, and prefixes of each other.
//! Invalid keys are refused and change nothing.

use elah_fuzz::{Random, run};
use elah_store::{Error, KEY_BYTES_MAX, Range};

use super::model::{Operation, Run};
use super::support::{commit, delete, increment, put, put_new, wait};

const OPERATIONS_MAX: usize = 60;

/// A key that is related to an earlier one, more often than not.
fn key(random: &mut Random, used: &mut Vec<Vec<u8>>) -> Vec<u8> {
    let mut key = match random.below(6) {
        0 | 1 if !used.is_empty() => return random.pick(used).clone(),
        2 if !used.is_empty() => {
            let mut longer = random.pick(used).clone();
            longer.extend(of_few_bytes(random, 3));
            longer
        }
        3 if !used.is_empty() => {
            let mut shorter = random.pick(used).clone();
            shorter.truncate(1 + random.below(shorter.len()));
            shorter
        }
        4 => vec![*random.pick(&[0, 1, 0xfe, 0xff]); KEY_BYTES_MAX - random.below(3)],
        _ => of_few_bytes(random, 8),
    };
    key.truncate(KEY_BYTES_MAX);
    if key.is_empty() {
        key.push(random.byte());
    }
    used.push(key.clone());
    key
}

fn of_few_bytes(random: &mut Random, max: usize) -> Vec<u8> {
    (0..random.below(max + 1))
        .map(|_| if random.once_in(8) { random.byte() } else { *random.pick(&[0, 0, 0xff, 0xff, b'a']) })
        .collect()
}

fn value(random: &mut Random) -> Vec<u8> {
    match random.below(8) {
        0 => vec![random.byte(); 2000 + random.below(6000)],
        _ => random.bytes(12),
    }
}

fn ttl(random: &mut Random) -> Option<u8> {
    random.once_in(3).then(|| 1 + random.below(20) as u8)
}

fn range(random: &mut Random, used: &mut Vec<Vec<u8>>) -> Range {
    let mut end = |random: &mut Random| match random.below(5) {
        0 => Some(Vec::new()),
        1 => Some(key(random, used)),
        2 => Some(of_few_bytes(random, 2)),
        _ => None,
    };
    let (prefix, from, to, after) = (end(random), end(random), end(random), end(random));
    let limit = if random.once_in(2) { random.below(6) } else { usize::MAX };
    Range { prefix, from, to, after, limit, is_reverse: random.once_in(2) }
}

fn simple(random: &mut Random, used: &mut Vec<Vec<u8>>) -> Operation {
    match random.below(10) {
        0..=3 => Operation::Put(key(random, used), value(random), ttl(random)),
        4 => Operation::PutNew(key(random, used), value(random), ttl(random)),
        5 | 6 => Operation::Delete(key(random, used)),
        7 | 8 => Operation::Range(range(random, used)),
        _ => Operation::Increment(key(random, used), random.byte() as i8, random.once_in(2).then(|| random.byte() as i8)),
    }
}

fn operation(random: &mut Random, used: &mut Vec<Vec<u8>>) -> Operation {
    match random.below(24) {
        0..=2 => Operation::IncrementInMemory(key(random, used), random.byte() as i8),
        3 => Operation::DeleteCount(key(random, used)),
        4..=6 => Operation::Together((0..random.below(8)).map(|_| simple(random, used)).collect()),
        7 | 8 => Operation::Advance(1 + random.below(20) as u8),
        9 => Operation::Sweep,
        10 => Operation::Flush,
        11 => Operation::Reopen,
        _ => simple(random, used),
    }
}

/// Tries every call with an invalid key.
fn refuse(of: &Run, key: &[u8]) {
    let refused = Error::InvalidKey { bytes: key.len() };
    let (table, counter) = (&of.table, &of.counter);
    assert_eq!(put(table, key, b"v", None), Err(refused.clone()));
    assert_eq!(put_new(table, key, b"v", None), Err(refused.clone()));
    assert_eq!(delete(table, key), Err(refused.clone()));
    assert_eq!(table.get(key, &mut Vec::new()), Err(refused.clone()));
    assert_eq!(increment(counter, key, 1, None), Err(refused.clone()));
    assert_eq!(counter.increment_in_memory(key, 1), Err(refused.clone()));
    assert_eq!(counter.get(key), Err(refused.clone()));
    assert_eq!(wait(|done| counter.delete(key.to_vec(), done)), Err(refused.clone()));
    let mut transaction = of.opened.store.begin().expect("a transaction");
    assert_eq!(transaction.put(table, key, b"v".to_vec(), None), Err(refused.clone()));
    assert_eq!(transaction.delete(table, key), Err(refused));
    assert_eq!(commit(transaction), Ok(()));
}

#[test]
fn fuzz_keys_against_a_map() {
    run("store keys", |random| {
        let mut used = Vec::new();
        let mut run = Run::new();
        for _ in 0..random.below(OPERATIONS_MAX) {
            run.apply(&operation(random, &mut used));
            if random.once_in(20) {
                let bytes = *random.pick(&[0, KEY_BYTES_MAX + 1, KEY_BYTES_MAX + 2, 4096]);
                refuse(&run, &vec![random.byte(); bytes]);
            }
        }
        run.compare();
        run.apply(&Operation::Reopen);
        run.compare();
    });
}
