//! What a lease pool does, one rule a test.

use elah_lease_pool::{Error, ITEM_MAX, ITEMS_MAX, Key, Kind, LeasePool, Policy, Request, Terms, write_leases};

const ANY: Request<'static> = Request { session: None, item: None };

fn terms(policy: Policy) -> Terms {
    Terms { hold: 60, quarantine: 0, policy, is_draining: false }
}

fn pool(items: &[i64], terms: Terms) -> LeasePool {
    let mut pool = LeasePool::new(terms, 1);
    pool.resize(1000, items).expect("different items");
    pool
}

fn lease(pool: &mut LeasePool, now: i64) -> Option<i64> {
    pool.lease(now, &ANY).map(|lease| lease.item)
}

fn of(session: &[u8]) -> Request<'_> {
    Request { session: Some(session), item: None }
}

#[test]
fn an_item_is_lent_to_nobody_else_before_its_hold_ends() {
    let mut pool = pool(&[1, 2], terms(Policy::LongestIdle));
    assert_eq!(lease(&mut pool, 2000), Some(1));
    assert_eq!(lease(&mut pool, 2010), Some(2));
    assert_eq!(lease(&mut pool, 2059), None);
    assert_eq!(lease(&mut pool, 2060), Some(1));
    assert_eq!(lease(&mut pool, 2061), None);
    assert_eq!(pool.statistics(2061).overflows, 2);
}

#[test]
fn an_item_in_quarantine_is_lent_to_nobody() {
    let mut pool = pool(&[1], Terms { quarantine: 10, ..terms(Policy::LongestIdle) });
    assert_eq!(lease(&mut pool, 2000), Some(1));
    assert_eq!(pool.statistics(2065).quarantined, 1);
    assert_eq!(lease(&mut pool, 2069), None);
    assert_eq!(lease(&mut pool, 2071), Some(1));
}

#[test]
fn time_goes_on_after_a_clock_that_jumped() {
    let mut pool = pool(&[1], terms(Policy::LongestIdle));
    assert_eq!(lease(&mut pool, i64::MAX), Some(1));
    assert_eq!(lease(&mut pool, 2000), None);
    assert_eq!(lease(&mut pool, 2058), None);
    assert_eq!(lease(&mut pool, 2060), Some(1));
}

#[test]
fn round_robin_goes_on_after_the_item_that_was_lent_last() {
    let mut pool = pool(&[5, 6, 7], terms(Policy::RoundRobin));
    assert_eq!(lease(&mut pool, 2000), Some(5));
    assert!(pool.release(2001, 5, 1).is_some());
    assert_eq!(lease(&mut pool, 2002), Some(6));
    assert_eq!(lease(&mut pool, 2003), Some(7));
    assert_eq!(lease(&mut pool, 2004), Some(5));
}

#[test]
fn a_random_choice_reaches_every_item() {
    let mut pool = pool(&(0..10).collect::<Vec<_>>(), Terms { hold: 1, ..terms(Policy::Random) });
    let mut lent = [0; 10];
    for now in 0..1000 {
        lent[lease(&mut pool, 2000 + 5 * now).unwrap() as usize] += 1;
    }
    assert!(lent.iter().all(|count| (50..200).contains(count)), "{lent:?}");
}

#[test]
fn a_session_gets_its_lease_again_and_sticks_to_its_item() {
    let mut pool = pool(&[1, 2, 3], terms(Policy::Sticky));
    assert_eq!(lease(&mut pool, 2000), Some(1));
    let first = pool.lease(2001, &of(b"ann")).map(|lease| (lease.item, lease.serial, lease.is_changed));
    assert_eq!(first, Some((2, 2, true)));
    let again = pool.lease(2030, &of(b"ann")).map(|lease| (lease.item, lease.serial, lease.is_changed));
    assert_eq!(again, Some((2, 2, false)));
    let later = pool.lease(2100, &of(b"ann")).map(|lease| (lease.item, lease.serial));
    assert_eq!(later, Some((2, 3)));
}

#[test]
fn an_item_can_be_asked_for() {
    let mut pool = pool(&[1, 2, 3], terms(Policy::LongestIdle));
    let third = Request { session: None, item: Some(3) };
    assert_eq!(pool.lease(2000, &third).map(|lease| lease.item), Some(3));
    assert_eq!(pool.lease(2001, &third), None);
    assert_eq!(pool.lease(2002, &Request { session: None, item: Some(9) }), None);
}

#[test]
fn the_name_of_a_lease_that_is_over_misses() {
    let mut pool = pool(&[1], terms(Policy::LongestIdle));
    assert_eq!(lease(&mut pool, 2000), Some(1));
    assert!(pool.release(2001, 1, 1).is_some());
    assert_eq!(lease(&mut pool, 2002), Some(1));
    assert_eq!(pool.release(2003, 1, 1), None);
    assert_eq!(pool.renew(2003, 1, 1), None);
    assert_eq!(pool.find(2003, 1, 1), None);
    assert!(pool.find(2003, 1, 2).is_some());
}

#[test]
fn items_leave_when_their_hold_and_quarantine_are_over() {
    let mut pool = pool(&[1, 2], Terms { quarantine: 10, ..terms(Policy::LongestIdle) });
    assert_eq!(lease(&mut pool, 2000), Some(1));
    assert_eq!(pool.resize(2010, &[3]), Ok(vec![(1, 2070), (2, 2010)]));
    assert_eq!(pool.renew(2020, 1, 1).map(|lease| lease.due), Some(2060));
    assert_eq!(lease(&mut pool, 2030), Some(3));
    assert_eq!(pool.statistics(2069).leaving, 1);
    assert_eq!(pool.statistics(2070).leaving, 0);
    assert!(pool.consists_of(&[3]) && !pool.consists_of(&[1]) && !pool.consists_of(&[3, 3]));
    assert_eq!(pool.items().collect::<Vec<_>>(), [3]);
}

#[test]
fn a_draining_pool_lends_nothing_and_ends_no_hold() {
    let mut pool = pool(&[1, 2], terms(Policy::LongestIdle));
    assert_eq!(lease(&mut pool, 2000), Some(1));
    pool.change(2001, Terms { is_draining: true, ..pool.terms() }).unwrap();
    assert_eq!(lease(&mut pool, 2002), None);
    assert!(pool.find(2003, 1, 1).is_some());
    assert!(pool.renew(2003, 1, 1).is_some());
}

#[test]
fn a_shorter_hold_may_end_before_one_that_began_earlier() {
    let mut pool = pool(&[1, 2], terms(Policy::LongestIdle));
    assert_eq!(lease(&mut pool, 2000), Some(1));
    pool.change(2001, Terms { hold: 5, ..pool.terms() }).unwrap();
    assert_eq!(lease(&mut pool, 2002), Some(2));
    assert_eq!(lease(&mut pool, 2007), Some(2));
    assert!(pool.find(2050, 1, 1).is_some());
}

#[test]
fn no_two_steps_have_the_same_time_and_none_goes_back() {
    let mut pool = pool(&[1, 2, 3], terms(Policy::LongestIdle));
    let begun: Vec<i64> = [2000, 2000, 500].map(|now| pool.lease(now, &ANY).unwrap().begun).to_vec();
    assert_eq!(begun, [2000, 2001, 2002]);
}

#[test]
fn bad_input_changes_nothing() {
    let mut pool = pool(&[1], terms(Policy::LongestIdle));
    let before = pool.snapshot();
    assert_eq!(pool.resize(2000, &[1, 1]), Err(Error::DuplicateItem { item: 1 }));
    assert_eq!(pool.resize(2000, &[-1]), Err(Error::InvalidItem { item: -1 }));
    assert_eq!(pool.resize(2000, &[ITEM_MAX + 1]), Err(Error::InvalidItem { item: ITEM_MAX + 1 }));
    let many: Vec<i64> = (0..=ITEMS_MAX as i64).collect();
    assert_eq!(pool.resize(2000, &many), Err(Error::TooManyItems { count: ITEMS_MAX + 1 }));
    let terms = Terms { hold: 0, ..pool.terms() };
    assert_eq!(pool.change(2000, terms), Err(Error::InvalidTerms { what: "hold", value: 0 }));
    assert_eq!(of(b"").check(), Err(Error::InvalidSession { bytes: 0 }));
    assert_eq!(of(&[b'a'; 256]).check(), Err(Error::InvalidSession { bytes: 256 }));
    assert_eq!(Key::new(&[0; 256]), Err(Error::PrefixTooLong { bytes: 256 }));
    assert_eq!(pool.snapshot(), before);
}

#[test]
fn times_at_the_end_of_the_range_overflow_nothing() {
    let mut pool = pool(&[1, 2], Terms { quarantine: 10, ..terms(Policy::LongestIdle) });
    assert_eq!(lease(&mut pool, i64::MAX), Some(1));
    assert_eq!(lease(&mut pool, i64::MAX), Some(2));
    assert_eq!(pool.statistics(i64::MAX).held, 2, "the pool's time ends before the range does");
}

#[test]
fn keys_are_in_the_order_of_the_steps() {
    let key = Key::new(b"7").unwrap();
    assert!(key.of(Kind::Step, 255) < key.of(Kind::Step, 256));
    assert_eq!(key.time(&key.of(Kind::Snapshot, 256)), Ok(256));
    assert!(key.of(Kind::Step, 1).starts_with(&key.prefix(Kind::Step)));
    assert!(!Key::new(b"77").unwrap().of(Kind::Step, 1).starts_with(&key.prefix(Kind::Step)));
    assert!(key.time(b"short").is_err());
}

#[test]
fn leases_as_json() {
    let mut pool = pool(&[1], terms(Policy::LongestIdle));
    let mut text = Vec::new();
    write_leases([pool.lease(2000, &of(b"a\"\\\n\xff")), None].into_iter(), &mut text);
    let expected = r#"[{"lease":"1-1","item":1,"session":"a\"\\\u000a�","begun_at":2000,"held_until":2060},null]"#;
    assert_eq!(String::from_utf8(text).unwrap(), expected);
}

/// The pool took a third list, and its snapshot was then refused at every start.
#[test]
fn a_pool_whose_items_leave_can_be_restored_after_any_list_that_it_takes() {
    let count = ITEMS_MAX as i64;
    let list = |number: i64| (number * count..(number + 1) * count).collect::<Vec<_>>();
    let mut pool = LeasePool::new(Terms { hold: 1_000_000, ..terms(Policy::RoundRobin) }, 1);
    for number in 0..2 {
        pool.resize(1000, &list(number)).expect("room for the items that leave");
        while lease(&mut pool, 1000).is_some() {}
    }
    assert_eq!(pool.resize(1000, &list(2)), Err(Error::TooManyLeaving { count: 2 * ITEMS_MAX }));
    assert_eq!(pool.resize(1000, &[1]).map(|left| left.len()), Ok(2 * ITEMS_MAX - 1));
    let later = pool.now() + 1_000_000;
    assert_eq!(pool.resize(later, &list(2)).map(|left| left.len()), Ok(1));
    assert_eq!(LeasePool::restore(&pool.snapshot(), 1).map(|restored| restored.len()), Ok(ITEMS_MAX));
}
