//! A keyed one-to-one mapping of a range of numbers onto itself, by which a counter's numbers become codes that look random and
//! never repeat.
//!
//! It is FF1 of NIST SP 800-38G, format-preserving encryption with AES-256. FF1 maps the numbers of a fixed count of digits in
//! one radix. So the range is put into the smallest such domain that holds it, and a number that leaves the range is encrypted
//! again until it is back inside.

use std::fmt;

use aes::Aes256;
use fpe::ff1::{FF1, NumeralString, Operations};
use sha2::{Digest, Sha256};

/// The largest range: its numbers fit into a signed integer of 64 bits.
pub const SIZE_MAX: u64 = i64::MAX as u64;

/// The smallest range. NIST SP 800-38G Rev. 1 asks for domains of a million numbers, so a number of a range of a thousand is
/// encrypted a thousand times on average. The codes of a smaller range could be guessed without any key.
pub const SIZE_MIN: u64 = 1_000;

/// The smallest domain that NIST SP 800-38G Rev. 1 allows for FF1.
const DOMAIN_MIN: u64 = 1_000_000;

/// The largest radix of FF1.
const RADIX_MAX: u64 = 1 << 16;

/// Why a permutation cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misuse {
    NoSecret,
    TooFewNumbers,
    TooManyNumbers,
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Misuse::NoSecret => write!(f, "needs a secret that is not empty"),
            Misuse::TooFewNumbers => write!(f, "maps at least {SIZE_MIN} numbers"),
            Misuse::TooManyNumbers => write!(f, "maps at most {SIZE_MAX} numbers"),
        }
    }
}

/// A permutation of the numbers below a size. The result depends on secret, size and number alone and never changes, because
/// stores keep secrets.
pub struct Permutation {
    size: u64,
    radix: u64,
    digits: u32,
    cipher: FF1<Aes256>,
}

impl Permutation {
    /// # Errors
    /// When the secret is empty, or the size is not between [`SIZE_MIN`] and [`SIZE_MAX`].
    pub fn new(secret: &[u8], size: u64) -> Result<Self, Misuse> {
        if secret.is_empty() {
            return Err(Misuse::NoSecret);
        }
        if size < SIZE_MIN {
            return Err(Misuse::TooFewNumbers);
        }
        if size > SIZE_MAX {
            return Err(Misuse::TooManyNumbers);
        }
        let (radix, digits) = domain(size);
        let cipher = FF1::new(&Sha256::digest(secret), radix as u32).map_err(|_| Misuse::TooManyNumbers)?;
        Ok(Permutation { size, radix, digits, cipher })
    }

    /// The size of the range: it maps the numbers from 0 to one below.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// A different number of the range for each number; `None` for one outside of it.
    pub fn call(&self, number: u64) -> Option<u64> {
        if number >= self.size {
            return None;
        }
        let tweak = self.size.to_be_bytes();
        let mut numerals = Numerals { value: number, radix: self.radix, count: self.digits };
        loop {
            // The domain fits the radix, so this fails for none of its numbers.
            numerals = self.cipher.encrypt(&tweak, &numerals).ok()?;
            if numerals.value < self.size {
                return Some(numerals.value);
            }
        }
    }
}

/// Radix and count of digits of the smallest domain of two or four digits that holds a size.
fn domain(size: u64) -> (u64, u32) {
    let size = size.max(DOMAIN_MIN);
    let digits = if size <= RADIX_MAX.pow(2) { 2 } else { 4 };
    let mut radix = (size as f64).powf(1.0 / f64::from(digits)) as u64;
    while radix.checked_pow(digits).is_some_and(|domain| domain < size) {
        radix += 1;
    }
    while (radix - 1).pow(digits) >= size {
        radix -= 1;
    }
    (radix, digits)
}

/// The digits of a number, without an allocation. The crate's own types are for numbers of any length.
#[derive(Clone, Copy)]
struct Numerals {
    value: u64,
    radix: u64,
    count: u32,
}

impl NumeralString for Numerals {
    type Ops = Self;

    fn is_valid(&self, radix: u32) -> bool {
        u64::from(radix) == self.radix && self.radix.checked_pow(self.count).is_none_or(|domain| self.value < domain)
    }

    fn numeral_count(&self) -> usize {
        self.count as usize
    }

    fn split(&self) -> (Self, Self) {
        let lower = self.count - self.count / 2;
        let base = self.radix.pow(lower);
        (
            Numerals { value: self.value / base, count: self.count / 2, ..*self },
            Numerals { value: self.value % base, count: lower, ..*self },
        )
    }

    fn concat(upper: Self, lower: Self) -> Self {
        let value = upper.value * upper.radix.pow(lower.count) + lower.value;
        Numerals { value, count: upper.count + lower.count, ..upper }
    }
}

impl Operations for Numerals {
    type Bytes = Tail;

    fn numeral_count(&self) -> usize {
        self.count as usize
    }

    fn to_be_bytes(&self, _: u32, b: usize) -> Tail {
        Tail { bytes: self.value.to_be_bytes(), first: size_of::<u64>() - b }
    }

    fn add_mod_exp(self, other: impl Iterator<Item = u8>, _: u32, m: usize) -> Self {
        let (modulus, sum) = self.modulus_and(other, m);
        Numerals { value: ((u128::from(self.value) + sum) % modulus) as u64, count: m as u32, ..self }
    }

    fn sub_mod_exp(self, other: impl Iterator<Item = u8>, _: u32, m: usize) -> Self {
        let (modulus, number) = self.modulus_and(other, m);
        let value = (u128::from(self.value) + modulus - number % modulus) % modulus;
        Numerals { value: value as u64, count: m as u32, ..self }
    }
}

impl Numerals {
    /// `radix^m`, and the number of big-endian bytes: half of a domain has at most 4 bytes, for which FF1 has 8 or 12.
    fn modulus_and(&self, bytes: impl Iterator<Item = u8>, m: usize) -> (u128, u128) {
        let number = bytes.fold(0, |number, byte| number << 8 | u128::from(byte));
        (u128::from(self.radix.pow(m as u32)), number)
    }
}

/// The last bytes of a number.
struct Tail {
    bytes: [u8; size_of::<u64>()],
    first: usize,
}

impl AsRef<[u8]> for Tail {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[self.first..]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    fn permutation(secret: &str, size: u64) -> Permutation {
        Permutation::new(secret.as_bytes(), size).unwrap()
    }

    fn numerals(digits: &str, radix: u64) -> Numerals {
        let value = digits.chars().fold(0, |value, digit| value * radix + u64::from(digit.to_digit(36).unwrap()));
        Numerals { value, radix, count: digits.len() as u32 }
    }

    fn text(numerals: Numerals) -> String {
        let digit = |place| char::from_digit((numerals.value / numerals.radix.pow(place) % numerals.radix) as u32, 36).unwrap();
        (0..numerals.count).rev().map(digit).collect()
    }

    fn bytes(hex: &str) -> Vec<u8> {
        (0..hex.len()).step_by(2).map(|place| u8::from_str_radix(&hex[place..place + 2], 16).unwrap()).collect()
    }

    const KEY: &str = "2b7e151628aed2a6abf7158809cf4f3cef4359d8d580aa4f7f036d6f04fc6a94";

    /// The samples 1, 2, 4, 5, 7 and 8 of NIST's examples for FF1: those whose numbers have at most 64 bits. Samples 3, 6 and 9 have 19 digits of
    /// radix 36, which are more.
    #[test]
    fn the_samples_of_nist() {
        let tweak = bytes("39383736353433323130");
        let samples = [
            ("", "0123456789", [("2433477484", 16), ("2830668132", 24), ("6657667009", 32)]),
            ("tweak", "0123456789", [("6124200773", 16), ("2496655549", 24), ("1001623463", 32)]),
        ];
        for (tweaked, plain, ciphers) in samples {
            for (expected, key_bytes) in ciphers {
                let key = &bytes(KEY)[..key_bytes];
                let tweak = if tweaked.is_empty() { &[][..] } else { &tweak[..] };
                let plain = numerals(plain, 10);
                let found = match key_bytes {
                    16 => FF1::<aes::Aes128>::new(key, 10).unwrap().encrypt(tweak, &plain),
                    24 => FF1::<aes::Aes192>::new(key, 10).unwrap().encrypt(tweak, &plain),
                    _ => FF1::<Aes256>::new(key, 10).unwrap().encrypt(tweak, &plain),
                };
                assert_eq!(text(found.unwrap()), expected);
            }
        }
    }

    #[test]
    fn what_is_encrypted_is_decrypted() {
        let permutation = permutation("key", 58_u64.pow(7));
        for value in [0, 1, 12_345, permutation.size - 1] {
            let plain = Numerals { value, radix: permutation.radix, count: permutation.digits };
            let encrypted = permutation.cipher.encrypt(b"tweak", &plain).unwrap();
            assert_eq!(permutation.cipher.decrypt(b"tweak", &encrypted).unwrap().value, value);
        }
    }

    /// Some numbers alone: each walks through a thousand numbers of the domain. The binding's test maps the whole range.
    #[test]
    fn numbers_of_the_smallest_range_stay_inside_and_apart() {
        let permutation = permutation("a secret that is longer than a block of the hash, which has sixty-four bytes", SIZE_MIN);
        let images: HashSet<u64> = (0..20).map(|number| permutation.call(number).unwrap()).collect();
        assert_eq!(images.len(), 20);
        assert!(images.iter().all(|image| *image < SIZE_MIN));
    }

    #[test]
    fn a_domain_is_the_smallest_that_holds_its_range() {
        for (size, expected) in [
            (1_000, (1_000, 2)),
            (1_000_001, (1_001, 2)),
            (1 << 32, (1 << 16, 2)),
            ((1 << 32) + 1, (257, 4)),
            (SIZE_MAX, (55_109, 4)),
        ] {
            assert_eq!(domain(size), expected, "{size}");
        }
    }

    proptest! {
        #[test]
        fn two_numbers_of_any_range_never_meet(size in SIZE_MIN..=SIZE_MAX, one in any::<u64>(), other in any::<u64>(), secret in "[a-z]{1,40}") {
            let permutation = permutation(&secret, size);
            let (one, other) = (one % size, other % size);
            let (first, second) = (permutation.call(one).unwrap(), permutation.call(other).unwrap());
            prop_assert!(first < size && second < size);
            prop_assert_eq!(one == other, first == second);
        }

        #[test]
        fn the_domain_of_any_range_holds_it_closely(size in DOMAIN_MIN..=SIZE_MAX) {
            let (radix, digits) = domain(size);
            prop_assert!(radix.pow(digits) >= size && (radix - 1).pow(digits) < size);
            prop_assert!((radix.pow(digits) as f64) < size as f64 * 1.02);
        }
    }

    #[test]
    fn what_it_gives_never_changes() {
        let permutation = permutation(&"k".repeat(32), 58_u64.pow(6));
        let images: Vec<u64> =
            [0, 1, 12_345, 58_u64.pow(6) - 1].into_iter().map(|number| permutation.call(number).unwrap()).collect();
        assert_eq!(images, [20_339_940_720, 15_758_470_619, 31_966_773_452, 5_508_053_422]);
    }

    #[test]
    fn another_secret_or_size_gives_another_order() {
        let images = |secret, size| {
            let permutation = permutation(secret, size);
            (0..900).map(|number| permutation.call(number).unwrap()).collect::<Vec<_>>()
        };
        let known = images("a", 1_000_000);
        for other in [images("b", 1_000_000), images("a", 999_999)] {
            let equal = other.iter().zip(&known).filter(|(one, other)| one == other).count();
            assert!(equal < 20, "{equal} of 900");
        }
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let misuse = |secret: &str, size| Permutation::new(secret.as_bytes(), size).err();
        assert_eq!(misuse("", 5_000), Some(Misuse::NoSecret));
        assert_eq!(misuse("a", SIZE_MIN - 1), Some(Misuse::TooFewNumbers));
        assert_eq!(misuse("a", SIZE_MAX + 1), Some(Misuse::TooManyNumbers));
        assert_eq!(misuse("a", SIZE_MAX), None);
        assert_eq!(permutation("a", 5_000).call(5_000), None);
    }

    /// Prints the cost of a call: `cargo test --release -p elah-permutation -- --ignored --nocapture`.
    #[test]
    #[ignore]
    fn cost_of_a_call() {
        for size in [SIZE_MIN, 1_000_000, 58_u64.pow(6), 58_u64.pow(7)] {
            let permutation = permutation("key", size);
            let calls = if size == SIZE_MIN { 1_000 } else { 1_000_000 };
            let started_at = std::time::Instant::now();
            let sum = (0..calls).fold(0, |sum: u64, number| sum.wrapping_add(permutation.call(number % size).unwrap()));
            println!("{size}: {:.3} µs ({sum})", started_at.elapsed().as_secs_f64() * 1e6 / calls as f64);
        }
    }
}
