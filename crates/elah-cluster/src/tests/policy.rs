//! What a machine decides, one event after the other: whom it fences, what it claims, hands over and reports.

use crate::{Action, Board, Claimed, Config, Event, Held, Machine, Opened, Reply, Role, Seen, ShardRow, Statement, WriterRow};

const LEASE: u64 = 5_000;

/// A machine with its time. Writer 7 of a cluster with 20 shards.
struct Driver {
    machine: Machine,
    now: u64,
}

fn row(writer: u64, sequence: u64) -> WriterRow {
    let seen = Seen { sequence, session: 1 };
    WriterRow { writer, version: 1, lease: LEASE, is_ready: true, is_server: true, seen, is_fenced: false }
}

fn shards(owner: impl Fn(u32) -> Option<u64>) -> Vec<ShardRow> {
    (0..20).map(|shard| ShardRow { shard, epoch: 1, writer: owner(shard) }).collect()
}

fn board(writers: &[WriterRow]) -> Event {
    Event::Board(Board { writers: writers.to_vec(), shards: shards(|_| Some(8)) })
}

fn fences(actions: &[Action]) -> Vec<&Action> {
    actions.iter().filter(|action| matches!(action, Action::Fence { .. })).collect()
}

fn statements(actions: &[Action]) -> Vec<&Statement> {
    actions.iter().filter_map(|action| if let Action::Send { statement, .. } = action { Some(statement) } else { None }).collect()
}

fn held(shard: u32, term: u64) -> Held {
    Held { shard, term }
}

impl Driver {
    fn new() -> Self {
        Driver { machine: Machine::new(Config::new(7, 20, LEASE)), now: 1_000 }
    }

    /// A writer with an open session that owns these shards, all restored. They have the terms 1, 2, ...
    fn owning(shards: std::ops::Range<u32>) -> Self {
        let mut driver = Driver::new();
        driver.meet(Event::Connected);
        let claims = shards.clone().map(|shard| Claimed { shard, epoch: 1 }).collect();
        driver.reply(1, Reply::Opened(Opened::Session { sequence: 0, shards: claims }));
        for (shard, term) in shards.zip(1..) {
            driver.meet(Event::Restored(held(shard, term)));
        }
        driver
    }

    /// A writer with an open session that owns nothing.
    fn in_role(role: Role) -> Self {
        let mut driver = Driver { machine: Machine::new(Config { role, ..Config::new(7, 20, LEASE) }), now: 1_000 };
        driver.meet(Event::Connected);
        driver.reply(1, Reply::Opened(Opened::Session { sequence: 0, shards: vec![] }));
        driver
    }

    /// It sees a board on which the other writer and these shards are.
    fn beside(&mut self, other: WriterRow, shards: Vec<ShardRow>) -> Vec<Action> {
        self.after(500, Event::Board(Board { writers: vec![row(7, 0), other], shards }))
    }

    /// The fences that it asks for when it sees another writer half a second later. Its own signs of life are confirmed until then.
    fn fences_after_look(&mut self, other: &WriterRow) -> Vec<(u64, Option<Seen>)> {
        let actions = self.after(500, Event::Tick { is_alive: true });
        self.settle(actions);
        let actions = self.meet(board(&[row(7, 0), other.clone()]));
        let fences = fences(&actions).into_iter().filter_map(|action| match action {
            Action::Fence { writer, seen } => Some((*writer, *seen)),
            _ => None,
        });
        let fences = fences.collect();
        self.settle(actions);
        fences
    }

    fn meet(&mut self, event: Event) -> Vec<Action> {
        let mut actions = Vec::new();
        self.machine.step(self.now, event, &mut actions);
        actions
    }

    fn after(&mut self, milliseconds: u64, event: Event) -> Vec<Action> {
        self.now += milliseconds;
        self.meet(event)
    }

    fn reply(&mut self, serial: u64, reply: Reply) -> Vec<Action> {
        self.meet(Event::Reply { serial, reply })
    }

    /// Replies to all statements that the actions send, and to those that follow.
    fn settle(&mut self, mut actions: Vec<Action>) -> Vec<Action> {
        let mut all = actions.clone();
        while let Some(Action::Send { serial, statement }) =
            actions.iter().find(|action| matches!(action, Action::Send { .. })).cloned()
        {
            let claims = |shards: Vec<u32>| shards.into_iter().map(|shard| Claimed { shard, epoch: 2 }).collect();
            actions = match statement {
                Statement::Claim { shards, .. } => self.reply(serial, Reply::Claims(Some(claims(shards)))),
                _ => self.reply(serial, Reply::Done(true)),
            };
            all.extend(actions.clone());
        }
        all
    }

    fn batch(&mut self, id: u64, shards: &[Held]) -> Vec<Action> {
        self.meet(Event::Batch { id, shards: shards.to_vec() })
    }
}

#[test]
fn a_writer_that_is_silent_for_a_lease_is_fenced_if_it_still_is() {
    let mut driver = Driver::owning(0..0);
    let seen = Seen { sequence: 3, session: 1 };
    for _ in 0..10 {
        assert_eq!(driver.fences_after_look(&row(8, 3)), []);
    }
    assert_eq!(driver.fences_after_look(&row(8, 3)), [(8, Some(seen))]);
    assert_eq!(driver.fences_after_look(&row(8, 4)), []);
}

#[test]
fn silence_counts_only_while_the_own_reads_succeed() {
    let mut driver = Driver::owning(0..0);
    for _ in 0..10 {
        driver.fences_after_look(&row(8, 3));
    }
    driver.after(500, Event::BoardFailed);
    for _ in 0..10 {
        assert_eq!(driver.fences_after_look(&row(8, 3)), [], "after a failed read");
    }
    driver.after(20_000, Event::Tick { is_alive: true });
    assert_eq!(driver.fences_after_look(&row(8, 3)), [], "after a read that took long");
}

/// All processes of a cluster once declared each other dead when its database was read-only for longer than a lease.
#[test]
fn silence_counts_only_while_the_own_signs_of_life_are_confirmed() {
    let mut driver = Driver::owning(0..0);
    driver.fences_after_look(&row(8, 3));
    let mut unconfirmed = Vec::new();
    for _ in 0..40 {
        unconfirmed.extend(driver.after(500, board(&[row(8, 3)])));
    }
    assert_eq!(fences(&unconfirmed), Vec::<&Action>::new(), "while the database is read-only");
    driver.settle(unconfirmed);
    for _ in 0..9 {
        assert_eq!(driver.fences_after_look(&row(8, 3)), [], "afterwards");
    }
    assert_eq!(driver.fences_after_look(&row(8, 3)).len(), 1, "a lease after");
}

/// A script with the usual lease has declared servers with a long one dead.
#[test]
fn a_writer_is_fenced_after_its_own_lease() {
    for lease in [LEASE / 5, LEASE * 8] {
        let mut driver = Driver::owning(0..0);
        let silent = WriterRow { lease, ..row(8, 3) };
        let looks = (0..100).find(|_| !driver.fences_after_look(&silent).is_empty());
        assert_eq!(looks, Some(lease / 500), "with a lease of {lease} ms");
    }
}

#[test]
fn a_reaped_writer_is_fenced_at_once_until_it_is() {
    let mut driver = Driver::new();
    driver.meet(board(&[row(8, 3)]));
    let fence = Action::Fence { writer: 8, seen: None };
    let fence = std::slice::from_ref(&fence);
    assert_eq!(driver.meet(Event::Reaped { writer: 8 }), fence);
    assert_eq!(driver.after(500, board(&[row(8, 3)])), fence);
    assert_eq!(driver.after(500, board(&[WriterRow { is_fenced: true, ..row(8, 3) }])), []);
    assert_eq!(driver.after(500, board(&[])), [], "rows of fenced writers may be removed");
}

#[test]
fn the_shards_of_a_fenced_writer_are_claimed_without_another_read() {
    let mut driver = Driver::owning(0..0);
    let actions = driver.meet(board(&[row(7, 0), row(8, 3)]));
    driver.settle(actions);
    let actions = driver.meet(Event::FenceReply { writer: 8, is_fenced: true });
    let claimed: Vec<u32> = (0..20).collect();
    let [Statement::Claim { shards, .. }] = statements(&actions)[..] else { panic!("{actions:?}") };
    assert_eq!(*shards, claimed);
}

/// A claim that the database refused was sent again at once, hundreds of times in a second.
#[test]
fn a_refused_claim_is_sent_again_with_the_next_tick() {
    let mut driver = Driver::owning(0..0);
    let free = Event::Board(Board { writers: vec![row(7, 0)], shards: shards(|_| None) });
    let [Action::Send { serial, .. }] = driver.meet(free)[..] else { panic!("a claim") };
    assert_eq!(driver.meet(Event::Failed { serial }), []);
    assert_eq!(statements(&driver.meet(Event::Tick { is_alive: true })), [&Statement::Open { register: false }]);
    let actions = driver.reply(serial + 1, Reply::Opened(Opened::Session { sequence: 0, shards: vec![] }));
    assert!(matches!(statements(&actions)[..], [Statement::Claim { .. }]));
}

/// With statements that took longer than half a lease, a silent writer was never fenced.
#[test]
fn silence_counts_while_each_sign_of_life_takes_long() {
    let mut driver = Driver::owning(0..0);
    let mut sent = Vec::new();
    let fenced = (0..40).any(|look| {
        sent.extend(driver.after(500, Event::Tick { is_alive: true }));
        let replied = if look % 7 == 6 { std::mem::take(&mut sent) } else { vec![] };
        driver.settle(replied);
        sent.extend(driver.meet(board(&[row(7, 0), row(8, 3)])));
        !fences(&sent).is_empty()
    });
    assert!(fenced);
}

#[test]
fn a_writer_claims_nothing_before_it_has_read_a_board_with_itself() {
    let mut driver = Driver::owning(0..0);
    let free = |writers: &[WriterRow]| Event::Board(Board { writers: writers.to_vec(), shards: shards(|_| None) });
    assert_eq!(driver.meet(free(&[])), []);
    assert!(matches!(statements(&driver.meet(free(&[row(7, 0)])))[..], [Statement::Claim { .. }]));
}

#[test]
fn versions_that_differ_by_one_run_together_and_no_others() {
    for (version, is_compatible) in [(2, true), (3, false)] {
        let mut driver = Driver::owning(0..0);
        let other = WriterRow { version, ..row(8, 3) };
        let actions = driver.meet(board(&[row(7, 0), other.clone()]));
        let report = Action::Incompatible { writer: 8, version };
        assert_eq!(actions.contains(&report), !is_compatible, "{version}");
        let actions = driver.settle(actions);
        let is_ready = statements(&actions).iter().any(|statement| matches!(statement, Statement::Beat { ready: true, .. }));
        assert_eq!(is_ready, is_compatible, "{version}");
    }
}

#[test]
fn a_writer_that_has_joined_stays_when_an_incompatible_one_comes() {
    let mut driver = Driver::owning(0..0);
    let actions = driver.meet(board(&[row(7, 0), row(8, 3)]));
    driver.settle(actions);
    let fenced = WriterRow { is_fenced: true, ..row(8, 3) };
    let incompatible = WriterRow { version: 9, is_ready: false, ..row(9, 1) };
    let actions = driver.meet(board(&[row(7, 2), fenced, incompatible]));
    assert!(matches!(statements(&actions)[..], [Statement::Claim { .. }]), "{actions:?}");
}

#[test]
fn a_board_that_has_gone_back_is_a_loss() {
    let fenced = WriterRow { is_fenced: true, ..row(8, 3) };
    for (before, after) in [(row(8, 3), vec![row(8, 2)]), (fenced, vec![row(8, 3)])] {
        let mut driver = Driver::new();
        driver.meet(board(&[before]));
        assert_eq!(driver.after(500, board(&after)), [Action::Lost { writer: 8 }], "{after:?}");
        assert_eq!(driver.after(500, board(&after)), [], "once");
    }
}

#[test]
fn a_writer_that_is_left_out_of_a_board_is_no_loss() {
    let mut driver = Driver::new();
    driver.meet(board(&[row(8, 3)]));
    assert_eq!(driver.after(500, board(&[])), []);
}

#[test]
fn a_writer_that_hangs_gives_no_sign_of_life_and_claims_nothing() {
    let mut driver = Driver::owning(0..0);
    let actions = driver.meet(board(&[row(7, 0), row(8, 3)]));
    driver.settle(actions);
    assert_eq!(driver.after(1_000, Event::Tick { is_alive: false }), []);
    assert_eq!(statements(&driver.meet(Event::FenceReply { writer: 8, is_fenced: true })), Vec::<&Statement>::new());
    assert!(matches!(statements(&driver.meet(Event::Tick { is_alive: true }))[..], [Statement::Beat { .. }]));
}

#[test]
fn signs_of_life_are_due_five_times_in_a_lease() {
    let mut driver = Driver::owning(0..0);
    let actions = driver.meet(board(&[row(7, 0)]));
    driver.settle(actions);
    let due = driver.machine.tick_at().unwrap();
    assert_eq!(due - driver.now, LEASE / 5);
    assert_eq!(driver.after(LEASE / 5 - 1, Event::Tick { is_alive: true }), []);
    let actions = driver.after(1, Event::Tick { is_alive: true });
    assert!(matches!(statements(&actions)[..], [Statement::Beat { .. }]));
    assert!(driver.settle(actions).contains(&Action::LeaseUntil { time: due + LEASE * 9 / 10 }));
}

fn stopped(actions: &[Action]) -> Vec<Held> {
    actions.iter().filter_map(|action| if let Action::Stop(held) = action { Some(*held) } else { None }).collect()
}

/// A board on which this writer owns these shards and writer 8 none.
fn unbalanced(own: std::ops::Range<u32>) -> Event {
    let shards = shards(|shard| own.contains(&shard).then_some(7));
    Event::Board(Board { writers: vec![row(7, 0), row(8, 3)], shards })
}

#[test]
fn shards_are_moved_for_balance_when_the_members_have_been_the_same_for_long_and_eight_at_once() {
    let mut driver = Driver::owning(0..20);
    let actions = driver.meet(unbalanced(0..20));
    driver.settle(actions);
    for _ in 0..19 {
        let actions = driver.after(500, unbalanced(0..20));
        assert_eq!(stopped(&driver.settle(actions)), []);
    }
    let actions = driver.after(500, unbalanced(0..20));
    driver.settle(actions.clone());
    let moved: Vec<Held> = (0..8).map(|place| held(19 - place, 20 - u64::from(place))).collect();
    assert_eq!(stopped(&actions), moved);
    assert_eq!(stopped(&driver.after(500, unbalanced(0..20))), [], "while eight are on the way");
    for held in moved {
        let actions = driver.meet(Event::Stopped(held));
        let actions = driver.settle(actions);
        assert!(actions.contains(&Action::Drop(held)));
    }
    assert_eq!(stopped(&driver.after(500, unbalanced(0..12))), [], "while eight are without an owner");
    let taken = shards(|shard| Some(if shard < 12 { 7 } else { 8 }));
    let actions = driver.after(500, Event::Board(Board { writers: vec![row(7, 0), row(8, 3)], shards: taken }));
    assert_eq!(stopped(&actions).len(), 2, "what is left");
}

#[test]
fn a_leaving_writer_hands_over_at_once_and_claims_no_more() {
    let mut driver = Driver::owning(0..20);
    let actions = driver.meet(unbalanced(0..20));
    driver.settle(actions);
    let actions = driver.meet(Event::Drain);
    assert!(matches!(statements(&actions)[..], [Statement::Beat { ready: false, .. }]));
    driver.settle(actions);
    assert_eq!(stopped(&driver.after(500, unbalanced(0..20))).len(), 8);
}

/// A console took its part of the shards from the servers, and nobody could call it.
#[test]
fn a_script_owns_shards_only_while_no_server_wants_them() {
    for role in [Role::Script, Role::Idle] {
        let mut driver = Driver::in_role(role);
        let actions = driver.beside(row(8, 3), shards(|_| None));
        assert_eq!(statements(&actions), Vec::<&Statement>::new(), "{role:?} beside a server");
        let actions = driver.beside(WriterRow { is_fenced: true, ..row(8, 3) }, shards(|_| None));
        let actions = driver.settle(actions);
        let claims_all = |statement: &&Statement| matches!(statement, Statement::Claim { shards, .. } if shards.len() == 20);
        assert!(statements(&actions).iter().any(claims_all), "{role:?} alone");
        let is_ready = statements(&actions).iter().any(|statement| matches!(statement, Statement::Beat { ready: true, .. }));
        assert_eq!(is_ready, role == Role::Script, "{role:?}");
        for (shard, term) in (0..20).zip(1..) {
            driver.meet(Event::Restored(held(shard, term)));
        }
        let actions = driver.beside(row(9, 3), shards(|_| Some(7)));
        assert_eq!(stopped(&actions).len(), 8, "{role:?} beside a server again");
    }
}

#[test]
fn scripts_without_a_server_share_the_shards_until_one_ends_its_loop() {
    let mut driver = Driver::in_role(Role::Script);
    let script = WriterRow { is_server: false, ..row(8, 3) };
    let actions = driver.beside(script.clone(), shards(|_| None));
    let [Statement::Claim { shards: claimed, .. }] = statements(&actions)[..] else { panic!("{actions:?}") };
    let claimed = claimed.clone();
    assert_eq!(claimed.len(), 10);
    driver.settle(actions);
    for (shard, term) in claimed.iter().copied().zip(1..) {
        driver.meet(Event::Restored(held(shard, term)));
    }
    let owners = || shards(|shard| Some(if claimed.contains(&shard) { 7 } else { 8 }));
    assert_eq!(stopped(&driver.beside(script.clone(), owners())), []);
    let actions = driver.meet(Event::Role(Role::Idle));
    assert!(matches!(statements(&actions)[..], [Statement::Beat { ready: false, .. }]), "{actions:?}");
    driver.settle(actions);
    assert_eq!(stopped(&driver.beside(script, owners())).len(), 8);
}

#[test]
fn a_leaving_writer_gives_up_the_claim_that_it_has_not_sent() {
    let mut driver = Driver::owning(0..0);
    driver.batch(1, &[]);
    assert_eq!(driver.meet(board(&[row(7, 0)])), [], "a batch is in flight");
    driver.meet(Event::Drain);
    let actions = driver.reply(2, Reply::Done(true));
    assert!(!statements(&actions).iter().any(|statement| matches!(statement, Statement::Claim { .. })), "{actions:?}");
}

#[test]
fn a_writer_says_again_that_it_is_ready_when_the_database_has_lost_it() {
    let mut driver = Driver::owning(0..20);
    let actions = driver.meet(unbalanced(0..20));
    driver.settle(actions);
    driver.meet(Event::Disconnected);
    let open = driver.meet(Event::Connected);
    let [Action::Send { serial, .. }] = open[..] else { panic!("{open:?}") };
    let actions = driver.reply(serial, Reply::Opened(Opened::Session { sequence: 0, shards: vec![] }));
    assert!(actions.contains(&Action::Lost { writer: 7 }));
    let actions = driver.settle(actions);
    assert!(statements(&actions).iter().any(|statement| matches!(statement, Statement::Beat { ready: true, .. })));
}

#[test]
fn a_writer_that_leaves_alone_keeps_its_shards() {
    let mut driver = Driver::owning(0..20);
    driver.meet(Event::Drain);
    let alone = Event::Board(Board { writers: vec![row(7, 0)], shards: shards(|_| Some(7)) });
    assert_eq!(stopped(&driver.after(500, alone)), []);
}

#[test]
fn batches_of_dropped_memory_fail_in_order() {
    let mut driver = Driver::owning(0..2);
    driver.batch(1, &[held(0, 1)]);
    driver.batch(2, &[held(1, 2)]);
    driver.batch(3, &[held(0, 1)]);
    driver.batch(4, &[held(1, 2)]);
    let open = driver.meet(Event::Failed { serial: 2 });
    assert_eq!(open, [Action::Send { serial: 3, statement: Statement::Open { register: false } }]);
    let claims = (0..2).map(|shard| Claimed { shard, epoch: 1 }).collect();
    let actions = driver.reply(3, Reply::Opened(Opened::Session { sequence: 0, shards: claims }));
    let actions = driver.settle(actions);
    let results: Vec<&Action> =
        actions.iter().filter(|action| matches!(action, Action::Stored { .. } | Action::NotStored { .. })).collect();
    let expected = [Action::NotStored { id: 1 }, Action::Stored { id: 2 }, Action::NotStored { id: 3 }, Action::Stored { id: 4 }];
    assert_eq!(results, expected.iter().collect::<Vec<_>>());
    assert!(actions.contains(&Action::Restore(held(0, 3))));
    assert!(!actions.contains(&Action::Drop(held(1, 2))));
}

#[test]
fn a_fenced_writer_learns_the_fate_of_each_batch() {
    let mut driver = Driver::owning(0..1);
    driver.batch(1, &[held(0, 1)]);
    driver.batch(2, &[held(0, 1)]);
    driver.meet(Event::Disconnected);
    driver.meet(Event::Connected);
    let actions = driver.reply(3, Reply::Opened(Opened::Fenced { sequence: 2 }));
    let expected = [
        Action::LeaseUntil { time: 0 },
        Action::Drop(held(0, 1)),
        Action::Stored { id: 1 },
        Action::NotStored { id: 2 },
        Action::Fenced,
    ];
    assert_eq!(actions, expected);
    assert_eq!(driver.batch(3, &[]), [Action::NotStored { id: 3 }]);
    assert_eq!(driver.meet(Event::Connected), []);
}

#[test]
fn nobody_knows_the_fate_of_a_batch_whose_writer_the_database_has_lost() {
    let mut driver = Driver::owning(0..1);
    driver.batch(1, &[held(0, 1)]);
    driver.batch(2, &[held(0, 1)]);
    driver.meet(Event::Disconnected);
    driver.meet(Event::Connected);
    let actions = driver.reply(3, Reply::Opened(Opened::Missing));
    let expected = [
        Action::LeaseUntil { time: 0 },
        Action::Lost { writer: 7 },
        Action::Drop(held(0, 1)),
        Action::Unknown { id: 1 },
        Action::NotStored { id: 2 },
        Action::Fenced,
    ];
    assert_eq!(actions, expected);
}

#[test]
fn a_stopping_shard_whose_memory_is_dropped_is_released() {
    let mut driver = Driver::owning(0..20);
    let actions = driver.meet(unbalanced(0..20));
    driver.settle(actions);
    let actions = driver.meet(Event::Drain);
    driver.settle(actions);
    let stopping = stopped(&driver.after(500, unbalanced(0..20)))[0];
    let sent = driver.batch(1, &[stopping]);
    let [Action::Send { serial, .. }] = sent[..] else { panic!("{sent:?}") };
    driver.meet(Event::Failed { serial });
    let claims = (0..20).map(|shard| Claimed { shard, epoch: 1 }).collect();
    let opened = Reply::Opened(Opened::Session { sequence: serial - 1, shards: claims });
    let actions = driver.reply(serial + 1, opened);
    let released = Statement::Release { session: serial + 1, after: serial - 1, shards: vec![stopping.shard] };
    assert_eq!(statements(&actions), [&released]);
}

#[test]
fn reads_check_the_session_and_the_last_confirmed_number() {
    let mut driver = Driver::owning(0..1);
    driver.batch(1, &[held(0, 1)]);
    assert_eq!(driver.machine.witness(), Some(Seen { session: 1, sequence: 0 }));
    driver.reply(2, Reply::Done(true));
    assert_eq!(driver.machine.witness(), Some(Seen { session: 1, sequence: 2 }));
    driver.meet(Event::Disconnected);
    assert_eq!(driver.machine.witness(), None);
}
