//! The harness of the seeded mutation tests: how long they run, their random numbers, and how they change bytes.
//!
//! ```no_run
//! use elah_fuzz::{Mutator, Random, run};
//!
//! let numbers = Mutator::new(&["12", "-7"], &["0", "e", "99999999999999999999"]);
//! run("numbers", |random: &mut Random| {
//!     let text = String::from_utf8_lossy(&numbers.mutated(random)).into_owned();
//!     if let Ok(number) = text.parse::<i64>() {
//!         assert_eq!(number.to_string().parse(), Ok(number));
//!     }
//! });
//! ```
//!
//! A test whose name contains `fuzz` runs in the step `fuzz` of `bin/test`, and not in the step `core`. It runs for `ELAH_FUZZ_SECONDS`,
//! 20 seconds without it. A case that panics prints its seed; with `ELAH_FUZZ_SEED=<seed>` it is the first case that runs.

mod mutator;
mod random;

use std::collections::hash_map::RandomState;
use std::env;
use std::hash::{BuildHasher, Hasher};
use std::io::{self, Write};
use std::process;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

pub use mutator::Mutator;
pub use random::Random;

/// How long a test runs when `ELAH_FUZZ_SECONDS` is not set.
const SECONDS: u64 = 20;
/// A case that runs longer counts as hanging, and the process ends. Cases take milliseconds at most.
const HANGS_AFTER: Duration = Duration::from_secs(300);

/// Runs `case` again and again, each time with other random numbers, until the time is over; at least once.
///
/// # Panics
/// Panics when a case does, after printing its seed, and when `ELAH_FUZZ_SECONDS` or `ELAH_FUZZ_SEED` is not a whole number.
pub fn run(name: &str, mut case: impl FnMut(&mut Random)) {
    let begun = Instant::now();
    let time = Duration::from_secs(setting("ELAH_FUZZ_SECONDS").unwrap_or(SECONDS));
    let mut seed = setting("ELAH_FUZZ_SEED").unwrap_or_else(|| RandomState::new().build_hasher().finish());
    let watch = watch(name);
    loop {
        // The watch lives as long as this sender.
        let _ = watch.send(seed);
        let report = OnPanic { name, seed };
        case(&mut Random::new(seed));
        drop(report);
        if begun.elapsed() >= time {
            return;
        }
        seed = seed.wrapping_add(1);
    }
}

/// The whole number that an environment variable holds.
fn setting(name: &str) -> Option<u64> {
    let text = env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} must be a whole number: {text}")))
}

/// Prints how to repeat a case that panics.
struct OnPanic<'a> {
    name: &'a str,
    seed: u64,
}

impl Drop for OnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("{}", repeat_line(self.name, self.seed));
        }
    }
}

fn repeat_line(name: &str, seed: u64) -> String {
    format!("Fuzz test `{name}` failed. Repeat this case with ELAH_FUZZ_SEED={seed} ELAH_FUZZ_SECONDS=0.")
}

/// Starts a thread that ends the process when a case does not end. It receives the seed of each case.
fn watch(name: &str) -> Sender<u64> {
    let (sender, seeds) = channel();
    let name = name.to_owned();
    thread::spawn(move || {
        let mut running = 0;
        loop {
            match seeds.recv_timeout(HANGS_AFTER) {
                Ok(seed) => running = seeds.try_iter().last().unwrap_or(seed),
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => break,
            }
        }
        // Written past the test framework, which would hold the line back until the test ends.
        let _ = writeln!(io::stderr(), "The case does not end. {}", repeat_line(&name, running));
        process::abort();
    });
    sender
}
