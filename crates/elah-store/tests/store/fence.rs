//! Owners of shards: writes are stored under their epoch, and refused after another owner has claimed the shard.

use std::sync::Arc;
use std::time::Duration;

use elah_store::{Claim, Error, Gathered, GroupCommits, Range, Table};

use super::support::{Opened, get, wait};

/// One owner, like a process.
struct Owner {
    commits: GroupCommits,
    claims: Vec<Arc<Claim>>,
    own: Table,
}

impl Owner {
    fn new(opened: &Opened, shards: &[u16]) -> Self {
        Self::with_delay(opened, shards, Duration::ZERO)
    }

    fn with_delay(opened: &Opened, shards: &[u16], commit_delay: Duration) -> Self {
        let own = opened.store.table("own").expect("a name");
        let index = opened.store.table("index").expect("a name");
        let commits = GroupCommits::new(&[own.clone(), index], commit_delay).expect("tables of one store");
        let claims = claim(&commits, shards, 8).expect("claims");
        Owner { commits, claims, own }
    }

    /// Writes a key and an index row under the claim at this position.
    fn gather(&self, claim: usize, key: &[u8], value: &[u8]) -> u64 {
        let mut gathered = Gathered::default();
        gathered.put(0, b"", key, value, None).expect("a key");
        gathered.put(1, b"", key, b"row", None).expect("a key");
        self.commits.gather(&self.claims[claim], &mut gathered)
    }

    fn settle(&self, batch: u64) {
        self.commits.submit();
        wait(|done| self.commits.when_settled(batch, move || done(())));
    }

    fn write(&self, claim: usize, key: &[u8], value: &[u8]) -> Result<(), Error> {
        let batch = self.gather(claim, key, value);
        self.settle(batch);
        self.claims[claim].failure(batch).map_or(Ok(()), Err)
    }
}

fn claim(commits: &GroupCommits, shards: &[u16], of: u32) -> Result<Vec<Arc<Claim>>, Error> {
    wait(|done| commits.claim(shards.to_vec(), of, 7, done))
}

#[test]
fn an_owner_that_only_reads_finds_out_that_it_was_replaced() {
    let opened = Opened::new();
    let old = Owner::new(&opened, &[3, 4]);
    assert!(old.claims.iter().all(|claim| old.commits.still_owns(claim)));
    assert_eq!(old.write(0, b"a", b"old"), Ok(()));
    assert!(old.commits.still_owns(&old.claims[0]), "its own commits change nothing");

    let new = Owner::new(&opened, &[3]);
    assert!(!old.commits.still_owns(&old.claims[0]));
    assert!(old.commits.still_owns(&old.claims[1]), "nobody else has claimed that one");
    assert!(new.commits.still_owns(&new.claims[0]));
    assert!(old.claims[0].has_failed() && old.claims[0].renewed().is_none());
    assert!(!old.claims[1].has_failed());
    assert!(old.claims[0].failure(u64::MAX).is_none(), "what it had written is stored");

    let late = old.gather(0, b"a", b"late");
    old.settle(late);
    assert!(matches!(old.claims[0].failure(late), Some(Error::Fenced { shard: 3, .. })), "a batch is fenced all the same");
    assert_eq!(get(&new.own, b"a"), Some(b"old".to_vec()));
}

#[test]
fn an_owner_that_was_replaced_stores_nothing() {
    let opened = Opened::new();
    let old = Owner::new(&opened, &[3]);
    assert_eq!(old.write(0, b"a", b"old"), Ok(()));
    let new = Owner::new(&opened, &[3]);
    assert_eq!((old.claims[0].epoch(), new.claims[0].epoch()), (1, 2));
    assert_eq!(old.write(0, b"a", b"late"), Err(Error::Fenced { shard: 3, epoch: 1, stored: 2 }));
    assert_eq!(get(&old.own, b"a"), Some(b"old".to_vec()));
    assert_eq!(new.write(0, b"a", b"new"), Ok(()));
    assert_eq!(get(&old.own, b"a"), Some(b"new".to_vec()));
    assert!(old.claims[0].renewed().is_none(), "the right is lost");
}

#[test]
fn batches_that_may_wait_go_to_the_disk_together_and_at_once_when_somebody_waits_for_them() {
    let opened = Opened::new();
    let owner = Owner::with_delay(&opened, &[3], Duration::from_secs(600));
    let first = owner.gather(0, b"a", b"1");
    owner.commits.submit();
    owner.gather(0, b"b", b"2");
    owner.commits.submit();
    assert_eq!((owner.commits.settled(), get(&owner.own, b"a")), (0, None), "both wait for others");
    wait(|done| owner.commits.when_settled(first, move || done(())));
    assert_eq!(get(&owner.own, b"b"), Some(b"2".to_vec()), "what waits leaves together");
    let urgent = Owner::new(&opened, &[4]);
    let third = owner.gather(0, b"c", b"3");
    owner.commits.submit();
    assert_eq!(urgent.write(0, b"d", b"4"), Ok(()));
    assert_eq!(owner.commits.settled(), third, "and with whatever is urgent");
}

#[test]
fn a_delay_that_is_over_ends_the_wait() {
    let opened = Opened::new();
    let owner = Owner::with_delay(&opened, &[3], Duration::from_millis(1));
    owner.gather(0, b"a", b"1");
    owner.commits.submit();
    while get(&owner.own, b"a").is_none() {
        std::thread::yield_now();
    }
}

#[test]
fn what_waits_behind_a_claim_is_judged_by_it() {
    let opened = Opened::new();
    let old = Owner::new(&opened, &[3]);
    // All three are in flight at the same time, in this order.
    old.gather(0, b"before", b"1");
    old.commits.submit();
    let (sender, receiver) = std::sync::mpsc::channel();
    old.commits.claim(vec![3], 8, 8, move |claims| sender.send(claims).expect("somebody waits"));
    let late = old.gather(0, b"after", b"1");
    old.settle(late);
    receiver.recv().expect("a result").expect("claims");
    assert_eq!(get(&old.own, b"before"), Some(b"1".to_vec()));
    assert_eq!(get(&old.own, b"after"), None);
    assert!(old.claims[0].failure(late - 1).is_none(), "the first batch was stored");
    assert!(old.claims[0].failure(late).is_some());
}

#[test]
fn one_shard_takes_nothing_from_the_others_of_its_batch() {
    let opened = Opened::new();
    let old = Owner::new(&opened, &[1, 2]);
    let _new = Owner::new(&opened, &[2]);
    let batch = old.gather(0, b"mine", b"1");
    assert_eq!(old.gather(1, b"not mine", b"1"), batch);
    old.settle(batch);
    assert!(old.claims[0].failure(batch).is_none());
    assert!(matches!(old.claims[1].failure(batch), Some(Error::Fenced { shard: 2, .. })));
    let rows = old
        .commits
        .range_now(1, &Range { limit: 10, ..Range::default() }, &Gathered::default())
        .expect("read at once")
        .expect("a range");
    assert_eq!(rows, [(b"mine".to_vec(), b"row".to_vec())]);
}

#[test]
fn epochs_outlive_the_process() {
    let mut opened = Opened::new();
    assert_eq!(Owner::new(&opened, &[0, 7]).claims[1].epoch(), 1);
    opened.reopen();
    assert_eq!(Owner::new(&opened, &[7]).claims[0].epoch(), 2);
}

#[test]
fn a_store_keeps_its_number_of_shards() {
    let opened = Opened::new();
    let owner = Owner::new(&opened, &[0]);
    assert_eq!(claim(&owner.commits, &[0], 16).unwrap_err(), Error::OtherShards { stored: 8, asked: 16 });
    assert_eq!(owner.write(0, b"a", b"1"), Ok(()), "what was refused has changed nothing");
}

#[test]
fn what_builds_on_a_batch_that_did_not_fit_is_not_stored_either() {
    let opened = Opened::with_bytes_max(1024 * 1024);
    let owner = Owner::new(&opened, &[0, 1]);
    assert_eq!(owner.write(0, b"a", b"1"), Ok(()));
    let too_much = owner.gather(0, b"b", &vec![0; 2 * 1024 * 1024]);
    owner.commits.submit();
    let builds_on_it = owner.gather(0, b"a", b"2");
    let other_shard = owner.gather(1, b"c", b"1");
    owner.settle(other_shard);
    assert!(matches!(owner.claims[0].failure(too_much), Some(Error::Full { .. })));
    assert!(owner.claims[0].failure(builds_on_it).is_some());
    assert_eq!(get(&owner.own, b"a"), Some(b"1".to_vec()));
    assert_eq!(get(&owner.own, b"c"), Some(b"1".to_vec()), "others go on");
    let again = owner.claims[0].renewed().expect("the shard is still this owner's");
    let mut gathered = Gathered::default();
    gathered.put(0, b"", b"a", b"3", None).expect("a key");
    let batch = owner.commits.gather(&again, &mut gathered);
    owner.settle(batch);
    assert_eq!(get(&owner.own, b"a"), Some(b"3".to_vec()));
}

#[test]
fn a_claim_fails_with_the_error_of_its_earliest_lost_batch() {
    // A later batch that was not sent failed first and said "not stored", so that the caller of the earlier one, which may be stored, did it again.
    let claim = Claim::new(3, 7);
    let unknown = Error::Unavailable { why: "no reply".to_owned(), may_have_run: true };
    claim.fail(5, &Error::Fenced { shard: 3, epoch: 7, stored: 8 });
    claim.fail(4, &unknown);
    assert_eq!(None, claim.failure(3));
    assert_eq!(Some(unknown.clone()), claim.failure(4));
    assert_eq!(Some(unknown), claim.failure(5), "it may build on the earlier one");
    assert!(claim.has_failed() && claim.renewed().is_none(), "another owner has the shard");
}

#[test]
fn a_batch_that_waits_is_stored_when_a_later_one_is_refused() {
    // The refused one was settled first, so that the waiting one was confirmed and left out.
    let opened = Opened::new();
    let owner = Owner::with_delay(&opened, &[3], Duration::from_secs(600));
    let waiting = owner.gather(0, b"a", b"1");
    owner.commits.submit();
    let megabyte = vec![b'x'; 1024 * 1024];
    let refused = (0..65u8).map(|key| owner.gather(0, &[key], &megabyte)).last().expect("a batch");
    owner.commits.submit();
    assert!(owner.commits.settled() < waiting);
    owner.settle(refused);
    assert_eq!(None, owner.claims[0].failure(waiting));
    assert!(matches!(owner.claims[0].failure(refused), Some(Error::Overloaded { .. })));
    assert_eq!(Some(b"1".to_vec()), get(&owner.own, b"a"));
    assert_eq!(None, get(&owner.own, &[0]));
}
