//! A shared mapping of a file as cells that several processes read and write, and the clock that they share.

#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use memmap2::{MmapOptions, MmapRaw};

/// The whole file, in cells of 8 bytes.
#[derive(Debug)]
pub(super) struct Map {
    map: MmapRaw,
}

impl Map {
    /// The file must not be shortened while it is mapped. Scoreboards are private to their user, and Elah never shortens one.
    pub(super) fn new(file: &File) -> io::Result<Map> {
        Ok(Map { map: MmapOptions::new().map_raw(file)? })
    }

    pub(super) fn len(&self) -> usize {
        self.map.len() / size_of::<AtomicU64>()
    }

    pub(super) fn cell(&self, position: usize) -> &AtomicU64 {
        assert!(position < self.len(), "cell {position} of a map of {}", self.len());
        // SAFETY: the position is inside the map. The map begins at a page, so it is aligned. Any bits are valid, the memory
        // lives as long as `self`, and every process accesses it through atomics only.
        unsafe { &*self.map.as_ptr().cast::<AtomicU64>().add(position) }
    }
}

/// CLOCK_MONOTONIC, which is the same in every process; `Instant` does not expose it.
pub(super) fn monotonic() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is ours; the clock exists on every system that Elah runs on.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}
