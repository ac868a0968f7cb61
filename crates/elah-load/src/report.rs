//! The report of a run, as JSON or as text.

use std::fmt;

use hdrhistogram::Histogram;
use serde::Serialize;

use crate::failure::Failure;
use crate::options::{Arrivals, Options};
use crate::run::Outcome;

/// Above this share of one core, or this lag, the figures say more about this program than about the server.
const CPU_SHARE_MAX: f64 = 0.9;
const LAG_P99_MAX_US: f64 = 1000.0;

/// Steps of the spectrum in each half of the distance to 1: fine enough for a plot.
const SPECTRUM_STEPS: u32 = 4;

/// Everything that is printed; the field names are those of the JSON.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    generator_version: &'static str,
    url: String,
    mode: &'static str,
    connections: usize,
    warmup_seconds: f64,
    measured_seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    rate_planned: Option<f64>,
    answered: u64,
    requests_per_second: f64,
    latency_us: Spread,
    #[serde(skip_serializing_if = "Option::is_none")]
    spectrum: Option<Vec<(f64, f64)>>,
    failed: u64,
    failures: serde_json::Map<String, serde_json::Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure_first: Option<String>,
    generator: Generator,
}

/// The generator's own effort.
#[derive(Debug, Serialize)]
struct Generator {
    cpu_seconds: f64,
    /// Of one core, over the whole run.
    cpu_share: f64,
    /// Open loop only: how late planned sends were noticed.
    #[serde(skip_serializing_if = "Option::is_none")]
    lag_us: Option<Spread>,
    /// The generator had no CPU left or ran late: the server could have done more.
    is_limit: bool,
}

/// A distribution in microseconds.
#[derive(Debug, Serialize)]
struct Spread {
    mean: f64,
    p50: f64,
    p90: f64,
    p99: f64,
    #[serde(rename = "p99.9")]
    p99_9: f64,
    max: f64,
}

impl Spread {
    fn new(histogram: &Histogram<u64>) -> Self {
        let at = |quantile| histogram.value_at_quantile(quantile) as f64 / 1000.0;
        Self {
            mean: histogram.mean() / 1000.0,
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            p99_9: at(0.999),
            max: histogram.max() as f64 / 1000.0,
        }
    }
}

/// Quantiles and their latency in microseconds, ever closer to 1.
fn spectrum(latency: &Histogram<u64>) -> Vec<(f64, f64)> {
    latency
        .iter_quantiles(SPECTRUM_STEPS)
        .map(|step| (step.quantile_iterated_to(), step.value_iterated_to() as f64 / 1000.0))
        .collect()
}

impl Report {
    pub(crate) fn new(options: &Options, outcome: &Outcome) -> Self {
        let results = &outcome.results;
        let is_open = options.rate.is_some();
        let measured_seconds = outcome.measured.as_secs_f64();
        let cpu_share = outcome.cpu.as_secs_f64() / outcome.elapsed.as_secs_f64();
        let lag_us = is_open.then(|| Spread::new(&results.lag));
        let is_late = lag_us.as_ref().is_some_and(|lag| lag.p99 > LAG_P99_MAX_US);
        let failures = Failure::CLASSES.iter().zip(results.failures).map(|(class, count)| ((*class).into(), count.into()));
        Self {
            generator_version: concat!("elah-load ", env!("CARGO_PKG_VERSION")),
            url: format!("http://{}{}", options.url.authority, options.url.path),
            mode: match (options.rate, options.arrivals, options.closed) {
                (Some(_), Arrivals::Constant, _) => "open, constant",
                (Some(_), Arrivals::Poisson, _) => "open, Poisson",
                (None, _, true) => "closed",
                (None, _, false) => "once",
            },
            connections: options.connections,
            warmup_seconds: if options.once { 0.0 } else { options.warmup.as_secs_f64() },
            measured_seconds,
            rate_planned: options.rate,
            answered: results.latency.len(),
            requests_per_second: results.latency.len() as f64 / measured_seconds.max(f64::MIN_POSITIVE),
            latency_us: Spread::new(&results.latency),
            spectrum: options.spectrum.then(|| spectrum(&results.latency)),
            failed: results.failures_sum(),
            failures: failures.collect(),
            failure_first: results.failure_first.clone(),
            generator: Generator {
                cpu_seconds: outcome.cpu.as_secs_f64(),
                cpu_share,
                lag_us,
                is_limit: cpu_share > CPU_SHARE_MAX || is_late,
            },
        }
    }

    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("every field is a number, a string or a map of them")
    }
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "{} ({}, {} connections)", self.url, self.mode, self.connections)?;
        writeln!(
            formatter,
            "answered  {} in {:.2} s, {:.0} requests/s",
            self.answered, self.measured_seconds, self.requests_per_second
        )?;
        writeln!(formatter, "latency   {}", self.latency_us)?;
        write!(formatter, "failed    {}", self.failed)?;
        for (class, count) in self.failures.iter().filter(|(_, count)| count.as_u64() != Some(0)) {
            write!(formatter, ", {class} {count}")?;
        }
        if let Some(first) = &self.failure_first {
            write!(formatter, " (first: {first})")?;
        }
        writeln!(formatter)?;
        write!(formatter, "generator {:.0} % of a core", self.generator.cpu_share * 100.0)?;
        if let Some(lag) = &self.generator.lag_us {
            write!(formatter, ", lag {lag}")?;
        }
        writeln!(formatter, "{}", if self.generator.is_limit { ": IT WAS THE LIMIT" } else { "" })
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "p50 {:.0} µs, p90 {:.0}, p99 {:.0}, p99.9 {:.0}, max {:.0}",
            self.p50, self.p90, self.p99, self.p99_9, self.max
        )
    }
}
