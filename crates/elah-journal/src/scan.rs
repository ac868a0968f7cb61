//! A count of a journal's events by a process that does not own it, while its owner appends: for reports and the command line.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use super::segment::{Files, HEADER_BYTES, Segment, Stop};
use super::tally::Tallied;
use super::{Error, Position, Progress};

/// Events of a stream and minute in a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queued {
    /// Those that are not released.
    pub queued: Tallied,
    /// Queued and released events that the counters of accepted events do not include yet.
    pub uncounted: u64,
}

/// What [`scan`] found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scanned {
    /// The events that are queued.
    pub events: Vec<Queued>,
    /// The number of damaged segments: those set aside, and those that the next opening will set aside.
    pub damaged: usize,
}

/// Counts the records of the journal in `dir` after `progress`. `None` if a segment that `progress` names is missing. Then either
/// `progress` is older than the files, or the journal was closed empty. If a repeated read of `progress` returns the same, scan
/// without `is_strict`.
pub fn scan(dir: &Path, progress: Progress, is_strict: bool) -> Result<Option<Scanned>, Error> {
    match count(dir, progress, is_strict) {
        Ok(counted) => Ok(counted),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::cannot_open(dir, error)),
    }
}

fn count(dir: &Path, progress: Progress, is_strict: bool) -> io::Result<Option<Scanned>> {
    let Progress { released, counted } = progress;
    let Files { segments, damaged, .. } = Files::list(dir)?;
    let numbers: Vec<u64> = segments.into_iter().filter(|number| *number >= released.segment()).collect();
    let mut damaged = damaged.len();
    // The owner keeps the segment that contains `released`.
    if is_strict && released != Position::default() && numbers.first() != Some(&released.segment()) {
        return Ok(None);
    }
    let mut sums: BTreeMap<(Vec<u8>, u64), (u64, u64)> = BTreeMap::new();
    for number in numbers {
        let segment = Segment::open(dir, number)?;
        if segment.header()?.is_none() {
            damaged += 1;
            continue;
        }
        let from = if number == released.segment() { released.offset() } else { HEADER_BYTES };
        let walked = segment.walk(from, None, |end, record| {
            let sum = sums.entry((record.stream.to_vec(), record.accepted_ms / 60_000)).or_default();
            sum.0 += 1;
            sum.1 += u64::from(Position::new(number, end) > counted);
            true
        })?;
        damaged += usize::from(walked.stop == Stop::Damaged);
    }
    let queued = sums
        .into_iter()
        .map(|((stream, minute), (events, uncounted))| Queued { queued: Tallied { stream, minute, events }, uncounted });
    Ok(Some(Scanned { events: queued.collect(), damaged }))
}
