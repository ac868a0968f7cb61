//! The scoreboard of a server: a mapped file of counters. Supervisor and workers write what they do, and any process can read it,
//! even while a writer hangs.
//!
//! It consists of unsigned 64-bit cells: a header; a slot for each place of a worker; a row for each worker process; for each
//! shard its term and the slot that owns it; and for each row what its worker reports about the workers in all slots. Every cell has one
//! writer at a time, so a plain store is enough.

mod map;
mod names;
mod row;

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::ops::Range;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use map::Map;
pub use names::Area;
use names::{PEER_CELLS, SERVER_CELLS, place};
pub use row::{Report, Row};

/// "ELAHBRD" and the layout's version: a reader of another version refuses the file.
const MAGIC: u64 = u64::from_be_bytes(*b"ELAHBRD\x04");

const HEADER_CELLS: usize = 64;
const SLOT_CELLS_MAX: usize = 16;
const ROW_CELLS_MAX: usize = 32;
const PEER_STRIDE: usize = PEER_CELLS.len();

/// Numbers that an application publishes in its row, each with a name of three cells.
const EXTRAS_MAX: usize = 32;

/// Those of Elah itself that only some processes have, after them.
const OWN_EXTRAS_MAX: usize = 16;
const EXTRA_NAME_CELLS: usize = 3;
const EXTRA_NAME_BYTES: usize = EXTRA_NAME_CELLS * 8 - 1;
const EXTRA_CELLS: usize = EXTRA_NAME_CELLS + 1;
const ROW_STRIDE: usize = ROW_CELLS_MAX + (EXTRAS_MAX + OWN_EXTRAS_MAX) * EXTRA_CELLS;

/// A shard's cell holds its term above the slot.
const TERM_SHIFT: u32 = 32;

/// The header's first cells hold the sizes, before the named cells.
const MAGIC_CELL: usize = 0;
const SLOTS_MAX_CELL: usize = 1;
const ROWS_CELL: usize = 2;
const SHARDS_CELL: usize = 3;
const FIRST_SERVER_CELL: usize = 8;

/// How many slots, rows and shards a scoreboard has room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    pub slots_max: usize,
    pub rows: usize,
    pub shards: usize,
}

impl Sizes {
    fn cells(self) -> usize {
        HEADER_CELLS + self.slots_max * SLOT_CELLS_MAX + self.rows * (ROW_STRIDE + self.slots_max * PEER_STRIDE) + self.shards
    }
}

/// A mapped scoreboard. It may cross a fork: parent and child then write to the same file.
#[derive(Debug)]
pub struct Scoreboard {
    map: Map,
    sizes: Sizes,
}

impl Scoreboard {
    /// Creates the file, readable by its owner only. Allocates its space at once, so a full disk is an error here and not a fault
    /// later.
    pub fn create(path: &Path, sizes: Sizes) -> io::Result<Scoreboard> {
        let mut file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)?;
        file.write_all(&vec![0; sizes.cells() * size_of::<u64>()])?;
        let scoreboard = Scoreboard { map: Map::new(&file)?, sizes };
        for (cell, size) in [(SLOTS_MAX_CELL, sizes.slots_max), (ROWS_CELL, sizes.rows), (SHARDS_CELL, sizes.shards)] {
            scoreboard.map.cell(cell).store(size as u64, Ordering::Relaxed);
        }
        scoreboard.map.cell(MAGIC_CELL).store(MAGIC, Ordering::Release);
        Ok(scoreboard)
    }

    /// Opens a scoreboard of this process or another.
    pub fn open(path: &Path) -> io::Result<Scoreboard> {
        Scoreboard::of_file(&OpenOptions::new().read(true).write(true).open(path)?)
    }

    fn of_file(file: &File) -> io::Result<Scoreboard> {
        let map = Map::new(file)?;
        let refused = |reason: &str| io::Error::new(io::ErrorKind::InvalidData, reason.to_owned());
        if map.len() < HEADER_CELLS || map.cell(MAGIC_CELL).load(Ordering::Acquire) != MAGIC {
            return Err(refused("it is no scoreboard of this version of Elah"));
        }
        let size = |cell: usize| usize::try_from(map.cell(cell).load(Ordering::Relaxed)).ok().filter(|size| *size < 1 << 32);
        let (Some(slots_max), Some(rows), Some(shards)) = (size(SLOTS_MAX_CELL), size(ROWS_CELL), size(SHARDS_CELL)) else {
            return Err(refused("its header is damaged"));
        };
        let sizes = Sizes { slots_max, rows, shards };
        if map.len() < sizes.cells() {
            return Err(refused("it is shorter than its header says"));
        }
        Ok(Scoreboard { map, sizes })
    }

    pub fn sizes(&self) -> Sizes {
        self.sizes
    }

    /// The cell with that name; `None` if the scoreboard has no such area, or the area no such cell.
    pub fn cell(&self, area: Area, name: &str) -> Option<&AtomicU64> {
        let position = area.position(name)?;
        let first = match area {
            Area::Server => FIRST_SERVER_CELL,
            Area::WorkerSlot(slot) if slot < self.sizes.slots_max => HEADER_CELLS + slot * SLOT_CELLS_MAX,
            Area::Row(row) if row < self.sizes.rows => self.first_of_row(row),
            Area::Peer(row, slot) if row < self.sizes.rows && slot < self.sizes.slots_max => {
                self.first_of_peers(row) + slot * PEER_STRIDE
            }
            Area::WorkerSlot(_) | Area::Row(_) | Area::Peer(..) => return None,
        };
        Some(self.map.cell(first + position))
    }

    /// One more than the last row in use.
    fn rows_used(&self) -> usize {
        const CELL: usize = FIRST_SERVER_CELL + place(SERVER_CELLS, "rows_used");
        usize::try_from(self.map.cell(CELL).load(Ordering::Relaxed)).map_or(0, |used| used.min(self.sizes.rows))
    }

    /// A number that changes whenever a shard gets another owner, or a slot another generation.
    pub fn map_version(&self) -> u64 {
        const CELL: usize = FIRST_SERVER_CELL + place(SERVER_CELLS, "map_version");
        self.map.cell(CELL).load(Ordering::Acquire)
    }

    /// A cell of an existing row, by its place in `ROW_CELLS`.
    fn row_cell(&self, row: usize, position: usize) -> u64 {
        self.map.cell(self.first_of_row(row) + position).load(Ordering::Relaxed)
    }

    /// The slot that owns a shard; `None` for a shard that does not exist.
    pub fn owner_of(&self, shard: usize) -> Option<u64> {
        self.shard(shard).map(|cell| cell.load(Ordering::Acquire) & u64::from(u32::MAX))
    }

    /// How often a shard was assigned, so that an owner notices that it is one again; `None` for a shard that does not exist.
    pub fn term_of(&self, shard: usize) -> Option<u64> {
        self.shard(shard).map(|cell| cell.load(Ordering::Acquire) >> TERM_SHIFT)
    }

    /// Assigns a shard to a slot, for a new term; false for a shard that does not exist.
    pub fn assign(&self, shard: usize, slot: u32) -> bool {
        let Some(cell) = self.shard(shard) else { return false };
        let term = (cell.load(Ordering::Relaxed) >> TERM_SHIFT) + 1;
        cell.store(term << TERM_SHIFT | u64::from(slot), Ordering::Release);
        true
    }

    /// Empties a row for the next process.
    pub fn clear_row(&self, row: usize) {
        if row < self.sizes.rows {
            let (own, peers) = (self.first_of_row(row), self.first_of_peers(row));
            let cells = (own..own + ROW_STRIDE).chain(peers..peers + self.sizes.slots_max * PEER_STRIDE);
            cells.for_each(|cell| self.map.cell(cell).store(0, Ordering::Relaxed));
        }
    }

    /// Publishes a number of the application; false if the row does not exist, all numbers are in use, or the name is empty or
    /// too long.
    pub fn publish(&self, row: usize, name: &str, value: u64) -> bool {
        self.publish_in(0..EXTRAS_MAX, row, name, value)
    }

    /// Publishes a number of Elah's own, which takes no place of the application's.
    pub fn publish_own(&self, row: usize, name: &str, value: u64) -> bool {
        self.publish_in(EXTRAS_MAX..EXTRAS_MAX + OWN_EXTRAS_MAX, row, name, value)
    }

    fn publish_in(&self, extras: Range<usize>, row: usize, name: &str, value: u64) -> bool {
        if row >= self.sizes.rows || name.is_empty() || name.len() > EXTRA_NAME_BYTES || name.contains('\0') {
            return false;
        }
        let wanted = name_cells(name);
        for extra in self.extras_of(row, extras) {
            let found: Vec<u64> = (0..EXTRA_NAME_CELLS).map(|cell| self.map.cell(extra + cell).load(Ordering::Relaxed)).collect();
            if found[0] != 0 && found != wanted {
                continue;
            }
            self.map.cell(extra + EXTRA_NAME_CELLS).store(value, Ordering::Relaxed);
            // A reader that sees the first cell of a name sees the others and the value.
            for cell in (0..EXTRA_NAME_CELLS).rev() {
                self.map.cell(extra + cell).store(wanted[cell], Ordering::Release);
            }
            return true;
        }
        false
    }

    /// The application's numbers in a row, and Elah's own after them.
    pub fn extras(&self, row: usize) -> Vec<(String, u64)> {
        if row >= self.sizes.rows {
            return Vec::new();
        }
        let named = self
            .extras_of(row, 0..EXTRAS_MAX + OWN_EXTRAS_MAX)
            .filter(|extra| self.map.cell(*extra).load(Ordering::Acquire) != 0);
        named.map(|extra| (self.extra_name(extra), self.map.cell(extra + EXTRA_NAME_CELLS).load(Ordering::Relaxed))).collect()
    }

    fn extras_of(&self, row: usize, extras: Range<usize>) -> impl Iterator<Item = usize> {
        let first = self.first_of_row(row) + ROW_CELLS_MAX;
        extras.map(move |extra| first + extra * EXTRA_CELLS)
    }

    fn extra_name(&self, extra: usize) -> String {
        let cells = (0..EXTRA_NAME_CELLS).map(|cell| self.map.cell(extra + cell).load(Ordering::Relaxed));
        let bytes: Vec<u8> = cells.flat_map(u64::to_le_bytes).take_while(|byte| *byte != 0).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn first_of_row(&self, row: usize) -> usize {
        HEADER_CELLS + self.sizes.slots_max * SLOT_CELLS_MAX + row * ROW_STRIDE
    }

    fn first_of_peers(&self, row: usize) -> usize {
        self.first_of_row(self.sizes.rows) + self.sizes.shards + row * self.sizes.slots_max * PEER_STRIDE
    }

    fn shard(&self, shard: usize) -> Option<&AtomicU64> {
        let first = self.first_of_row(self.sizes.rows);
        (shard < self.sizes.shards).then(|| self.map.cell(first + shard))
    }
}

fn name_cells(name: &str) -> Vec<u64> {
    let mut bytes = [0; EXTRA_NAME_CELLS * 8];
    bytes[..name.len()].copy_from_slice(name.as_bytes());
    bytes.chunks_exact(8).map(|chunk| u64::from_le_bytes(chunk.try_into().unwrap_or_default())).collect()
}

/// Milliseconds of the clock that all processes of this machine share; heartbeats use it.
pub fn now_ms() -> u64 {
    map::monotonic().as_millis().try_into().unwrap_or(u64::MAX)
}

/// How often a worker writes to its row.
pub const PUBLISH_PERIOD: Duration = Duration::from_millis(250);

#[cfg(test)]
mod tests;
