//! Ids of events: UUIDs of version 7 (RFC 9562), whose order is that of time.

use std::fs::File;
use std::io::{self, Read};

/// 128 bits, the first 48 of them milliseconds since 1970.
pub type Id = [u8; 16];

const HEX_DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Where the digits of each byte stand.
const PLACES: [usize; 16] = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];

/// An id as it is shown: hexadecimal digits in five groups.
pub fn id_text(id: &Id) -> String {
    let mut text = [b'-'; 36];
    for (byte, at) in id.iter().zip(PLACES) {
        text[at] = HEX_DIGITS[usize::from(byte >> 4)];
        text[at + 1] = HEX_DIGITS[usize::from(byte & 15)];
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// Makes the ids of one journal.
#[derive(Debug)]
pub(super) struct Ids {
    /// The time in milliseconds and, in the lowest 12 bits, how many ids it has given within that millisecond.
    last: u64,
    random: u64,
}

impl Ids {
    /// Seeded by the system, so that two processes share no ids.
    pub(super) fn new() -> io::Result<Self> {
        let mut seed = [0; 8];
        File::open("/dev/urandom")?.read_exact(&mut seed)?;
        Ok(Ids { last: 0, random: u64::from_le_bytes(seed) })
    }

    /// An id that is greater than all before, also when the clock has jumped back.
    pub(super) fn next(&mut self, now_ms: u64) -> Id {
        self.last = (now_ms << 12).max(self.last + 1);
        let (ms, counter) = (self.last >> 12, self.last & 0xfff);
        let head = ms << 16 | 0x7000 | counter;
        let tail = self.next_random() >> 2 | 1 << 63;
        let mut id = [0; 16];
        id[..8].copy_from_slice(&head.to_be_bytes());
        id[8..].copy_from_slice(&tail.to_be_bytes());
        id
    }

    /// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
    fn next_random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.random;
        word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ word >> 31
    }
}
