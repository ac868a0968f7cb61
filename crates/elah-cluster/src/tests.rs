//! The state machine against a model of the database: all that can happen within a bound, and long random histories.

mod database;
mod explore;
mod steps;
mod world;

use std::time::Instant;

use database::Omission;
use explore::{Violation, explore};
use steps::{Budget, Situation};
use world::{FAST, Reads, Rules, SLOW, World};

/// A cluster whose first writer owns all shards, before anything goes wrong.
fn settled(rules: &Rules, budget: Budget) -> Situation {
    let mut situation = Situation { world: World::new(rules), budget: budget.clone() };
    if let Err((steps, law)) = situation.calm(rules, 2) {
        panic!("{law} after {steps:?}");
    }
    situation.budget = budget;
    situation
}

#[test]
fn probe() {
    let rules = Rules { swift: vec![false, true], ..Rules::new(&[SLOW, FAST], 1) };
    for (writes, disconnects, time) in [([1, 0], [0, 0], 3), ([1, 0], [1, 0], 3), ([1, 1], [1, 0], 4), ([1, 1], [1, 0], 5)] {
        let mut budget = Budget::new(&writes, time);
        budget.disconnects = disconnects.to_vec();
        budget.observers = vec![false, true];
        let start = Instant::now();
        let got = explore(&rules, settled(&rules, budget)).map_err(|violation| (violation.law, violation.steps));
        println!("{writes:?} {disconnects:?} {time}: {got:?} {:?}", start.elapsed());
    }
}
