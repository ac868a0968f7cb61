//! The Symbols for styles and operators.

use std::sync::OnceLock;

use elah_ranked_set::{Operator, Style};
use magnus::rb_sys::AsRawValue;
use magnus::{Error, Ruby, Value};
use rb_sys::VALUE;

/// `style:`, the numbering of ranks.
pub(super) static STYLES: Words<Style, 5> = Words::new(
    "style",
    [
        ("ordinal", Style::Ordinal),
        ("dense", Style::Dense),
        ("competition", Style::Competition),
        ("modified", Style::Modified),
        ("fractional", Style::Fractional),
    ],
);

/// `operator:`, the effect of a submission.
pub(super) static OPERATORS: Words<Operator, 6> = Words::new(
    "operator",
    [
        ("best", Operator::Best),
        ("set", Operator::Set),
        ("increment", Operator::Increment),
        ("min", Operator::Min),
        ("max", Operator::Max),
        ("last", Operator::Last),
    ],
);

/// The values of an option with their Symbols.
pub(super) struct Words<T: 'static, const N: usize> {
    option: &'static str,
    known: [(&'static str, T); N],
    /// At the same positions. Symbols made from an ID are never freed.
    symbols: OnceLock<[VALUE; N]>,
}

impl<T: Copy, const N: usize> Words<T, N> {
    const fn new(option: &'static str, known: [(&'static str, T); N]) -> Self {
        Words { option, known, symbols: OnceLock::new() }
    }

    /// Creates the Symbols, before there is a second thread.
    pub(super) fn init(&self, ruby: &Ruby) {
        self.symbols.get_or_init(|| self.known.map(|(name, _)| ruby.sym_new(name).as_raw()));
    }

    /// The meaning of an option's value.
    ///
    /// # Errors
    /// An ArgumentError that lists the known ones.
    #[inline]
    pub(super) fn read(&self, ruby: &Ruby, value: Value) -> Result<T, Error> {
        let place = self.symbols.get().and_then(|symbols| symbols.iter().position(|symbol| *symbol == value.as_raw()));
        place.map(|place| self.known[place].1).ok_or_else(|| self.unknown(ruby, value))
    }

    #[cold]
    fn unknown(&self, ruby: &Ruby, value: Value) -> Error {
        let known: Vec<String> = self.known.iter().map(|(name, _)| format!(":{name}")).collect();
        let message = format!("{}: must be one of {}, not {value:?}", self.option, known.join(", "));
        Error::new(ruby.exception_arg_error(), message)
    }
}
