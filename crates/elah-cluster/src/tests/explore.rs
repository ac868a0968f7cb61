//! Exhaustive exploration of all situations that can be reached within a budget.

use std::collections::HashSet;
use std::fmt;
use std::hash::{BuildHasherDefault, Hash, Hasher};

use super::rules::Rules;
use super::steps::{Situation, Step};
use super::world::Broken;

/// A law that does not hold, and the steps to where it does not.
#[derive(Debug)]
pub(super) struct Violation {
    pub(super) law: Broken,
    pub(super) steps: Vec<Step>,
}

impl fmt::Display for Violation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "\"{}\" is broken after {:?}", self.law, self.steps)
    }
}

struct Frame {
    situation: Situation,
    steps: Vec<Step>,
    taken: Option<Step>,
}

/// Visits every situation that can be reached, depth first, but no more than `most`. Returns how many.
pub(super) fn explore(rules: &Rules, start: Situation, most: usize) -> Result<usize, Violation> {
    let mut seen: HashSet<u64, BuildHasherDefault<Known>> = HashSet::default();
    seen.insert(digest(&start));
    let steps = start.steps(rules);
    let mut path = vec![Frame { situation: start, steps, taken: None }];
    while let Some(frame) = path.last_mut().filter(|_| seen.len() < most) {
        let Some(step) = frame.steps.pop() else {
            path.pop();
            continue;
        };
        frame.taken = Some(step);
        let mut next = frame.situation.clone();
        if let Err(law) = next.take(rules, step) {
            return Err(Violation { law, steps: path.iter().filter_map(|frame| frame.taken).collect() });
        }
        if seen.insert(digest(&next)) {
            let steps = next.steps(rules);
            path.push(Frame { situation: next, steps, taken: None });
        }
    }
    Ok(seen.len())
}

fn digest(situation: &Situation) -> u64 {
    let mut hasher = Mixer(0x9e37_79b9_7f4a_7c15);
    situation.hash(&mut hasher);
    hasher.finish()
}

/// A fast hash of 64 bits: each word is mixed in by a multiplication of double width.
struct Mixer(u64);

impl Mixer {
    fn mix(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word ^ 0x2d35_8dcc_aa6c_78a5) * 0x8bb8_4b93_962e_acc9;
        self.0 = (product as u64 ^ (product >> 64) as u64).rotate_left(23).wrapping_add(0x4b33_a62e_d433_d4a3);
    }
}

impl Hasher for Mixer {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.mix(u64::from_le_bytes(word));
        }
    }

    fn write_u8(&mut self, number: u8) {
        self.mix(u64::from(number));
    }

    fn write_u32(&mut self, number: u32) {
        self.mix(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        self.mix(number);
    }

    fn write_usize(&mut self, number: usize) {
        self.mix(number as u64);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// The hash of what is a hash already.
#[derive(Default)]
struct Known(u64);

impl Hasher for Known {
    fn write(&mut self, _: &[u8]) {}

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
