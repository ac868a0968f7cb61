//! Simulated kills of a journal's owner at every point between its steps. What a copy of the directory recovers to must equal
//! what was counted, however often recovery itself is killed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use proptest::collection::vec;
use proptest::prelude::*;
use tempfile::TempDir;

use super::segment::{SEGMENT_BYTES, sums};
use super::*;
use crate::env::{self, Env, Tree};
use crate::layout::{FullKey, Kind, decode_count};
use crate::session::{Session, file_identity};
use crate::table::TableName;
use crate::write::{Changes, Work, Write};

const BYTES_MAX: u64 = 16 * 1024 * 1024;
/// The first counter of a store.
const TABLE: TableId = TableId(16);

struct Owner {
    dir: TempDir,
    env: Env,
    tree: Tree,
    journal: Journal,
    /// Committed, but not released.
    committed: Option<Sealed>,
    counted: BTreeMap<Vec<u8>, i64>,
}

#[derive(Clone, Debug)]
enum Step {
    Add(u8, i8),
    Commit,
    Release,
    Kill,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (any::<u8>(), any::<i8>()).prop_map(|(key, by)| Step::Add(key % 8, by)),
        2 => Just(Step::Commit),
        2 => Just(Step::Release),
        1 => Just(Step::Kill),
    ]
}

impl Owner {
    fn new() -> Self {
        let dir = TempDir::new().expect("a directory");
        let (env, tree, _) = env::open(dir.path(), BYTES_MAX).expect("a store");
        let mut session = Session::begin(&env, tree, 0).expect("a session");
        let introduce = Write::Introduce { counter: Arc::new(TableName::new(Kind::Counter, "visits").expect("a name")) };
        session.apply(&Work::Changes(Changes::one(introduce))).expect("a counter");
        session.commit().expect("a commit");
        let data_file = file_identity(tree, &env.read_txn().expect("a snapshot")).expect("an identity");
        let journal = Journal::create(dir.path(), data_file).expect("a journal");
        Owner { dir, env, tree, journal, committed: None, counted: BTreeMap::new() }
    }

    fn take(&mut self, step: &Step) {
        match step {
            Step::Add(key, by) => {
                let key = vec![b'k'; usize::from(*key) * 7 + 1];
                let value = match self.journal.add(TABLE, &key, i64::from(*by), |_| Ok(0)).expect("an increment") {
                    Added::To(value) => value,
                    Added::NoRoom => panic!("a few keys fit"),
                };
                assert_eq!(value, self.journal.active_total(TABLE, &key));
                *self.counted.entry(key).or_insert(0) += i64::from(*by);
            }
            Step::Commit => {
                if self.committed.is_none()
                    && let Some(sealed) = self.journal.seal()
                {
                    let mut session = Session::begin(&self.env, self.tree, 0).expect("a session");
                    for sum in sealed.sums() {
                        session.add(sum.table, sum.key, sum.total).expect("room");
                    }
                    session.set_folded_generation(self.journal.name(), sealed.generation()).expect("room");
                    session.commit().expect("a commit");
                    self.committed = Some(sealed);
                }
            }
            Step::Release => {
                if let Some(sealed) = self.committed.take() {
                    self.journal.release(sealed);
                }
            }
            Step::Kill => self.recover_a_copy(),
        }
    }

    /// Recovers the files that a kill at this moment would leave, three times: the first is killed before it removes the journal.
    fn recover_a_copy(&self) {
        let copy = TempDir::new().expect("a directory");
        copy_file(self.dir.path(), copy.path(), "data.mdb");
        let (env, tree, _) = env::open(copy.path(), BYTES_MAX).expect("the copy");
        for _ in 0..3 {
            copy_file(self.dir.path(), copy.path(), self.journal.name());
            recover(&env, tree, orphans(copy.path()).expect("a directory"), 0).expect("a recovery");
            assert!(journals(copy.path()).is_empty(), "recovered journals are removed");
            let snapshot = env.read_txn().expect("a snapshot");
            for (key, counted) in &self.counted {
                let stored = tree.get(&snapshot, FullKey::new(TABLE, key).expect("a key").as_bytes()).expect("a read");
                let found = stored.map_or(0, |stored| decode_count(stored).expect("a count"));
                assert_eq!(found, *counted, "{key:?}");
            }
        }
        forget_finished(&env, tree, copy.path()).expect("room");
        let snapshot = env.read_txn().expect("a snapshot");
        assert_eq!(crate::session::folded_generation(tree, &snapshot, self.journal.name()), Ok(0));
    }
}

fn copy_file(from: &Path, to: &Path, name: &str) {
    fs::copy(from.join(name), to.join(name)).expect("a copy");
}

fn journals(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).expect("a directory").map(|entry| entry.expect("an entry").path());
    entries.filter(|path| path.extension().is_some_and(|extension| extension == &SUFFIX[1..])).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn a_kill_between_any_two_steps_loses_nothing_and_doubles_nothing(steps in vec(step(), 1..40)) {
        let mut owner = Owner::new();
        for step in steps.iter().chain([&Step::Kill]) {
            owner.take(step);
        }
    }
}

#[test]
fn a_journal_of_a_living_process_is_left_alone() {
    let owner = Owner::new();
    assert!(orphans(owner.dir.path()).expect("a directory").is_empty());
    assert_eq!(journals(owner.dir.path()).len(), 1);
}

#[test]
fn a_journal_that_was_never_finished_is_removed() {
    let owner = Owner::new();
    for content in [&[][..], &[0; 100]] {
        let draft = owner.dir.path().join(format!("counters-1-1{DRAFT_SUFFIX}"));
        fs::write(&draft, content).expect("a file");
        assert!(orphans(owner.dir.path()).expect("a directory").is_empty());
        assert!(!draft.exists());
    }
}

#[test]
fn a_full_segment_refuses_and_stays_whole() {
    let mut owner = Owner::new();
    let mut defined = 0;
    let refused = loop {
        let key = format!("a key of some length {defined:06}").into_bytes();
        match owner.journal.add(TABLE, &key, 1, |_| Ok(0)).expect("an increment") {
            Added::To(_) => defined += 1,
            Added::NoRoom => break key,
        }
    };
    assert!(defined > 10_000, "{defined} keys fit into {SEGMENT_BYTES} bytes");
    assert_eq!(owner.journal.active_total(TABLE, &refused), 0);
    assert!(matches!(owner.journal.add(TABLE, b"a key of some length 000007", 1, |_| Ok(0)), Ok(Added::To(2))));
    let sealed = owner.journal.seal().expect("something to fold");
    assert_eq!(sealed.sums().len(), defined);
    assert!(matches!(owner.journal.add(TABLE, &refused, 1, |_| Ok(0)), Ok(Added::To(1))), "the other segment has room");
}

#[test]
fn a_slot_that_was_not_finished_does_not_count() {
    let mut owner = Owner::new();
    for key in [b"first", b"other"] {
        owner.take(&Step::Release);
        assert!(matches!(owner.journal.add(TABLE, key, 5, |_| Ok(0)), Ok(Added::To(5))));
    }
    let content = fs::read(owner.dir.path().join(owner.journal.name())).expect("a journal");
    let segment = &content[..SEGMENT_BYTES];
    assert_eq!(sums(segment).count(), 2);
    // The second slot starts at 64. With a wrong name or generation it does not exist.
    for at in [64, 80, 84, 86, 88] {
        let mut torn = segment.to_vec();
        torn[at] ^= 1;
        assert_eq!(sums(&torn).map(|sum| sum.key).collect::<Vec<_>>(), [b"first"], "byte {at}");
    }
    let mut cut = segment.to_vec();
    cut[84..86].copy_from_slice(&u16::MAX.to_le_bytes());
    assert_eq!(sums(&cut).count(), 1);
    assert_eq!(sums(&[]).count() + sums(&[0; 40]).count(), 0);
}
