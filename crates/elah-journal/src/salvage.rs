//! Reads what can be read of a damaged segment: every record behind the damage whose checksum is right, and which bytes are lost.

use std::fs;
use std::ops::Range;
use std::path::Path;

use super::Error;
use super::record::{self, Parsed, Record, WORD_BYTES};
use super::segment::{self, HEADER_BYTES, Header};

/// What [`salvage`] found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Salvaged {
    /// The records behind the damage, in their order.
    pub records: Vec<Record<'static>>,
    /// The parts of the file that hold no record that can be read.
    pub lost: Vec<Range<u64>>,
}

/// Reads a segment that an opening has set aside, from where its damage begins. The records before that are in the journal.
///
/// # Errors
/// `CannotOpen` when the file cannot be read, or its name is not that of a segment that was set aside.
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

/// Whether a record can be read in `bytes`, wherever it begins.
pub(super) fn has_record(bytes: &[u8]) -> bool {
    parts(bytes).any(|part| matches!(part, Part::Record(_)))
}

enum Part<'a> {
    Record(Record<'a>),
    Lost(Range<usize>),
}

/// Records, and what lies between them; what was never written behind the last is no part.
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

/// How far to go to what may be the next record. One whose length is right is passed as a whole: the bytes of its event may look like a record.
fn step(bytes: &[u8]) -> usize {
    match record::parse(bytes) {
        Parsed::Damaged(size) if matches!(record::parse(&bytes[size..]), Parsed::Record(..) | Parsed::Unfinished) => size,
        _ => WORD_BYTES,
    }
}
