//! The Symbols by which Ruby names styles and operators.

use std::sync::OnceLock;

use elah_ranked_set::{Operator, Style};
use magnus::rb_sys::AsRawValue;
use magnus::{Error, Ruby, Value};
use rb_sys::VALUE;

/// `style:`, how ranks are numbered.
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

/// `operator:`, what a submission does.
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

/// What an option's values mean.
pub(super) struct Words<T: 'static, const N: usize> {
    option: &'static str,
    known: [(&'static str, T); N],
    /// Of the same places. Symbols that are made from an id are never freed.
    symbols: OnceLock<[VALUE; N]>,
}

impl<T: Copy, const N: usize> Words<T, N> {
    const fn new(option: &'static str, known: [(&'static str, T); N]) -> Self {
        Words { option, known, symbols: OnceLock::new() }
    }

    /// Makes the Symbols; before there is a second thread.
    pub(super) fn init(&self, ruby: &Ruby) {
        self.symbols.get_or_init(|| self.known.map(|(name, _)| ruby.sym_new(name).as_raw()));
    }

    /// What a value of the option stands for.
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
