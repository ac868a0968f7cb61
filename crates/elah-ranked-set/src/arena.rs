//! Memory of large sets: blocks of one huge page each, so that a random look-up misses only the cache and not the page table too.
//!
//! A small set uses ordinary memory that grows with it. The kernel provides huge pages on request; where it does not, everything
//! else works the same.

#![allow(unsafe_code)]

use std::ops::{Deref, DerefMut, Index, IndexMut};
use std::sync::Once;

use memmap2::{Advice, MmapMut};

/// The size of a huge page, and of a block.
pub(super) const BLOCK_BYTES: usize = 2 << 20;
/// From this many blocks on an arena is large: the unused part of the last block is small in comparison.
const LARGE_BLOCKS: usize = 4;
/// The system's setting for huge pages.
const SYSTEM_MODE: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
/// The least growth of an ordinary block.
const MORE_BYTES: usize = 256;
const LINE_BYTES: usize = 64;

/// Items in blocks that hold `BLOCK_BYTES` of them each. Only the first block ever moves.
pub(super) struct Arena<T> {
    blocks: Vec<Block<T>>,
}

impl<T> Arena<T> {
    pub(super) const fn new() -> Self {
        Arena { blocks: Vec::new() }
    }

    /// The number of blocks.
    pub(super) fn len(&self) -> usize {
        self.blocks.len()
    }

    /// The last block and its number, or a new one if it has no room for this many items.
    pub(super) fn with_room(&mut self, items: usize) -> (usize, &mut Block<T>) {
        if self.blocks.last().is_none_or(|block| block.len() + items > Block::<T>::CAPACITY) {
            self.add_block();
        }
        let number = self.blocks.len() - 1;
        (number, &mut self.blocks[number])
    }

    fn add_block(&mut self) {
        let number = self.blocks.len();
        if number == 0 {
            return self.blocks.push(Block::growing());
        }
        if number == 1 {
            let first = std::mem::replace(&mut self.blocks[0], Block::whole());
            self.blocks[0].take(first);
        }
        self.blocks.push(Block::whole());
        // From here on huge pages pay off, for the earlier blocks too.
        let first = if number == LARGE_BLOCKS { 0 } else { number };
        if number >= LARGE_BLOCKS {
            self.blocks[first..].iter_mut().for_each(Block::use_huge_page);
        }
    }

    /// Memory of all blocks, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.blocks.iter().map(Block::bytes).sum()
    }
}

impl<T> Index<usize> for Arena<T> {
    type Output = Block<T>;

    #[inline]
    fn index(&self, number: usize) -> &Block<T> {
        &self.blocks[number]
    }
}

impl<T> IndexMut<usize> for Arena<T> {
    #[inline]
    fn index_mut(&mut self, number: usize) -> &mut Block<T> {
        &mut self.blocks[number]
    }
}

/// A list of items in ordinary memory, or in a mapping of its own.
pub(super) struct Block<T> {
    items: *mut T,
    len: usize,
    memory: Memory<T>,
}

enum Memory<T> {
    /// Contains the items.
    Heap(Vec<T>),
    /// Twice as long as a block, so that a whole block fits at a multiple of its size.
    Mapped { mapping: MmapMut, is_huge: bool },
}

// SAFETY: the items are the block's own, as a Vec's are.
unsafe impl<T: Send> Send for Block<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Block<T> {}

impl<T> Block<T> {
    /// Items of a whole block.
    pub(super) const CAPACITY: usize = BLOCK_BYTES / size_of::<T>();

    /// An empty block that grows as a Vec does.
    pub(super) fn growing() -> Self {
        Block::heap(Vec::new())
    }

    /// An empty block for `CAPACITY` items, which takes memory as it is used.
    fn whole() -> Self {
        match MmapMut::map_anon(2 * BLOCK_BYTES) {
            Ok(mut mapping) => {
                let start = mapping.as_mut_ptr();
                // SAFETY: the mapping is twice as long as a block, so the next multiple of a block's size lies inside.
                let items = unsafe { start.add(start.align_offset(BLOCK_BYTES)) }.cast();
                Block { items, len: 0, memory: Memory::Mapped { mapping, is_huge: false } }
            }
            // The process has as many mappings as the system allows.
            Err(_) => Block::heap(Vec::with_capacity(Self::CAPACITY)),
        }
    }

    fn heap(mut items: Vec<T>) -> Self {
        Block { items: items.as_mut_ptr(), len: items.len(), memory: Memory::Heap(items) }
    }

    /// Appends an item.
    ///
    /// # Panics
    /// If the block is full.
    pub(super) fn push(&mut self, item: T) {
        match &mut self.memory {
            Memory::Heap(items) => {
                make_room(items, 1);
                items.push(item);
                self.items = items.as_mut_ptr();
            }
            Memory::Mapped { .. } => {
                assert!(self.len < Self::CAPACITY, "a block is full");
                // SAFETY: the mapping has room for `CAPACITY` items behind the aligned start, and nothing is at this place yet.
                unsafe { self.items.add(self.len).write(item) };
            }
        }
        self.len += 1;
    }

    /// Takes over the items of another block.
    fn take(&mut self, mut other: Block<T>) {
        match &mut other.memory {
            Memory::Heap(items) => items.drain(..).for_each(|item| self.push(item)),
            Memory::Mapped { .. } => unreachable!("a mapped block does not move"),
        }
    }

    /// Requests a huge page, whose first use takes all of its memory. Existing content is moved to it if the system can.
    fn use_huge_page(&mut self) {
        if let Memory::Mapped { mapping, is_huge } = &mut self.memory {
            HUGE_PAGES.call_once(allow_huge_pages);
            // Small pages work too, only slower.
            *is_huge = mapping.advise(Advice::HugePage).is_ok();
            if *is_huge && self.len > 0 {
                // SAFETY: the pages of the block, whose contents stay what they are.
                unsafe { libc::madvise(self.items.cast(), BLOCK_BYTES, libc::MADV_COLLAPSE) };
            }
        }
    }

    /// Allocated memory, in bytes.
    pub(super) fn bytes(&self) -> usize {
        match &self.memory {
            Memory::Heap(items) => items.capacity() * size_of::<T>(),
            Memory::Mapped { is_huge: true, .. } => BLOCK_BYTES,
            Memory::Mapped { is_huge: false, .. } => self.len * size_of::<T>(),
        }
    }
}

impl<T: Clone> Block<T> {
    /// A block of this many items, in a huge page if they fill one.
    pub(super) fn filled(item: T, count: usize) -> Self {
        if count < Self::CAPACITY {
            return Block::heap(vec![item; count]);
        }
        let mut block = Block::whole();
        block.use_huge_page();
        block.grow(item, Self::CAPACITY);
        block
    }

    /// Appends this many clones of an item.
    ///
    /// # Panics
    /// Like `push`.
    pub(super) fn grow(&mut self, item: T, count: usize) {
        match &mut self.memory {
            Memory::Heap(items) => {
                make_room(items, count);
                items.resize(self.len + count, item);
                self.items = items.as_mut_ptr();
            }
            Memory::Mapped { .. } => {
                assert!(count <= Self::CAPACITY - self.len, "a block is full");
                for at in self.len..self.len + count {
                    // SAFETY: as in `push`.
                    unsafe { self.items.add(at).write(item.clone()) };
                }
            }
        }
        self.len += count;
    }
}

/// Room for some more items. Doubling, as a Vec does, would be a lot beside a member's few bytes.
fn make_room<T>(items: &mut Vec<T>, count: usize) {
    if items.len() + count > items.capacity() {
        items.reserve_exact((items.len() / 8).max(MORE_BYTES / size_of::<T>()).max(count));
    }
}

impl<T> Deref for Block<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: `items` leads to `len` items, in the Vec or in the mapping, which live as long as the block.
        unsafe { std::slice::from_raw_parts(self.items, self.len) }
    }
}

impl<T> DerefMut for Block<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`; the block is borrowed for as long as the items are.
        unsafe { std::slice::from_raw_parts_mut(self.items, self.len) }
    }
}

impl<T> Drop for Block<T> {
    fn drop(&mut self) {
        if let Memory::Mapped { .. } = self.memory {
            // SAFETY: `push` wrote these items, and nobody else drops them. A Vec drops its own.
            unsafe { std::ptr::drop_in_place(std::ptr::slice_from_raw_parts_mut(self.items, self.len)) };
        }
    }
}

static HUGE_PAGES: Once = Once::new();

/// Ruby disables huge pages in its process, because its own heap would grow by them. Allows them for memory that requests them,
/// and for no other.
fn allow_huge_pages() {
    /// Of Linux 6.18.
    const EXCEPT_ADVISED: libc::c_ulong = 1 << 1;
    // SAFETY: settings of this process, which do not access its memory.
    let prctl = |option, value: libc::c_ulong, flags: libc::c_ulong| unsafe { libc::prctl(option, value, flags, 0_u64, 0_u64) };
    let is_forbidden = prctl(libc::PR_GET_THP_DISABLE, 0, 0) == 1;
    if !is_forbidden || prctl(libc::PR_SET_THP_DISABLE, 1, EXCEPT_ADVISED) == 0 {
        return;
    }
    // An older system allows them for all or none. The system's own setting must then exclude memory that does not request them.
    if std::fs::read_to_string(SYSTEM_MODE).is_ok_and(|mode| mode.contains("[madvise]")) {
        prctl(libc::PR_SET_THP_DISABLE, 0, 0);
    }
}

/// Prefetches an item into the cache.
#[inline]
pub(super) fn prefetch<T: ?Sized>(item: &T) {
    #[cfg(target_arch = "x86_64")]
    for offset in (0..size_of_val(item)).step_by(LINE_BYTES) {
        let line = std::ptr::from_ref(item).cast::<i8>().wrapping_add(offset);
        // SAFETY: a hint, which reads nothing as far as the program can see, at an address inside of `item`.
        unsafe { std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(line) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = item;
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::{Arena, Block, LARGE_BLOCKS};

    /// Items stay unchanged while blocks move into mappings and huge pages, and are dropped once.
    #[test]
    fn items_outlive_the_growth_of_their_arena() {
        let item = Rc::new(());
        let mut arena: Arena<(usize, Rc<()>)> = Arena::new();
        let count = Block::<(usize, Rc<()>)>::CAPACITY * (LARGE_BLOCKS + 1) + 1;
        for number in 0..count {
            arena.with_room(1).1.push((number, Rc::clone(&item)));
        }
        assert_eq!(arena.len(), LARGE_BLOCKS + 2);
        assert!((0..arena.len()).flat_map(|block| arena[block].iter()).map(|(number, _)| *number).eq(0..count));
        assert_eq!(Rc::strong_count(&item), count + 1);
        drop(arena);
        assert_eq!(Rc::strong_count(&item), 1);
    }

    /// A small set takes what it needs, a large one whole pages.
    #[test]
    fn only_large_arenas_take_whole_pages() {
        let mut arena: Arena<u64> = Arena::new();
        assert_eq!(arena.bytes(), 0);
        let mut count = 0;
        while arena.len() < LARGE_BLOCKS {
            arena.with_room(1).1.push(count);
            count += 1;
            assert!(arena.bytes() <= 256 + count as usize * 9 + 8);
        }
    }
}
