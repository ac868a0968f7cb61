//! What the connections met: latencies and failures of the requests that fall into the measured window.

use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use crate::failure::Failure;

/// Latencies, failures and the generator's own lag.
#[derive(Debug)]
pub(crate) struct Results {
    /// From the planned send time to the end of the response, in nanoseconds.
    pub(crate) latency: Histogram<u64>,
    /// From the planned send time to the moment at which this program got round to it, in nanoseconds.
    pub(crate) lag: Histogram<u64>,
    /// Counts in the order of `Failure::CLASSES`.
    pub(crate) failures: [u64; Failure::CLASSES.len()],
    /// The first failure in words; it is mostly the one that explains the others.
    pub(crate) failure_first: Option<String>,
}

impl Results {
    pub(crate) fn new() -> Self {
        // Three significant digits up to an hour: about 0.3 MB.
        let histogram = || Histogram::new_with_bounds(1, 3_600_000_000_000, 3).expect("the bounds are valid");
        Self { latency: histogram(), lag: histogram(), failures: [0; Failure::CLASSES.len()], failure_first: None }
    }

    /// Takes the outcome of one request.
    pub(crate) fn record(&mut self, planned: Instant, outcome: Result<(), Failure>) {
        match outcome {
            Ok(()) => self.latency.saturating_record(nanoseconds(planned.elapsed())),
            Err(failure) => {
                self.failures[failure.class()] += 1;
                self.failure_first.get_or_insert_with(|| failure.to_string());
            }
        }
    }

    /// Takes how late a planned send was noticed.
    pub(crate) fn record_lag(&mut self, planned: Instant, now: Instant) {
        self.lag.saturating_record(nanoseconds(now.saturating_duration_since(planned)));
    }

    /// Requests without a response that counts.
    pub(crate) fn failures_sum(&self) -> u64 {
        self.failures.iter().sum()
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
