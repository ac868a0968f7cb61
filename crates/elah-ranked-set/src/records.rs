//! The records of members: their names. Records occupy runs of whole units that are reused after a removal.

use hashbrown::HashMap;

use super::arena::{Arena, Block, prefetch};

const UNIT_BYTES: usize = 4;
const BLOCK_UNITS: usize = Block::<u8>::CAPACITY / UNIT_BYTES;
/// The length of the name, 16 bits; the name follows.
const HEAD_BYTES: usize = 2;

/// A record's handle is the number of its first unit: its block's number times `BLOCK_UNITS` plus its place there.
pub(super) struct Records {
    arena: Arena<u8>,
    /// The first free run of this many units. The first unit of a free run contains the handle of the next.
    free: HashMap<u16, u32>,
    name_bytes: usize,
}

const NO_RUN: u32 = u32::MAX;

fn units(name: &[u8]) -> usize {
    (HEAD_BYTES + name.len()).div_ceil(UNIT_BYTES)
}

impl Records {
    pub(super) fn new() -> Self {
        Records { arena: Arena::new(), free: HashMap::new(), name_bytes: 0 }
    }

    /// The bytes from the beginning of a record to the end of its block.
    #[inline]
    fn tail(&self, handle: u32) -> &[u8] {
        &self.arena[handle as usize / BLOCK_UNITS][handle as usize % BLOCK_UNITS * UNIT_BYTES..]
    }

    #[inline]
    pub(super) fn name(&self, handle: u32) -> &[u8] {
        let record = self.tail(handle);
        let len = u16::from_le_bytes([record[0], record[1]]);
        &record[HEAD_BYTES..HEAD_BYTES + usize::from(len)]
    }

    /// Prefetches the beginning of a record.
    #[inline]
    pub(super) fn prefetch(&self, handle: u32) {
        prefetch(&self.tail(handle)[..HEAD_BYTES]);
    }

    /// Stores a name that is shorter than a block, and returns its handle.
    pub(super) fn add(&mut self, name: &[u8]) -> u32 {
        let units = units(name);
        let handle = self.take_free(units).unwrap_or_else(|| self.grow(units));
        let run = self.run(handle, units);
        run[..HEAD_BYTES].copy_from_slice(&(name.len() as u16).to_le_bytes());
        run[HEAD_BYTES..HEAD_BYTES + name.len()].copy_from_slice(name);
        self.name_bytes += name.len();
        handle
    }

    /// Frees the run of a record; its handle is reused.
    pub(super) fn remove(&mut self, handle: u32) {
        let name = self.name(handle);
        let (units, bytes) = (units(name), name.len());
        let next = self.free.insert(units as u16, handle).unwrap_or(NO_RUN);
        self.run(handle, 1).copy_from_slice(&next.to_le_bytes());
        self.name_bytes -= bytes;
    }

    fn take_free(&mut self, units: usize) -> Option<u32> {
        let handle = *self.free.get(&(units as u16))?;
        let first = self.tail(handle);
        match u32::from_le_bytes([first[0], first[1], first[2], first[3]]) {
            NO_RUN => self.free.remove(&(units as u16)),
            next => self.free.insert(units as u16, next),
        }
    }

    fn grow(&mut self, units: usize) -> u32 {
        let (number, block) = self.arena.with_room(units * UNIT_BYTES);
        let start = block.len();
        block.grow(0, units * UNIT_BYTES);
        (number * BLOCK_UNITS + start / UNIT_BYTES) as u32
    }

    #[inline]
    fn run(&mut self, handle: u32, units: usize) -> &mut [u8] {
        let start = handle as usize % BLOCK_UNITS * UNIT_BYTES;
        &mut self.arena[handle as usize / BLOCK_UNITS][start..start + units * UNIT_BYTES]
    }

    /// Whether a name of any length certainly fits: handles have 32 bits.
    pub(super) fn has_room(&self) -> bool {
        self.arena.len() < u32::MAX as usize / BLOCK_UNITS
    }

    /// Memory of all records, including the names.
    pub(super) fn bytes(&self) -> usize {
        self.arena.bytes()
    }

    /// The bytes of the names alone.
    pub(super) fn name_bytes(&self) -> usize {
        self.name_bytes
    }
}
