//! The mutations that make new inputs out of samples.

use crate::Random;

/// The most changes of one input.
const CHANGES_MAX: usize = 6;
/// The most bytes that one change inserts or removes.
const SPAN_MAX: usize = 64;

/// Makes inputs out of samples by moving, repeating, removing and replacing parts; replacements are words of the format.
#[derive(Debug, Clone)]
pub struct Mutator {
    samples: Vec<Vec<u8>>,
    words: Vec<Vec<u8>>,
}

impl Mutator {
    /// `samples` are valid or nearly valid inputs; `words` are parts with a meaning in the format.
    ///
    /// # Panics
    /// Panics without samples or words.
    pub fn new<S: AsRef<[u8]>, W: AsRef<[u8]>>(samples: &[S], words: &[W]) -> Self {
        assert!(!samples.is_empty() && !words.is_empty(), "a mutator needs samples and words");
        let samples = samples.iter().map(|sample| sample.as_ref().to_vec()).collect();
        Self { samples, words: words.iter().map(|word| word.as_ref().to_vec()).collect() }
    }

    /// A sample with up to six changes; one in eight stays unchanged.
    pub fn mutated(&self, random: &mut Random) -> Vec<u8> {
        let mut bytes = random.pick(&self.samples).clone();
        if !random.once_in(8) {
            for _ in 0..=random.below(CHANGES_MAX) {
                self.change(&mut bytes, random);
            }
        }
        bytes
    }

    /// Changes `bytes` once.
    pub fn change(&self, bytes: &mut Vec<u8>, random: &mut Random) {
        let at = random.below(bytes.len() + 1);
        let end = (at + random.below(SPAN_MAX)).min(bytes.len());
        match random.below(9) {
            0 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
            1 if at < bytes.len() => bytes[at] = random.byte(),
            2 => drop(bytes.splice(at..at, random.bytes(4))),
            3 => drop(bytes.drain(at..end)),
            4 => bytes.truncate(at),
            5 => {
                // Repeats a part, here or elsewhere.
                let piece = bytes[at..end].to_vec();
                let to = random.below(bytes.len() + 1);
                bytes.splice(to..to, piece);
            }
            6 => {
                // Appends the end of another sample.
                let other = random.pick(&self.samples);
                bytes.truncate(at);
                bytes.extend_from_slice(&other[random.below(other.len() + 1)..]);
            }
            7 => drop(bytes.splice(at..at, random.pick(&self.words).clone())),
            _ => {
                // Replaces bytes by a word of the same length.
                let word = random.pick(&self.words).clone();
                let end = (at + word.len()).min(bytes.len());
                bytes.splice(at..end, word);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLES: [&[u8]; 3] = [b"one,two", b"", b"three"];
    const WORDS: [&[u8]; 2] = [b",", b"\r\n"];

    fn inputs(seed: u64) -> Vec<Vec<u8>> {
        let mutator = Mutator::new(&SAMPLES, &WORDS);
        let mut random = Random::new(seed);
        (0..2000).map(|_| mutator.mutated(&mut random)).collect()
    }

    #[test]
    fn a_seed_repeats_its_inputs_and_another_seed_has_others() {
        assert_eq!(inputs(7), inputs(7));
        assert_ne!(inputs(7), inputs(8));
    }

    #[test]
    fn inputs_are_samples_and_new_ones() {
        let inputs = inputs(1);
        for sample in SAMPLES {
            assert!(inputs.iter().any(|input| input == sample));
        }
        assert!(inputs.iter().filter(|input| !SAMPLES.contains(&input.as_slice())).count() > 1000);
        assert!(inputs.iter().any(|input| input.windows(2).any(|pair| pair == b"\r\n")));
    }
}
