//! The key of an entry: one word for each component of the score, so that the better score has the smaller words, and one that
//! decides between equal scores.

use super::bounds::COMPONENTS_MAX;

const WORDS_MAX: usize = COMPONENTS_MAX + 1;

/// Up to `WORDS_MAX` words on the stack.
#[derive(Clone, Copy)]
pub(super) struct Key {
    words: [u64; WORDS_MAX],
    len: usize,
}

impl Key {
    pub(super) fn new(words: impl IntoIterator<Item = u64>) -> Self {
        let mut key = Key { words: [0; WORDS_MAX], len: 0 };
        for (place, word) in key.words.iter_mut().zip(words) {
            *place = word;
            key.len += 1;
        }
        key
    }

    /// A key from its first two words and the others.
    #[inline]
    pub(super) fn of_parts(near: [u64; 2], far: &[u64]) -> Self {
        let mut key = Key { words: [0; WORDS_MAX], len: near.len() + far.len() };
        key.words[..near.len()].copy_from_slice(&near);
        key.words[near.len()..key.len].copy_from_slice(far);
        key
    }

    #[inline]
    pub(super) fn words(&self) -> &[u64] {
        &self.words[..self.len]
    }

    /// The words of the score.
    #[inline]
    pub(super) fn score(&self) -> &[u64] {
        score_words(self.words())
    }
}

/// The words of the score in the words of a key.
pub(super) fn score_words(key: &[u64]) -> &[u64] {
    key.split_last().map_or(&[], |(_, scores)| scores)
}
