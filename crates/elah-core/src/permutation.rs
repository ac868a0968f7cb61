//! A keyed one-to-one mapping of a range of numbers onto itself: what a counter goes through, so that its numbers look random and none comes
//! twice.
//!
//! A Feistel network with additions in place of xor, so that the range need not be a power of two: a number is split into two digits, and each
//! round adds to one digit a keyed hash of the other. Every round can be taken back, so no two numbers meet, whatever the hash gives.

use std::array;
use std::fmt;

use sha2::{Digest, Sha256};

/// With the key unknown, eight rounds look random to who sees some of the pairs; four are the least that do.
const ROUNDS: usize = 8;

/// The largest range: its numbers fit into a signed integer of 64 bits.
pub const SIZE_MAX: u64 = i64::MAX as u64;

/// What no permutation can be made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misuse {
    NoSecret,
    NoNumbers,
    TooManyNumbers,
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Misuse::NoSecret => write!(f, "has a secret that is not empty"),
            Misuse::NoNumbers => write!(f, "has at least 1 as high and as low"),
            Misuse::TooManyNumbers => write!(f, "maps at most {SIZE_MAX} numbers, high times low"),
        }
    }
}

/// Maps the numbers below `high * low`. What it gives depends on nothing but secret, high, low and number, and never changes: stores keep secrets.
#[derive(Clone)]
pub struct Permutation {
    high: u64,
    low: u64,
    rounds: [Round; ROUNDS],
}

impl Permutation {
    /// `high` and `low` are how many values the upper and the lower digit have; the nearer to each other, the more a digit hides the other.
    ///
    /// # Errors
    /// When the secret is empty, a digit has no value, or there are more than [`SIZE_MAX`] numbers.
    pub fn new(secret: &[u8], high: u64, low: u64) -> Result<Self, Misuse> {
        if secret.is_empty() {
            return Err(Misuse::NoSecret);
        }
        if high == 0 || low == 0 {
            return Err(Misuse::NoNumbers);
        }
        high.checked_mul(low).filter(|size| *size <= SIZE_MAX).ok_or(Misuse::TooManyNumbers)?;
        Ok(Permutation { high, low, rounds: array::from_fn(|number| Round::new(secret, high, low, number as u8)) })
    }

    /// How many numbers it maps: those from 0 to one below.
    pub fn size(&self) -> u64 {
        self.high * self.low
    }

    /// Another number of the range for each; `None` for one that is not in it.
    pub fn call(&self, number: u64) -> Option<u64> {
        if number >= self.size() {
            return None;
        }
        let (mut upper, mut lower) = (number / self.low, number % self.low);
        for (index, round) in self.rounds.iter().enumerate() {
            if index % 2 == 0 {
                upper = (upper + round.hash(lower) % self.high) % self.high;
            } else {
                lower = (lower + round.hash(upper) % self.low) % self.low;
            }
        }
        Some(upper * self.low + lower)
    }
}

/// A hash that has read what it is keyed by, and waits for a digit.
#[derive(Clone)]
struct Round(Sha256);

impl Round {
    fn new(secret: &[u8], high: u64, low: u64, number: u8) -> Self {
        let hash = Sha256::new().chain_update(secret).chain_update(high.to_be_bytes()).chain_update(low.to_be_bytes());
        Round(hash.chain_update([number]))
    }

    /// 64 bits, of which the remainder favours no digit by more than one part in 2^64 divided by its values.
    fn hash(&self, digit: u64) -> u64 {
        let hash = self.0.clone().chain_update(digit.to_be_bytes()).finalize();
        hash.iter().take(8).fold(0, |bits, byte| bits << 8 | u64::from(*byte))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn permutation(secret: &str, high: u64, low: u64) -> Permutation {
        Permutation::new(secret.as_bytes(), high, low).unwrap()
    }

    fn all(permutation: &Permutation) -> Vec<u64> {
        (0..permutation.size()).map(|number| permutation.call(number).unwrap()).collect()
    }

    #[test]
    fn every_range_is_mapped_onto_itself() {
        for (high, low) in [(1, 1), (1, 9), (9, 1), (7, 11), (41, 30), (64, 64)] {
            for secret in ["a", "b", "a secret that is longer than a block of the hash, which has sixty-four bytes"] {
                let mut images = all(&permutation(secret, high, low));
                images.sort_unstable();
                assert!(images.into_iter().eq(0..high * low), "{secret}: {high} * {low}");
            }
        }
    }

    #[test]
    fn what_it_gives_never_changes() {
        assert_eq!(all(&permutation("key", 3, 5)), [0, 5, 12, 3, 10, 2, 6, 7, 11, 9, 13, 14, 1, 8, 4]);
        let known = [(0, 1_267_450_480), (1, 14_117_085_724), (12_345, 11_878_381_231), (38_068_692_543, 11_152_993_537)];
        let permutation = permutation(&"k".repeat(32), 58_u64.pow(3), 58_u64.pow(3));
        known.into_iter().for_each(|(number, image)| assert_eq!(permutation.call(number), Some(image)));
    }

    #[test]
    fn digits_may_be_as_large_as_the_range() {
        let secret = "x".repeat(200);
        assert_eq!(permutation(&secret, 1 << 31, (1 << 32) - 1).call(1 << 62), Some(6_599_486_406_783_992_887));
        assert_eq!(permutation("x", 1 << 62, 1).call(5), Some(3_278_401_325_208_810_613));
        assert_eq!(permutation("x", 1, 1 << 62).call(5), Some(1_625_836_353_368_326_816));
        assert_eq!(permutation("x", SIZE_MAX, 1).size(), SIZE_MAX);
    }

    #[test]
    fn another_secret_or_other_digits_give_another_order() {
        let numbers = all(&permutation("a", 30, 30));
        for other in [permutation("b", 30, 30), permutation("a", 90, 10)] {
            let equal = all(&other).into_iter().zip(&numbers).filter(|(one, other)| one == *other).count();
            assert!(equal < 20, "{equal} of 900");
        }
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let misuse = |secret: &str, high, low| Permutation::new(secret.as_bytes(), high, low).err();
        assert_eq!(misuse("", 3, 5), Some(Misuse::NoSecret));
        assert_eq!(misuse("a", 0, 5), Some(Misuse::NoNumbers));
        assert_eq!(misuse("a", 3, 0), Some(Misuse::NoNumbers));
        assert_eq!(misuse("a", 1 << 32, 1 << 31), Some(Misuse::TooManyNumbers));
        assert_eq!(misuse("a", u64::MAX, u64::MAX), Some(Misuse::TooManyNumbers));
        assert_eq!(permutation("a", 3, 5).call(15), None);
    }
}
