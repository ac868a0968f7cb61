//! What to copy of a segment while its owner appends.

use std::fs::File;
use std::path::Path;

use super::Error;
use super::segment::{HEADER_BYTES, Segment, Stop};

/// The bytes of the segment in `path` up to the end of its last whole record. They do not change any more; in a copy zeros take the place of the
/// rest, where a record may be in the making. All bytes of a damaged one.
pub fn whole_bytes(path: &Path) -> Result<u64, Error> {
    let read = || {
        let segment = Segment::of(File::open(path)?);
        let walked = segment.walk(HEADER_BYTES, None, |_, _| true)?;
        Ok(if walked.stop == Stop::Damaged { segment.len()? } else { walked.end })
    };
    read().map(u64::from).map_err(|error: std::io::Error| Error::cannot_open(path, error))
}
