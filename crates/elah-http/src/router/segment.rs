//! The match of one segment of a path, or its whole rest, against literal text and captures, without backtracking.

use fancy_regex::Regex;
use memchr::memmem;
use smallvec::SmallVec;

/// Byte ranges of the captures, in the order of the pattern.
pub(super) type Captures = SmallVec<[(u32, u32); 8]>;

/// The characters that a capture accepts. It always takes at least one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// Neither `/` nor `.`, so that it does not include a suffix such as `.json`: a parameter without a requirement.
    Word,
    /// Anything but `/`: a parameter with a requirement.
    Segment,
    /// Anything: a wildcard.
    Rest,
}

#[derive(Debug, Clone)]
pub(super) struct Capture {
    pub(super) class: Class,
    /// Must match the whole captured text, as sent in the path. One that gives up after too many steps does not match.
    pub(super) requirement: Option<Regex>,
    /// Whether all text of the class matches the requirement, so that no check is needed.
    pub(super) is_implied: bool,
}

impl Capture {
    fn accepts(&self, text: &str) -> bool {
        let bytes = text.as_bytes();
        let in_class = match self.class {
            Class::Word => !bytes.iter().any(|byte| matches!(byte, b'/' | b'.')),
            Class::Segment => memchr::memchr(b'/', bytes).is_none(),
            Class::Rest => true,
        };
        !bytes.is_empty()
            && in_class
            && (self.is_implied || self.requirement.as_ref().is_none_or(|regex| regex.is_match(text).unwrap_or(false)))
    }
}

impl PartialEq for Capture {
    fn eq(&self, other: &Self) -> bool {
        let source = |capture: &Self| capture.requirement.as_ref().map(|regex| regex.as_str().to_owned());
        self.class == other.class && source(self) == source(other)
    }
}

/// Literal text around captures: `img-:id.png` is the text `img-`, then one pair of a capture and the text `.png`.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Shape {
    prefix: String,
    captures: Vec<(Capture, String)>,
}

impl Shape {
    pub(super) fn push_capture(&mut self, capture: Capture) {
        self.captures.push((capture, String::new()));
    }

    pub(super) fn push_text(&mut self, text: &str) {
        match self.captures.last_mut() {
            Some((_, following)) => following.push_str(text),
            None => self.prefix.push_str(text),
        }
    }

    /// Orders shapes from specific to general: more literal text first, then requirements before none.
    pub(super) fn rank(&self) -> impl Ord + use<> {
        let literal: usize = self.prefix.len() + self.captures.iter().map(|(_, text)| text.len()).sum::<usize>();
        let required = self.captures.iter().filter(|(capture, _)| capture.requirement.is_some()).count();
        std::cmp::Reverse((literal, required))
    }

    /// Whether `text` has this shape. Appends the captured ranges, shifted by `offset`, or leaves `found` unchanged.
    ///
    /// The texts between captures are placed from the right, each as far right as it fits. So every capture takes as much as the
    /// later ones allow, like a greedy regular expression, in one pass over the text. Empty text is never compared: `memcmp` with
    /// the dangling pointer of an empty string costs 100 ns on some processors.
    pub(super) fn capture(&self, text: &str, offset: usize, found: &mut Captures) -> bool {
        let start = found.len();
        if self.place(text, offset, found).is_none() {
            found.truncate(start);
            return false;
        }
        found[start..].reverse();
        true
    }

    fn place(&self, text: &str, offset: usize, found: &mut Captures) -> Option<()> {
        let (_, last) = self.captures.last()?;
        let mut end = if last.is_empty() { text.len() } else { text.strip_suffix(last.as_str())?.len() };
        for (index, (capture, _)) in self.captures.iter().enumerate().rev() {
            let begin = match index.checked_sub(1).map(|before| &self.captures[before].1) {
                Some(between) => {
                    let searched = &text.as_bytes()[..end.checked_sub(1)?];
                    memmem::rfind(searched, between.as_bytes())? + between.len()
                }
                None if self.prefix.is_empty() => 0,
                None => text.starts_with(self.prefix.as_str()).then_some(self.prefix.len())?,
            };
            if begin > end || !capture.accepts(&text[begin..end]) {
                return None;
            }
            found.push(((offset + begin) as u32, (offset + end) as u32));
            end = match index.checked_sub(1) {
                Some(before) => begin - self.captures[before].1.len(),
                None => begin,
            };
        }
        Some(())
    }
}
