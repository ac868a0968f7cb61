//! One half of a journal: a table of sums in a mapped file, one slot for each counter's key.
//!
//! A segment starts with `MAGIC`, its generation and the identity of the data file; slots follow, each at a multiple of 32 bytes:
//!
//! | byte | field |
//! |---|---|
//! | 0 | generation (8) |
//! | 8 | sum (8) |
//! | 16 | check sum over generation, table, key (4) |
//! | 20 | length of the key (2) |
//! | 22 | table id (2) |
//! | 24 | key |
//!
//! A slot counts only while it bears the generation of its segment, so that raising the segment's generation empties it. The
//! generation of a slot is written last, and a sum is one aligned word: whenever the process is killed, each slot is there with a
//! sum that was true, or is not there.

use std::sync::atomic::{Ordering, fence};

use hashbrown::{DefaultHashBuilder, HashTable};
use memmap2::MmapMut;

use crate::layout::TableId;

pub(super) const MAGIC: &[u8; 8] = b"elahjrn1";
pub(super) const SEGMENT_BYTES: usize = 1024 * 1024;
const SLOT_STEP: usize = 32;
const KEY_AT: usize = 24;

/// The sum of one key in one segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sum<'a> {
    pub(crate) table: TableId,
    pub(crate) key: &'a [u8],
    pub(crate) total: i64,
}

#[derive(Debug)]
struct Slot {
    at: u32,
    /// The counter's value when it got this slot, as far as this process knew.
    base: i64,
}

#[derive(Debug)]
pub(super) struct Segment {
    map: MmapMut,
    pub(super) generation: u64,
    end: usize,
    slots: HashTable<Slot>,
}

impl Segment {
    pub(super) fn new(map: MmapMut, generation: u64, data_file: u64) -> Self {
        let mut segment = Segment { map, generation: 0, end: SLOT_STEP, slots: HashTable::new() };
        segment.map[..8].copy_from_slice(MAGIC);
        segment.map[16..24].copy_from_slice(&data_file.to_le_bytes());
        segment.reset(generation);
        segment
    }

    /// Empties the segment for a new generation.
    pub(super) fn reset(&mut self, generation: u64) {
        self.generation = generation;
        self.map[8..16].copy_from_slice(&generation.to_le_bytes());
        self.end = SLOT_STEP;
        self.slots.clear();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The number of keys.
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// The sum of a key in this segment.
    pub(super) fn total(&self, hasher: &DefaultHashBuilder, table: TableId, key: &[u8]) -> i64 {
        let found = self.slots.find(hash(hasher, table, key), |slot| is_slot_of(&self.map, slot, table, key));
        found.map_or(0, |slot| total_at(&self.map, slot.at as usize))
    }

    /// Adds `by` to the slot of a key, and returns the counter's value, based on its value when the key got the slot. `Err(None)`
    /// if the key has no slot, `Err(Some(value))` if the sum does not fit.
    pub(super) fn add(&mut self, hasher: &DefaultHashBuilder, table: TableId, key: &[u8], by: i64) -> Result<i64, Option<i64>> {
        let map = &mut self.map;
        let slot = self.slots.find(hash(hasher, table, key), |slot| is_slot_of(map, slot, table, key)).ok_or(None)?;
        let at = slot.at as usize;
        let old = total_at(map, at);
        let total = old.checked_add(by);
        match total.and_then(|total| Some((total, slot.base.checked_add(total)?))) {
            Some((total, value)) => {
                map[at + 8..at + 16].copy_from_slice(&total.to_le_bytes());
                Ok(value)
            }
            None => Err(Some(slot.base.saturating_add(old))),
        }
    }

    /// Assigns a slot with the sum `total` to a new key; `false` if there is no room.
    pub(super) fn define(&mut self, hasher: &DefaultHashBuilder, sum: Sum<'_>, base: i64) -> bool {
        let Sum { table, key, total } = sum;
        let at = self.end;
        let next = (at + KEY_AT + key.len()).next_multiple_of(SLOT_STEP);
        if next > self.map.len() {
            return false;
        }
        let slot = &mut self.map[at..next];
        slot[8..16].copy_from_slice(&total.to_le_bytes());
        slot[16..20].copy_from_slice(&check(self.generation, table, key).to_le_bytes());
        slot[20..22].copy_from_slice(&(key.len() as u16).to_le_bytes());
        slot[22..24].copy_from_slice(&table.0.to_le_bytes());
        slot[KEY_AT..KEY_AT + key.len()].copy_from_slice(key);
        fence(Ordering::Release);
        slot[..8].copy_from_slice(&self.generation.to_le_bytes());
        self.end = next;
        let map = &self.map;
        let rehash = |slot: &Slot| {
            let (table, key) = name_at(map, slot.at as usize);
            hash(hasher, table, key)
        };
        self.slots.insert_unique(hash(hasher, table, key), Slot { at: at as u32, base }, rehash);
        true
    }

    pub(super) fn sums(&self) -> impl Iterator<Item = Sum<'_>> {
        sums(&self.map)
    }
}

/// The sums of a segment, of this process or a dead one.
pub(super) fn sums(segment: &[u8]) -> impl Iterator<Item = Sum<'_>> {
    let generation = generation(segment);
    let mut at = SLOT_STEP;
    std::iter::from_fn(move || {
        let slot = segment.get(at..).filter(|slot| slot.len() >= SLOT_STEP)?;
        let (table, key) = checked_name(slot, generation?)?;
        at = (at + KEY_AT + key.len()).next_multiple_of(SLOT_STEP);
        Some(Sum { table, key, total: total_at(slot, 0) })
    })
}

/// The generation of a segment, unless it is incomplete.
pub(super) fn generation(segment: &[u8]) -> Option<u64> {
    (segment.get(..8)? == MAGIC).then(|| word(segment, 8)).filter(|generation| *generation > 0)
}

/// Whether a segment counts for the data file with this identity. An incomplete one counts for none.
pub(super) fn is_of(segment: &[u8], data_file: u64) -> bool {
    generation(segment).is_some() && word(segment, 16) == data_file
}

fn checked_name(slot: &[u8], generation: u64) -> Option<(TableId, &[u8])> {
    let len = usize::from(u16::from_le_bytes([slot[20], slot[21]]));
    if word(slot, 0) != generation || len == 0 || slot.len() < KEY_AT + len {
        return None;
    }
    let (table, key) = name_at(slot, 0);
    (check(generation, table, key).to_le_bytes() == slot[16..20]).then_some((table, key))
}

fn is_slot_of(map: &[u8], slot: &Slot, table: TableId, key: &[u8]) -> bool {
    name_at(map, slot.at as usize) == (table, key)
}

fn name_at(map: &[u8], at: usize) -> (TableId, &[u8]) {
    let len = usize::from(u16::from_le_bytes([map[at + 20], map[at + 21]]));
    let table = TableId(u16::from_le_bytes([map[at + 22], map[at + 23]]));
    (table, &map[at + KEY_AT..at + KEY_AT + len])
}

fn total_at(map: &[u8], at: usize) -> i64 {
    word(map, at + 8) as i64
}

fn word(map: &[u8], at: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&map[at..at + 8]);
    u64::from_le_bytes(bytes)
}

fn hash(hasher: &DefaultHashBuilder, table: TableId, key: &[u8]) -> u64 {
    use std::hash::BuildHasher;
    hasher.hash_one((table, key))
}

fn check(generation: u64, table: TableId, key: &[u8]) -> u32 {
    let mut check = crc32fast::Hasher::new();
    check.update(&generation.to_le_bytes());
    check.update(&table.0.to_le_bytes());
    check.update(key);
    check.finalize()
}
