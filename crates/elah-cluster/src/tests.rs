//! The state machine against a model of the database: all that can happen within a bound, and long random histories.

mod database;
mod explore;
mod policy;
mod rules;
mod steps;
mod world;

use elah_fuzz::{Random, run};
use explore::{Violation, explore};
use rules::{FAST, Omission, Reads, Rules, SLOW};
use steps::{Budget, Situation, Step};
use world::World;

/// Fewer situations than these are no proof.
const SITUATIONS_MIN: usize = 150_000;

/// As many situations a case of the fuzz test visits at most.
const SITUATIONS_OF_A_CASE: usize = 100_000;

/// Rounds of undisturbed running after which a cluster is calm: silent writers are fenced, and shards moved for balance.
const CALM_ROUNDS: usize = 40;

/// What may go wrong around a cluster of two writers. The first owns the shard; the second is quick, and watches.
struct Scenario {
    name: &'static str,
    rules: Rules,
    budget: Budget,
    before: Before,
}

/// What has happened before a scenario begins.
#[derive(Clone, Copy)]
struct Before {
    /// How long the cluster has run with nothing going wrong. Its first writer owns all shards.
    rounds: usize,
    steps: &'static [Step],
}

fn settled(rounds: usize) -> Before {
    Before { rounds, steps: &[] }
}

impl Scenario {
    fn start(&self, rules: &Rules) -> Result<Situation, Violation> {
        let mut start = Situation { world: World::new(rules), budget: self.budget.clone() };
        let sound = Rules { omission: Omission::Nothing, ..rules.clone() };
        start.calm(&sound, self.before.rounds).map_err(|(steps, law)| Violation { law, steps })?;
        for step in self.before.steps {
            start.take(&sound, *step).map_err(|law| Violation { law, steps: vec![*step] })?;
        }
        start.budget = self.budget.clone();
        Ok(start)
    }

    fn explore(&self, rules: &Rules) -> Result<usize, Violation> {
        explore(rules, self.start(rules)?, usize::MAX)
    }
}

fn pair(shards: usize) -> Rules {
    Rules { swift: vec![false, true], ..Rules::new(&[SLOW, FAST], shards) }
}

fn scenarios() -> Vec<Scenario> {
    let budget = |writes: &[u8], time| Budget { observers: vec![false, true], ..Budget::new(writes, time) };
    let both = vec![true, true];
    vec![
        Scenario {
            name: "the owner loses its connection",
            rules: pair(1),
            budget: Budget { disconnects: vec![1, 0], ..budget(&[1, 1], 3) },
            before: settled(2),
        },
        Scenario {
            name: "the owner loses its connection twice, with statements pipelined",
            rules: Rules { in_flight_max: 2, ..pair(1) },
            budget: Budget { disconnects: vec![2, 0], ..budget(&[3, 0], 0) },
            before: settled(2),
        },
        Scenario {
            name: "statements fail",
            rules: Rules { in_flight_max: 2, ..pair(1) },
            budget: Budget { refusals: 2, ..budget(&[3, 0], 0) },
            before: settled(2),
        },
        Scenario {
            name: "the owner leaves",
            rules: pair(1),
            budget: Budget { drains: vec![1, 0], disconnects: vec![1, 0], observers: both.clone(), ..budget(&[2, 1], 0) },
            before: settled(2),
        },
        Scenario {
            name: "a claim is slow",
            rules: Rules { swift: vec![true, false, true], ..Rules::new(&[SLOW, SLOW, FAST], 1) },
            budget: Budget { observers: vec![false, false, true], ..Budget::new(&[0, 1, 1], 3) },
            before: Before { rounds: 2, steps: &[Step::Die(0), Step::Reap(1, 0), Step::Fence(1, 0)] },
        },
        Scenario {
            name: "shards are moved for balance",
            rules: pair(2),
            budget: Budget { disconnects: vec![1, 0], observers: both.clone(), ..budget(&[1, 1], 0) },
            before: settled(7),
        },
        Scenario {
            name: "batches of two shards fail",
            rules: Rules { in_flight_max: 2, ..pair(2) },
            budget: Budget { refusals: 1, disconnects: vec![1, 0], ..budget(&[2, 0], 0) },
            before: settled(2),
        },
        Scenario {
            name: "two writers start at once",
            rules: pair(1),
            budget: Budget { disconnects: vec![1, 0], observers: both.clone(), ..budget(&[1, 1], 0) },
            before: settled(0),
        },
        Scenario {
            name: "nobody is quick",
            rules: Rules::new(&[SLOW, FAST], 1),
            budget: Budget { drains: vec![1, 0], observers: both, ..budget(&[1, 1], 0) },
            before: settled(2),
        },
        Scenario {
            name: "the owner dies",
            rules: pair(1),
            budget: Budget { deaths: vec![1, 0], ..budget(&[2, 1], 1) },
            before: settled(2),
        },
        Scenario {
            name: "a synchronous standby takes over",
            rules: pair(1),
            budget: Budget { lossless_failovers: 1, rereads: 1, ..budget(&[2, 1], 1) },
            before: settled(2),
        },
        Scenario {
            name: "an asynchronous standby takes over",
            rules: pair(1),
            budget: Budget { lossy_failovers: 1, ..budget(&[2, 1], 0) },
            before: settled(2),
        },
    ]
}

/// A rule that is left out, the scenario that needs it, and the law that breaks there.
struct Mutant {
    missing: &'static str,
    scenario: &'static str,
    law: &'static str,
    leave_out: fn(&mut Rules),
}

const MUTANTS: [Mutant; 13] = [
    Mutant {
        missing: "the fence",
        scenario: "the owner loses its connection",
        law: "nothing of a fenced writer is stored",
        leave_out: |rules| rules.omission = Omission::Fence,
    },
    Mutant {
        missing: "the comparison of the session",
        scenario: "the owner loses its connection",
        law: "a fate is final",
        leave_out: |rules| rules.omission = Omission::Session,
    },
    Mutant {
        missing: "the comparison with the number before",
        scenario: "statements fail",
        law: "memory builds on what is stored",
        leave_out: |rules| rules.omission = Omission::Order,
    },
    Mutant {
        missing: "the comparison of the signs of life",
        scenario: "the owner loses its connection",
        law: "a leased read sees every confirmed write",
        leave_out: |rules| rules.omission = Omission::SignsOfLife,
    },
    Mutant {
        missing: "the number of a claim",
        scenario: "a claim is slow",
        law: "a leased read sees every confirmed write",
        leave_out: |rules| rules.safeguards.numbers_claims = false,
    },
    Mutant {
        missing: "the owner of a claimed shard",
        scenario: "two writers start at once",
        law: "a leased read sees every confirmed write",
        leave_out: |rules| rules.omission = Omission::Owner,
    },
    Mutant {
        missing: "the end of a lease",
        scenario: "the owner loses its connection",
        law: "a leased read sees every confirmed write",
        leave_out: |rules| rules.reads = Reads::Always,
    },
    Mutant {
        missing: "the margin for clocks",
        scenario: "the owner loses its connection",
        law: "a leased read sees every confirmed write",
        leave_out: |rules| rules.safeguards.lease_tenths = 10,
    },
    Mutant {
        missing: "the sending as the start of a lease",
        scenario: "the owner loses its connection",
        law: "a leased read sees every confirmed write",
        leave_out: |rules| rules.safeguards.counts_from_sending = false,
    },
    Mutant {
        missing: "the drop of failed memory",
        scenario: "statements fail",
        law: "memory builds on what is stored",
        leave_out: |rules| rules.safeguards.drops_failed_memory = false,
    },
    Mutant {
        missing: "the wait before a release",
        scenario: "the owner leaves",
        law: "undisturbed batches are stored",
        leave_out: |rules| rules.safeguards.settles_before_release = false,
    },
    Mutant {
        missing: "the comparison with what was confirmed",
        scenario: "an asynchronous standby takes over",
        law: "memory builds on what is stored",
        leave_out: |rules| rules.safeguards.notices_loss = false,
    },
    Mutant {
        missing: "the check of a read",
        scenario: "a synchronous standby takes over",
        law: "a leased read sees every confirmed write",
        leave_out: |rules| rules.checks_witness = false,
    },
];

#[test]
fn every_situation_keeps_the_laws() {
    let mut situations = 0;
    for scenario in scenarios() {
        match scenario.explore(&scenario.rules) {
            Ok(found) => situations += found,
            Err(violation) => panic!("{}: {violation}", scenario.name),
        }
    }
    assert!(situations >= SITUATIONS_MIN, "{situations} situations");
}

#[test]
fn without_any_one_rule_a_law_breaks() {
    let scenarios = scenarios();
    for mutant in MUTANTS {
        let scenario = scenarios.iter().find(|scenario| scenario.name == mutant.scenario).expect("a scenario of that name");
        let mut rules = scenario.rules.clone();
        (mutant.leave_out)(&mut rules);
        match scenario.explore(&rules) {
            Ok(situations) => panic!("{} is not missed in {situations} situations", mutant.missing),
            Err(violation) => assert_eq!(violation.law, mutant.law, "without {}: {violation}", mutant.missing),
        }
    }
}

/// A cluster of two or three writers, and all that may go wrong at random.
fn random_rules(random: &mut Random) -> Rules {
    let rates: Vec<u64> = (0..2 + random.below(2)).map(|_| *random.pick(&[SLOW, FAST])).collect();
    let shards = 1 + random.below(3);
    Rules {
        in_flight_max: 1 + random.below(3),
        is_prompt: random.once_in(2),
        swift: rates.iter().map(|_| random.once_in(3)).collect(),
        ..Rules::new(&rates, shards)
    }
}

fn random_budget(random: &mut Random, rules: &Rules, most: usize) -> Budget {
    let mut counts = |most: usize| -> Vec<u8> { rules.rates.iter().map(|_| random.below(most + 1) as u8).collect() };
    let budget = Budget { writes: counts(most * 2), disconnects: counts(most), ..Budget::new(&counts(0), 0) };
    let (drains, deaths) = (counts(1), counts(most.min(1)));
    Budget {
        drains,
        deaths: if random.once_in(3) { deaths } else { budget.deaths.clone() },
        time: random.below(most * 4 + 1) as u8,
        refusals: random.below(most + 1) as u8,
        failed_boards: random.below(most + 1) as u8,
        hangs: random.below(most + 1) as u8,
        rereads: random.below(most + 1) as u8,
        lossless_failovers: u8::from(random.once_in(4)),
        lossy_failovers: u8::from(random.once_in(4)),
        ..budget
    }
}

#[test]
fn fuzz_histories_keep_the_laws_and_end_in_calm() {
    run("histories of a cluster", |random| {
        let rules = random_rules(random);
        let mut situation = Situation { world: World::new(&rules), budget: random_budget(random, &rules, 8) };
        let mut taken = Vec::new();
        for _ in 0..50 + random.below(400) {
            let steps = situation.steps(&rules);
            let Some(step) = (!steps.is_empty()).then(|| *random.pick(&steps)) else { break };
            taken.push(step);
            if let Err(law) = situation.take(&rules, step) {
                panic!("\"{law}\" is broken after {taken:?} with {rules:?}");
            }
        }
        let calm = situation.calm(&rules, CALM_ROUNDS);
        let calm = calm.and_then(|()| situation.world.check_calm().map_err(|law| (Vec::new(), law)));
        if let Err((steps, law)) = calm {
            panic!("\"{law}\" is broken after {taken:?} and in calm {steps:?} with {rules:?}: {:#?}", situation.world);
        }
    });
}

#[test]
fn fuzz_all_situations_within_random_bounds() {
    run("situations of a cluster", |random| {
        let rules = random_rules(random);
        let mut start = Situation { world: World::new(&rules), budget: Budget::new(&vec![0; rules.rates.len()], 0) };
        start.calm(&rules, random.below(8)).unwrap();
        start.budget = random_budget(random, &rules, 1);
        if let Err(violation) = explore(&rules, start, SITUATIONS_OF_A_CASE) {
            panic!("{violation} with {rules:?}");
        }
    });
}
