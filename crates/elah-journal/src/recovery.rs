//! Recovery of a segment from an earlier process: how far its records reach, and whether the bytes after them are damage.
//!
//! A killed process leaves every record complete except the last, which is marked as unfinished. After a power loss everything
//! that was synced is there, and any part of the rest. So anything else in a segment of this boot is damage. In the last segment
//! of an earlier boot it may be damage or unsynced data; it counts as unsynced if no record after it can be read.
//!
//! One kind of damage looks like an end: zeros from a record to the end of the file. It is found only if the place up to which
//! the ledger has counted lies there.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::record::Record;
use super::salvage;
use super::segment::{HEADER_BYTES, Header, Segment, Stop, Walked};

/// A segment that ends too early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The file: one that was set aside, or the segment itself if it was only truncated.
    pub path: PathBuf,
    /// The end of the last readable record before the damage.
    pub offset: u32,
    /// Whether a power loss before a sync explains it. Then nothing that was synced is missing.
    pub is_torn: bool,
}

/// A segment that was checked.
pub(super) struct Recovered {
    /// The end of its last record. A segment that ends with its header is deleted.
    pub(super) end: u32,
    pub(super) damage: Option<Damage>,
}

/// The ID of the machine's boot; 0 where the system does not report it.
pub fn boot_id() -> u64 {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let digits: String = text.chars().filter(char::is_ascii_hexdigit).take(16).collect();
    u64::from_str_radix(&digits, 16).unwrap_or_default()
}

/// What the ledger knows about a segment: records begin at `from`, and reach at least up to `to`.
pub(super) struct Expected {
    pub(super) from: u32,
    pub(super) to: u32,
}

/// Passes on each record with the offset after it. Sets the file aside if it is damaged, and deletes it if it has no record.
/// `later` are the numbers of the segments created after it.
pub(super) fn recover(
    dir: &Path,
    number: u64,
    Expected { from, to }: Expected,
    (this_boot, later): (u64, &[u64]),
    mut each: impl FnMut(u32, Record<'_>),
) -> io::Result<Recovered> {
    let segment = Segment::open(dir, number)?;
    let len = segment.len()?;
    let mut walked = Walked { end: from, stop: Stop::Damaged };
    let mut may_be_torn = false;
    if let Some(Header { boot, bytes, .. }) = segment.header()? {
        walked = segment.walk(from, None, |end, record| {
            each(end, record);
            true
        })?;
        let is_cut = bytes != len;
        let is_followed =
            || Ok::<_, io::Error>(walked.stop == Stop::End && segment.rest(walked.end)?.iter().any(|byte| *byte != 0));
        // An earlier opening that found damage has left a shorter file, of which the ledger does not know.
        if is_cut || walked.end < to.min(bytes) || is_followed()? {
            walked.stop = Stop::Damaged;
        }
        may_be_torn = boot != this_boot && !is_cut;
    }
    let end = walked.end.min(len).max(HEADER_BYTES);
    if walked.stop != Stop::Damaged {
        if end == HEADER_BYTES {
            Segment::delete(dir, number)?;
        } else {
            segment.sync()?;
        }
        return Ok(Recovered { end, damage: None });
    }
    let is_torn = may_be_torn && are_empty(dir, later)? && !salvage::has_record(&segment.rest(end)?);
    // The released position of this segment says nothing about another one.
    let offset = if segment.is_another()? { HEADER_BYTES } else { end };
    let path = if is_torn { Segment::path(dir, number) } else { Segment::keep_damaged(dir, number, offset)? };
    if end == HEADER_BYTES {
        Segment::delete(dir, number)?;
    } else {
        replace(&segment, dir, this_boot, end)?;
    }
    Ok(Recovered { end, damage: Some(Damage { path, offset, is_torn }) })
}

/// Deletes a segment whose events are released. Keeps the file if another segment has its name.
pub(super) fn delete(dir: &Path, number: u64) -> io::Result<Option<Damage>> {
    let offset = HEADER_BYTES;
    let is_another = Segment::open(dir, number)?.is_another()?;
    let kept = is_another.then(|| Segment::keep_damaged(dir, number, offset)).transpose()?;
    Segment::delete(dir, number)?;
    Ok(kept.map(|path| Damage { path, offset, is_torn: false }))
}

/// A disk without room for a copy is not an error: the next opening does the same again.
fn replace(segment: &Segment, dir: &Path, this_boot: u64, end: u32) -> io::Result<()> {
    match segment.replace(dir, this_boot, end) {
        Err(error) if error.kind() == io::ErrorKind::StorageFull => segment.sync(),
        replaced => replaced,
    }
}

fn are_empty(dir: &Path, numbers: &[u64]) -> io::Result<bool> {
    for number in numbers {
        if Segment::open(dir, *number)?.walk(HEADER_BYTES, None, |_, _| false)?.end > HEADER_BYTES {
            return Ok(false);
        }
    }
    Ok(true)
}
