//! Salvage of a damaged segment: every record after the damage with a correct checksum, and the lost byte ranges.

use std::fs;
use std::ops::Range;
use std::path::Path;

use super::Error;
use super::record::{self, Parsed, Record, WORD_BYTES};
use super::segment::{self, HEADER_BYTES, Header};

/// What [`salvage`] found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Salvaged {
    /// The records after the damage, in order.
    pub records: Vec<Record<'static>>,
    /// The parts of the file without a readable record.
    pub lost: Vec<Range<u64>>,
}

/// Reads a segment that an opening has set aside, from the start of the damage. The records before that are in the journal.
///
/// # Errors
/// `CannotOpen` if the file cannot be read, or its name is not that of a segment set aside.
pub fn salvage(path: &Path) -> Result<Salvaged, Error> {
    let Some(from) = segment::damaged_from(path) else {
        return Err(Error::cannot_open(path, "it is not a segment that was set aside"));
    };
    let bytes = fs::read(path).map_err(|error| Error::cannot_open(path, error))?;
    let (from, len) = ((from.max(HEADER_BYTES) as usize).min(bytes.len()), bytes.len() as u64);
    let mut salvaged = Salvaged::default();
    for part in parts(&bytes[from..]) {
        match part {
            Part::Record(record) => salvaged.records.push(record.into_owned()),
            Part::Lost(range) => salvaged.lost.push((from + range.start) as u64..(from + range.end) as u64),
        }
    }
    let header = Header::read(&bytes).map_err(|error| Error::cannot_open(path, error))?;
    if let Some(cut) = header.map(|header| len..header.bytes.into()).filter(|cut| !cut.is_empty()) {
        match salvaged.lost.last_mut().filter(|last| last.end == cut.start) {
            Some(last) => last.end = cut.end,
            None => salvaged.lost.push(cut),
        }
    }
    Ok(salvaged)
}

/// Whether a record can be read in `bytes`, at any offset.
pub(super) fn has_record(bytes: &[u8]) -> bool {
    parts(bytes).any(|part| matches!(part, Part::Record(_)))
}

enum Part<'a> {
    Record(Record<'a>),
    Lost(Range<usize>),
}

/// Records and the gaps between them, without the unwritten rest.
fn parts(bytes: &[u8]) -> impl Iterator<Item = Part<'_>> {
    let written = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    let mut at = 0;
    std::iter::from_fn(move || {
        if at >= written {
            return None;
        }
        if let Parsed::Record(record, size) = record::parse(&bytes[at..]) {
            at += size;
            return Some(Part::Record(record));
        }
        let start = at;
        at += step(&bytes[at..]);
        while at < written && !matches!(record::parse(&bytes[at..]), Parsed::Record(..)) {
            at += step(&bytes[at..]);
        }
        Some(Part::Lost(start..at.min(bytes.len())))
    })
}

/// The distance to the next possible record. Skips a record with a correct length as a whole, because the bytes of its event may
/// look like a record.
fn step(bytes: &[u8]) -> usize {
    match record::parse(bytes) {
        Parsed::Damaged(size) if matches!(record::parse(&bytes[size..]), Parsed::Record(..) | Parsed::Unfinished) => size,
        _ => WORD_BYTES,
    }
}
