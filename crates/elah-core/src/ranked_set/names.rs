//! The bytes of the members' names, each once, in blocks of whole units that are used again when a member goes.

use hashbrown::HashMap;

const UNIT_BYTES: usize = 4;
const CHUNK_UNITS: usize = 1 << 14;
const CHUNK_BYTES: usize = CHUNK_UNITS * UNIT_BYTES;

/// Where names lie: a unit's number is its chunk's number times `CHUNK_UNITS` plus its place there.
#[derive(Default)]
pub(super) struct Names {
    chunks: Vec<Vec<u8>>,
    /// The first free block of so many units. The first unit of a free block is the number of the next.
    free: HashMap<u16, u32>,
}

const NO_BLOCK: u32 = u32::MAX;

fn units(bytes: usize) -> usize {
    bytes.div_ceil(UNIT_BYTES)
}

impl Names {
    #[inline]
    pub(super) fn get(&self, at: u32, len: u16) -> &[u8] {
        if len == 0 {
            return &[];
        }
        let start = at as usize % CHUNK_UNITS * UNIT_BYTES;
        &self.chunks[at as usize / CHUNK_UNITS][start..start + usize::from(len)]
    }

    /// Stores a name shorter than a chunk and returns where.
    pub(super) fn add(&mut self, name: &[u8]) -> u32 {
        let units = units(name.len());
        if units == 0 {
            return 0;
        }
        let at = self.take_free(units).unwrap_or_else(|| self.grow(units));
        self.block(at, units)[..name.len()].copy_from_slice(name);
        at
    }

    /// Gives the block of a name back.
    pub(super) fn remove(&mut self, at: u32, len: u16) {
        let units = units(usize::from(len));
        if units > 0 {
            let next = self.free.insert(units as u16, at).unwrap_or(NO_BLOCK);
            self.block(at, units)[..UNIT_BYTES].copy_from_slice(&next.to_le_bytes());
        }
    }

    fn take_free(&mut self, units: usize) -> Option<u32> {
        let at = *self.free.get(&(units as u16))?;
        let next = self.block(at, units).first_chunk().map_or(NO_BLOCK, |next| u32::from_le_bytes(*next));
        match next {
            NO_BLOCK => self.free.remove(&(units as u16)),
            next => self.free.insert(units as u16, next),
        }
    }

    fn grow(&mut self, units: usize) -> u32 {
        let bytes = units * UNIT_BYTES;
        if self.chunks.last().is_none_or(|chunk| chunk.len() + bytes > CHUNK_BYTES) {
            // The first chunk grows with its names, so that a small set stays small.
            self.chunks.push(if self.chunks.is_empty() { Vec::new() } else { Vec::with_capacity(CHUNK_BYTES) });
        }
        let number = self.chunks.len() - 1;
        let chunk = &mut self.chunks[number];
        let start = chunk.len();
        chunk.resize(start + bytes, 0);
        (number * CHUNK_UNITS + start / UNIT_BYTES) as u32
    }

    fn block(&mut self, at: u32, units: usize) -> &mut [u8] {
        let start = at as usize % CHUNK_UNITS * UNIT_BYTES;
        &mut self.chunks[at as usize / CHUNK_UNITS][start..start + units * UNIT_BYTES]
    }

    /// Whether a name of this length is sure to find room: unit numbers have 32 bits.
    pub(super) fn has_room(&self) -> bool {
        self.chunks.len() < u32::MAX as usize / CHUNK_UNITS
    }

    pub(super) fn bytes(&self) -> usize {
        self.chunks.iter().map(Vec::capacity).sum()
    }
}
