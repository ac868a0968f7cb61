//! Counts what a journal holds without owning it, while its owner appends: for reports and for the command line.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use super::segment::{HEADER_BYTES, Segment};
use super::tally::Tallied;
use super::{Error, Position, Progress};

/// Events of a stream and minute in a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queued {
    /// Those that are not released.
    pub queued: Tallied,
    /// Those of them and of the released that are not in the counters of accepted events.
    pub uncounted: u64,
}

/// Counts the records of the journal in `dir` after `progress`. `None` when a segment is gone that `progress` says is there: it is older
/// than the files, or, if it has not changed when asked for again, the journal was closed with nothing in it; then scan without `is_strict`.
pub fn scan(dir: &Path, progress: Progress, is_strict: bool) -> Result<Option<Vec<Queued>>, Error> {
    match count(dir, progress, is_strict) {
        Ok(counted) => Ok(counted),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::cannot_open(dir, error)),
    }
}

fn count(dir: &Path, progress: Progress, is_strict: bool) -> io::Result<Option<Vec<Queued>>> {
    let Progress { released, counted } = progress;
    let numbers: Vec<u64> = Segment::list(dir)?.into_iter().filter(|number| *number >= released.segment()).collect();
    // The owner keeps the segment that `released` stands in.
    if is_strict && released != Position::default() && numbers.first() != Some(&released.segment()) {
        return Ok(None);
    }
    let mut sums: BTreeMap<(Vec<u8>, u64), (u64, u64)> = BTreeMap::new();
    for number in numbers {
        let segment = Segment::open(dir, number)?;
        let from = if number == released.segment() { released.offset() } else { HEADER_BYTES };
        segment.walk(from, None, |end, record| {
            let sum = sums.entry((record.stream.to_vec(), record.accepted_ms / 60_000)).or_default();
            sum.0 += 1;
            sum.1 += u64::from(Position::new(number, end) > counted);
            true
        })?;
    }
    let queued = sums
        .into_iter()
        .map(|((stream, minute), (events, uncounted))| Queued { queued: Tallied { stream, minute, events }, uncounted });
    Ok(Some(queued.collect()))
}
