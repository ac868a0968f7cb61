//! What a world leaves out, and how its parts behave.

use crate::safeguards::Safeguards;

/// Which comparison the statements leave out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Omission {
    Nothing,
    /// A fenced writer's statements still count.
    Fence,
    /// A statement of an earlier session still counts.
    Session,
    /// Statements need not follow the one before.
    Order,
    /// A writer is fenced whatever its signs of life.
    SignsOfLife,
    /// Shards of active writers can be claimed.
    Owner,
}

/// How long a writer serves reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reads {
    UntilTheLeaseEnds,
    Always,
}

/// What a world leaves out, and how its parts behave.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    pub(super) omission: Omission,
    pub(super) safeguards: Safeguards,
    pub(super) reads: Reads,
    /// Whether a read of rows checks that it is not late.
    pub(super) checks_witness: bool,
    /// How much each process's clock advances when time passes.
    pub(super) rates: Vec<u64>,
    pub(super) versions: Vec<u32>,
    pub(super) shards: usize,
    pub(super) in_flight_max: usize,
    /// Whether restores, ends of calls and new connections happen at once. Otherwise each is a step of its own.
    pub(super) is_prompt: bool,
    /// The processes whose statements are executed and answered at once, and that send their signs of life as time passes.
    pub(super) swift: Vec<bool>,
}

impl Rules {
    pub(super) fn new(rates: &[u64], shards: usize) -> Self {
        Rules {
            omission: Omission::Nothing,
            safeguards: Safeguards::default(),
            reads: Reads::UntilTheLeaseEnds,
            checks_witness: true,
            rates: rates.to_vec(),
            versions: vec![1; rates.len()],
            shards,
            in_flight_max: 1,
            is_prompt: true,
            swift: vec![false; rates.len()],
        }
    }
}

/// A lease is three steps of time, by the slowest clock and by the fastest.
pub(super) const LEASE: u64 = 32;
pub(super) const SLOW: u64 = 10;
pub(super) const FAST: u64 = 11;
pub(super) const CALM: u64 = 60;
