//! Texts of servers and drivers as parts of this crate's sentences.

/// A cause as the end of a sentence, without its own full stop.
pub(crate) fn ended(text: &str) -> &str {
    text.trim_end_matches(['.', ' ', '\n'])
}
