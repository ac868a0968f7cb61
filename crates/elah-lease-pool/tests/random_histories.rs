//! Random histories of a pool against the model, with a restart from its rows in between.

mod model;

use elah_fuzz::{Random, run};
use elah_lease_pool::{Action, Holder, Key, Kind, Lease, LeasePool, Policy, Request, Step, Terms, holder};
use model::{Model, Use};

/// A pool, the model, and the rows that the pool has written.
struct History {
    pool: LeasePool,
    model: Model,
    snapshots: Vec<(i64, Vec<u8>)>,
    steps: Vec<(i64, Vec<u8>)>,
    /// Item and serial number of every lease.
    ids: Vec<(i64, u64)>,
}

fn terms(random: &mut Random) -> Terms {
    Terms {
        hold: *random.pick(&[1, 5, 20, 100]),
        quarantine: *random.pick(&[0, 0, 3, 30]),
        policy: *random.pick(&Policy::ALL),
        is_draining: random.once_in(8),
    }
}

fn items(random: &mut Random) -> Vec<i64> {
    (0..12).filter(|_| !random.once_in(3)).collect()
}

fn session(random: &mut Random) -> Option<Vec<u8>> {
    (!random.once_in(3)).then(|| vec![b'a' + random.below(6) as u8])
}

impl History {
    fn new(random: &mut Random) -> Self {
        let terms = Terms { is_draining: false, ..terms(random) };
        let mut history = History {
            pool: LeasePool::new(terms, 7),
            model: Model::new(terms),
            snapshots: Vec::new(),
            steps: Vec::new(),
            ids: Vec::new(),
        };
        history.resize(1000, &items(random));
        history
    }

    fn keep(&mut self) {
        self.snapshots.push((self.pool.now(), self.pool.snapshot()));
    }

    fn note(&mut self, action: Action, lease: &Lease<'_>) {
        let mut row = Vec::new();
        action.write(lease, b"data", &mut row);
        self.steps.push((self.pool.now(), row));
    }

    fn resize(&mut self, now: i64, items: &[i64]) {
        self.model.step(now);
        let left = self.pool.resize(now, items).expect("a list of different items");
        assert_eq!(left, self.model.resize(items));
        self.keep();
    }

    fn lease(&mut self, now: i64, random: &mut Random) {
        let session = session(random);
        let item = random.once_in(5).then(|| random.below(14) as i64);
        let request = Request { session: session.as_deref(), item };
        self.model.step(now);
        let before = self.pool.overflows();
        let lease =
            self.pool.lease(now, &request).map(|lease| Lease { session: lease.session.map(|s| s.into_owned().into()), ..lease });
        if let Some(held) = self.model.held_by(session.as_deref()) {
            let lease = lease.expect("the session holds it");
            assert_eq!((lease.item, lease.is_changed), (held.item, false));
            return;
        }
        let candidates = self.model.candidates(session.as_deref(), item);
        let Some(lease) = lease else {
            assert_eq!((candidates, self.pool.overflows()), (Vec::new(), before + 1));
            return;
        };
        assert!(candidates.contains(&lease.item), "{candidates:?} has no {}", lease.item);
        self.model.lend(lease.item, session.as_deref());
        let found = self.model.lease(lease.item, lease.serial).expect("the model has lent it");
        assert_eq!(found.used, Use::Held { begun: lease.begun, due: lease.due, serial: lease.serial });
        assert_eq!((lease.session.as_deref(), lease.is_changed), (session.as_deref(), true));
        self.ids.push((lease.item, lease.serial));
        self.note(Action::Lease, &lease);
    }

    fn renew(&mut self, now: i64, (item, serial): (i64, u64)) {
        self.model.step(now);
        let renewed = self.pool.renew(now, item, serial).map(|lease| (lease.due, lease.is_changed));
        let (until, now) = (self.model.now + self.model.terms.hold, self.model.now);
        let expected = self.model.lease(item, serial).map(|place| {
            let Use::Held { begun, due, serial } = place.used else { unreachable!("it is held") };
            let is_longer = !place.is_leaving && until > due;
            if is_longer {
                place.used = Use::Held { begun, due: until, serial };
            }
            (due.max(if is_longer { until } else { due }), is_longer)
        });
        assert_eq!(renewed, expected);
        if let Some((_, true)) = renewed {
            let lease = self.pool.find(now, item, serial).map(|lease| Lease { session: None, ..lease }).expect("it is held");
            self.note(Action::Renewal, &lease);
        }
    }

    fn release(&mut self, now: i64, (item, serial): (i64, u64)) {
        self.model.step(now);
        let released = self.pool.release(now, item, serial).map(|lease| Lease { session: None, ..lease });
        let (at, terms) = (self.model.now, self.model.terms);
        assert_eq!(released.as_ref().map(|lease| lease.due), self.model.lease(item, serial).map(|_| at));
        if let Some(place) = self.model.lease(item, serial) {
            place.end(at, terms);
        }
        self.model.advance(at);
        if let Some(lease) = released {
            self.note(Action::Release, &lease);
        }
    }

    fn check(&mut self, now: i64) {
        self.model.advance(now);
        let statistics = self.pool.statistics(now);
        let counts = (statistics.free, statistics.held, statistics.quarantined, statistics.leaving);
        assert_eq!(counts, self.model.counts());
        assert_eq!((statistics.leases, statistics.next_free_at), (self.model.serial, self.model.next_free_at()));
        for (item, serial) in &self.ids {
            let found = self.pool.find(now, *item, *serial).map(|lease| lease.due);
            let expected = self.model.lease(*item, *serial).map(|place| match place.used {
                Use::Held { due, .. } => due,
                _ => unreachable!("it is held"),
            });
            assert_eq!(found, expected);
        }
    }

    /// Makes the pool again from its rows, which must not change it.
    fn restart(&mut self) {
        let (at, snapshot) = self.snapshots.last().expect("the first is taken at once");
        let mut pool = LeasePool::restore(snapshot, 9).expect("a snapshot of the pool");
        for (time, row) in self.steps.iter().filter(|(time, _)| time > at) {
            pool.replay(&Step::read(*time, row).expect("a row of the pool")).expect("a step of the pool");
        }
        pool.advance(self.pool.now());
        assert_eq!(known(&pool), known(&self.pool));
        self.pool = pool;
    }

    /// Looks up who held an item, and compares it with all rows that there ever were.
    fn look_back(&self, item: i64, at: i64) {
        let Some((from, snapshot)) = self.snapshots.iter().rev().find(|(time, _)| *time <= at) else { return };
        let steps = self.steps.iter().filter(|(time, _)| time > from && *time <= at);
        let found = holder(snapshot, steps.map(|(time, row)| Step::read(*time, row)), item, at).expect("rows of the pool");
        let mut expected: Option<Holder> = None;
        for (time, row) in self.steps.iter().filter(|(time, _)| *time <= at) {
            let step = Step::read(*time, row).expect("a row of the pool");
            match (&mut expected, step.item == item) {
                (_, true) if step.action == Action::Lease => {
                    let session = step.session.map(<[u8]>::to_vec);
                    expected = Some(Holder { serial: step.serial, begun: step.at, due: step.due, session });
                }
                (Some(holder), true) => holder.due = step.due,
                _ => {}
            }
        }
        assert_eq!(found, expected.filter(|holder| holder.due > at));
    }
}

/// Everything that a restart keeps: all but the count of overflows, which only snapshots have.
fn known(pool: &LeasePool) -> Vec<u8> {
    let mut snapshot = pool.snapshot();
    snapshot[35..43].fill(0);
    snapshot
}

#[test]
fn fuzz_histories_of_a_pool() {
    run("lease pool", |random: &mut Random| {
        let mut history = History::new(random);
        let mut now = 1000;
        for _ in 0..random.below(300) {
            now += [0, 0, 1, 1, 2, 7, 40, -3][random.below(8)];
            let id = if history.ids.is_empty() { (0, 0) } else { *random.pick(&history.ids) };
            match random.below(16) {
                0..=7 => history.lease(now, random),
                8 | 9 => history.renew(now, id),
                10 | 11 => history.release(now, id),
                12 => history.check(now),
                13 => history.restart(),
                14 if random.once_in(3) => {
                    let terms = terms(random);
                    history.model.step(now);
                    history.model.change(terms);
                    history.pool.change(now, terms).expect("terms in range");
                    history.keep();
                }
                14 if random.once_in(2) => history.resize(now, &items(random)),
                14 => history.keep(),
                _ => history.look_back(random.below(12) as i64, now - random.below(200) as i64),
            }
        }
        history.check(now);
        history.restart();
    });
}

#[test]
fn fuzz_damaged_rows() {
    let mut pool = LeasePool::new(Terms { hold: 10, quarantine: 5, policy: Policy::Sticky, is_draining: false }, 1);
    pool.resize(1, &[1, 2, 3]).expect("different items");
    let mut row = Vec::new();
    let lease = pool.lease(2, &Request { session: Some(b"ann"), item: None }).expect("an item is free");
    Action::Lease.write(&lease, b"data", &mut row);
    let snapshot = pool.snapshot();
    let key = Key::new(b"pool").expect("a short prefix").of(Kind::Step, 2);
    run("lease pool rows", |random: &mut Random| {
        let damaged = damage(&snapshot, random);
        if let Ok(mut pool) = LeasePool::restore(&damaged, 1) {
            let now = pool.now();
            assert!(LeasePool::restore(&pool.snapshot(), 1).is_ok());
            if let Ok(step) = Step::read(now.saturating_add(1), &damage(&row, random)) {
                let _ = pool.replay(&step);
            }
            let _ = pool.lease(now, &Request { session: Some(b"bob"), item: None });
            let statistics = pool.statistics(now);
            assert!(statistics.items <= 3 + damaged.len());
        }
        let _ = Key::new(b"pool").expect("a short prefix").time(&damage(&key, random));
    });
}

fn damage(row: &[u8], random: &mut Random) -> Vec<u8> {
    let mut row = row.to_vec();
    for _ in 0..random.below(4) {
        match random.below(3) {
            0 => row.truncate(random.below(row.len() + 1)),
            1 => row.push(random.below(256) as u8),
            _ if row.is_empty() => {}
            _ => {
                let at = random.below(row.len());
                row[at] = *random.pick(&[0, 1, 4, 127, 128, 255]);
            }
        }
    }
    row
}
