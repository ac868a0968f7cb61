//! When each request of an open loop is to be sent.

use std::time::Duration;

use crate::options::Arrivals;

/// Planned send times as offsets from the start of the run, endless and never decreasing.
#[derive(Debug)]
pub(crate) struct Plan {
    rate: f64,
    arrivals: Arrivals,
    random: fastrand::Rng,
    sent: u64,
    /// Offset of the last Poisson arrival, in seconds.
    elapsed_seconds: f64,
}

impl Plan {
    /// A plan of `rate` requests per second on average.
    pub(crate) fn new(rate: f64, arrivals: Arrivals, seed: u64) -> Self {
        Self { rate, arrivals, random: fastrand::Rng::with_seed(seed), sent: 0, elapsed_seconds: 0.0 }
    }
}

impl Iterator for Plan {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        let seconds = match self.arrivals {
            // From the count, not from the last offset: rounding errors must not add up.
            Arrivals::Constant => self.sent as f64 / self.rate,
            Arrivals::Poisson => {
                self.elapsed_seconds -= (1.0 - self.random.f64()).ln() / self.rate;
                self.elapsed_seconds
            }
        };
        self.sent += 1;
        Some(Duration::from_secs_f64(seconds))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constant_arrivals_have_equal_gaps() {
        let offsets: Vec<Duration> = Plan::new(1000.0, Arrivals::Constant, 1).take(4).collect();
        assert_eq!(offsets, [0, 1, 2, 3].map(Duration::from_millis));
    }

    #[test]
    fn poisson_arrivals_keep_the_rate_and_vary_like_an_exponential() {
        let offsets: Vec<f64> =
            Plan::new(1000.0, Arrivals::Poisson, 7).take(100_001).map(|offset| offset.as_secs_f64()).collect();
        let gaps: Vec<f64> = offsets.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let deviation = (gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64).sqrt();
        assert!((mean - 0.001).abs() < 0.000_02, "mean gap {mean}");
        // The standard deviation of an exponential equals its mean; equal gaps would give 0.
        assert!((deviation / mean - 1.0).abs() < 0.05, "deviation {deviation}");
    }

    #[test]
    fn the_same_seed_gives_the_same_plan() {
        let plan = |seed| Plan::new(10.0, Arrivals::Poisson, seed).take(5).collect::<Vec<_>>();
        assert_eq!(plan(3), plan(3));
        assert_ne!(plan(3), plan(4));
    }
}
