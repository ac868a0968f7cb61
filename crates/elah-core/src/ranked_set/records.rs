//! A record for each member: the leaf that it stands in and its name, side by side, so that finding a member and then its leaf waits
//! for memory once. Records lie in blocks of whole units that are used again when a member goes.

use hashbrown::HashMap;

const UNIT_BYTES: usize = 4;
const CHUNK_UNITS: usize = 1 << 14;
const CHUNK_BYTES: usize = CHUNK_UNITS * UNIT_BYTES;
/// The number of the leaf, 32 bits.
const LEAF_BYTES: usize = 4;
/// The leaf, then the length of the name, 16 bits; the name follows.
const HEAD_BYTES: usize = LEAF_BYTES + 2;

/// A record's handle is the number of its first unit: its chunk's number times `CHUNK_UNITS` plus its place there.
#[derive(Default)]
pub(super) struct Records {
    chunks: Vec<Vec<u8>>,
    /// The first free block of so many units. The first unit of a free block is the handle of the next.
    free: HashMap<u16, u32>,
    len: usize,
    name_bytes: usize,
}

const NO_BLOCK: u32 = u32::MAX;

fn units(name: &[u8]) -> usize {
    (HEAD_BYTES + name.len()).div_ceil(UNIT_BYTES)
}

impl Records {
    /// The bytes from the beginning of a record to the end of its chunk.
    #[inline]
    fn tail(&self, handle: u32) -> &[u8] {
        &self.chunks[handle as usize / CHUNK_UNITS][handle as usize % CHUNK_UNITS * UNIT_BYTES..]
    }

    #[inline]
    pub(super) fn name(&self, handle: u32) -> &[u8] {
        let record = self.tail(handle);
        let len = u16::from_le_bytes([record[LEAF_BYTES], record[LEAF_BYTES + 1]]);
        &record[HEAD_BYTES..HEAD_BYTES + usize::from(len)]
    }

    #[inline]
    pub(super) fn leaf(&self, handle: u32) -> u32 {
        read(self.tail(handle))
    }

    #[inline]
    pub(super) fn set_leaf(&mut self, handle: u32, leaf: u32) {
        write(self.block(handle, 1), leaf);
    }

    /// Stores a name that is shorter than a chunk, and returns its handle.
    pub(super) fn add(&mut self, name: &[u8]) -> u32 {
        let units = units(name);
        let handle = self.take_free(units).unwrap_or_else(|| self.grow(units));
        let block = self.block(handle, units);
        block[LEAF_BYTES..HEAD_BYTES].copy_from_slice(&(name.len() as u16).to_le_bytes());
        block[HEAD_BYTES..HEAD_BYTES + name.len()].copy_from_slice(name);
        self.len += 1;
        self.name_bytes += name.len();
        handle
    }

    /// Gives the block of a record back; its handle is given out again.
    pub(super) fn remove(&mut self, handle: u32) {
        let name = self.name(handle);
        let (units, bytes) = (units(name), name.len());
        let next = self.free.insert(units as u16, handle).unwrap_or(NO_BLOCK);
        write(self.block(handle, 1), next);
        self.len -= 1;
        self.name_bytes -= bytes;
    }

    fn take_free(&mut self, units: usize) -> Option<u32> {
        let handle = *self.free.get(&(units as u16))?;
        match read(self.tail(handle)) {
            NO_BLOCK => self.free.remove(&(units as u16)),
            next => self.free.insert(units as u16, next),
        }
    }

    fn grow(&mut self, units: usize) -> u32 {
        let bytes = units * UNIT_BYTES;
        if self.chunks.last().is_none_or(|chunk| chunk.len() + bytes > CHUNK_BYTES) {
            // The first chunk grows with its records, so that a small set stays small.
            self.chunks.push(if self.chunks.is_empty() { Vec::new() } else { Vec::with_capacity(CHUNK_BYTES) });
        }
        let number = self.chunks.len() - 1;
        let chunk = &mut self.chunks[number];
        let start = chunk.len();
        chunk.resize(start + bytes, 0);
        (number * CHUNK_UNITS + start / UNIT_BYTES) as u32
    }

    #[inline]
    fn block(&mut self, handle: u32, units: usize) -> &mut [u8] {
        let start = handle as usize % CHUNK_UNITS * UNIT_BYTES;
        &mut self.chunks[handle as usize / CHUNK_UNITS][start..start + units * UNIT_BYTES]
    }

    /// Whether a name of any length is sure to find room: handles have 32 bits.
    pub(super) fn has_room(&self) -> bool {
        self.chunks.len() < u32::MAX as usize / CHUNK_UNITS
    }

    /// The number of records.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Memory of all records, the names among them.
    pub(super) fn bytes(&self) -> usize {
        self.chunks.iter().map(Vec::capacity).sum()
    }

    /// The bytes of the names alone.
    pub(super) fn name_bytes(&self) -> usize {
        self.name_bytes
    }
}

#[inline]
fn read(unit: &[u8]) -> u32 {
    u32::from_le_bytes([unit[0], unit[1], unit[2], unit[3]])
}

#[inline]
fn write(unit: &mut [u8], number: u32) {
    unit[..UNIT_BYTES].copy_from_slice(&number.to_le_bytes());
}
