//! A slab of items with 32-bit numbers. It grows block by block, so no growth copies much.

use std::ops::{Index, IndexMut};

use super::arena::{Arena, Block};

pub(super) struct Chunks<T> {
    arena: Arena<T>,
    free: Vec<u32>,
    /// Items and free places.
    places: usize,
}

impl<T: Default> Chunks<T> {
    pub(super) const fn new() -> Self {
        Chunks { arena: Arena::new(), free: Vec::new(), places: 0 }
    }

    /// Stores an item and returns its number.
    pub(super) fn insert(&mut self, item: T) -> u32 {
        if let Some(number) = self.free.pop() {
            self[number] = item;
            return number;
        }
        let (number, block) = self.arena.with_room(1);
        block.push(item);
        self.places += 1;
        (number * Block::<T>::CAPACITY + block.len() - 1) as u32
    }

    /// Drops an item; its number is reused.
    pub(super) fn remove(&mut self, number: u32) -> T {
        self.free.push(number);
        std::mem::take(&mut self[number])
    }

    /// The number of items.
    pub(super) fn len(&self) -> usize {
        self.places - self.free.len()
    }

    /// Memory of the items, including free places.
    pub(super) fn bytes(&self) -> usize {
        self.arena.bytes() + self.free.capacity() * size_of::<u32>()
    }
}

impl<T> Index<u32> for Chunks<T> {
    type Output = T;

    #[inline]
    fn index(&self, number: u32) -> &T {
        let number = number as usize;
        &self.arena[number / Block::<T>::CAPACITY][number % Block::<T>::CAPACITY]
    }
}

impl<T> IndexMut<u32> for Chunks<T> {
    #[inline]
    fn index_mut(&mut self, number: u32) -> &mut T {
        let number = number as usize;
        &mut self.arena[number / Block::<T>::CAPACITY][number % Block::<T>::CAPACITY]
    }
}
