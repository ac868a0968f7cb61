//! A slab of items under 32-bit numbers. It grows chunk by chunk, so that no growth ever copies what is there.

use std::ops::{Index, IndexMut};

/// `LEN` is the number of items in a chunk, a power of two.
pub(super) struct Chunks<T, const LEN: usize> {
    chunks: Vec<Vec<T>>,
    free: Vec<u32>,
}

impl<T: Default, const LEN: usize> Chunks<T, LEN> {
    pub(super) const fn new() -> Self {
        Chunks { chunks: Vec::new(), free: Vec::new() }
    }

    /// Stores an item and returns its number.
    pub(super) fn insert(&mut self, item: T) -> u32 {
        if let Some(number) = self.free.pop() {
            self[number] = item;
            return number;
        }
        match self.chunks.last_mut().filter(|chunk| chunk.len() < LEN) {
            Some(chunk) => chunk.push(item),
            // The first chunk grows with its items, so that a small set stays small.
            None => {
                let mut chunk = if self.chunks.is_empty() { Vec::new() } else { Vec::with_capacity(LEN) };
                chunk.push(item);
                self.chunks.push(chunk);
            }
        }
        (self.places() - 1) as u32
    }

    /// Drops an item; its number is given out again.
    pub(super) fn remove(&mut self, number: u32) -> T {
        self.free.push(number);
        std::mem::take(&mut self[number])
    }

    fn places(&self) -> usize {
        self.chunks.last().map_or(0, |last| (self.chunks.len() - 1) * LEN + last.len())
    }

    /// The number of items.
    pub(super) fn len(&self) -> usize {
        self.places() - self.free.len()
    }

    /// Memory of the items themselves, free places included.
    pub(super) fn bytes(&self) -> usize {
        let items: usize = self.chunks.iter().map(Vec::capacity).sum();
        items * size_of::<T>() + self.free.capacity() * size_of::<u32>()
    }
}

impl<T, const LEN: usize> Index<u32> for Chunks<T, LEN> {
    type Output = T;

    #[inline]
    fn index(&self, number: u32) -> &T {
        &self.chunks[number as usize / LEN][number as usize % LEN]
    }
}

impl<T, const LEN: usize> IndexMut<u32> for Chunks<T, LEN> {
    #[inline]
    fn index_mut(&mut self, number: u32) -> &mut T {
        &mut self.chunks[number as usize / LEN][number as usize % LEN]
    }
}
