//! The timers of suspended fibers, in the order of their due times.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasherDefault, Hasher};
use std::time::Instant;

use crate::wake::WaitId;

#[derive(Debug, Default)]
pub struct Timers {
    due: RefCell<BTreeSet<(Instant, WaitId)>>,
    by_wait: RefCell<HashMap<WaitId, Instant, BuildHasherDefault<CountHasher>>>,
}

/// A hasher for counted numbers, which no client chooses.
#[derive(Debug, Default)]
struct CountHasher(u64);

impl Hasher for CountHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(self.0 ^ u64::from(*byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        // An odd constant near the golden ratio of 2^64: neighbours end up far apart, in the high bits too.
        self.0 = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

impl Timers {
    pub fn start(&self, wait: WaitId, due: Instant) {
        self.due.borrow_mut().insert((due, wait));
        self.by_wait.borrow_mut().insert(wait, due);
    }

    pub fn cancel(&self, wait: WaitId) {
        if let Some(due) = self.by_wait.borrow_mut().remove(&wait) {
            self.due.borrow_mut().remove(&(due, wait));
        }
    }

    pub fn next_due(&self) -> Option<Instant> {
        self.due.borrow().first().map(|(due, _)| *due)
    }

    /// Moves the waits that are due at `now` to `ended`.
    pub fn take_due(&self, now: Instant, ended: &mut Vec<WaitId>) {
        let mut due = self.due.borrow_mut();
        while let Some(&(at, wait)) = due.first() {
            if at > now {
                return;
            }
            due.pop_first();
            self.by_wait.borrow_mut().remove(&wait);
            ended.push(wait);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn timers_end_in_the_order_in_which_they_are_due_and_cancelled_ones_never() {
        let timers = Timers::default();
        let start = Instant::now();
        for (wait, millis) in [(1, 30), (2, 10), (3, 20), (4, 40)] {
            timers.start(wait, start + Duration::from_millis(millis));
        }
        timers.cancel(3);
        let mut ended = Vec::new();
        timers.take_due(start + Duration::from_millis(30), &mut ended);
        assert_eq!(ended, [2, 1]);
        assert_eq!(timers.next_due(), Some(start + Duration::from_millis(40)));
    }
}
