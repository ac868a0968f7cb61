//! The words of servers and drivers as parts of this crate's sentences.

/// A cause as the end of a sentence, without a stop of its own.
pub(crate) fn ended(text: &str) -> &str {
    text.trim_end_matches(['.', ' ', '\n'])
}
