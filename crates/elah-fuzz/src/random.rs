//! Random numbers that a seed repeats.

/// A stream of random numbers (SplitMix64). Equal seeds give equal streams.
#[derive(Debug, Clone)]
pub struct Random {
    state: u64,
}

impl Random {
    /// The stream of `seed`.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Any number of 64 bits.
    pub fn number(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 to `end - 1`; 0 when `end` is 0.
    pub fn below(&mut self, end: usize) -> usize {
        // The high half of the product is uniform over 0..end, except for a difference that no test can notice.
        ((u128::from(self.number()) * end as u128) >> 64) as usize
    }

    /// True once in `times` on average.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// One of `items`.
    ///
    /// # Panics
    /// Panics when there are none.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    /// Any byte.
    pub fn byte(&mut self) -> u8 {
        self.number() as u8
    }

    /// Up to `max` bytes, of any kind.
    pub fn bytes(&mut self, max: usize) -> Vec<u8> {
        let count = self.below(max + 1);
        (0..count).map(|_| self.byte()).collect()
    }

    /// A number that is small, near a power of two, or arbitrary.
    pub fn odd_number(&mut self) -> u64 {
        match self.below(4) {
            0 => self.below(20) as u64,
            1 => (1u64 << self.below(64)).wrapping_add(self.below(3) as u64).wrapping_sub(1),
            2 => u64::MAX - self.below(3) as u64,
            _ => self.number(),
        }
    }
}
