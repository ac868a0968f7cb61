//! Reads query strings and `application/x-www-form-urlencoded` bodies by Rack's rules: `a[b]=1&c[]=2` nests.

mod params;

use std::borrow::Cow;
use std::fmt;

pub use self::params::{Param, Params};
use crate::percent::{DecodeError, Plus, decode};

/// Characters of a name or a value that an error message quotes.
const SHOWN_CHARS: usize = 80;

/// Limits of one query string or form.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Number of pairs, including empty ones.
    pub params_max: usize,
    /// Levels of a nested name; `a` is one, `a[b]` is two.
    pub depth_max: usize,
}

/// What stands between two pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Separators {
    /// `&`: forms, and query strings since Rack 3.
    Ampersand,
    /// `&` and `;`: query strings in Rack 2.
    AmpersandAndSemicolon,
}

impl Separators {
    fn contains(self, byte: u8) -> bool {
        byte == b'&' || (byte == b';' && self == Self::AmpersandAndSemicolon)
    }
}

/// Why a text is not a form, or a name conflicts with the others.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FormError {
    /// A name or a value that cannot be decoded.
    Decode { text: String, error: DecodeError },
    /// More pairs than the bound.
    TooMany { count: usize, params_max: usize },
    /// A name with more levels than the bound.
    TooDeep { name: String, depth_max: usize },
    /// One name used as two kinds of value, in Rack's words.
    Conflict { name: String, expected: &'static str, found: &'static str },
}

impl fmt::Display for FormError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Decode { text, error } => write!(f, "the parameter text {text:?} cannot be decoded: {error}"),
            Self::TooMany { count, params_max } => {
                write!(f, "there are {count} parameters, and at most {params_max} are accepted")
            }
            Self::TooDeep { name, depth_max } => {
                write!(f, "the parameter {name:?} is nested more than {depth_max} levels deep")
            }
            Self::Conflict { name, expected, found } => write!(f, "expected {expected} (got {found}) for param `{name}'"),
        }
    }
}

impl std::error::Error for FormError {}

/// Parses `text` into nested parameters. A name without `=` has no value, which differs from an empty text.
///
/// # Errors
/// [`FormError`] for text that cannot be decoded, conflicting names, and anything beyond `bounds`.
pub fn parse(text: &[u8], separators: Separators, bounds: Bounds) -> Result<Params<String>, FormError> {
    let mut params = Params::default();
    if text.is_empty() {
        return Ok(params);
    }
    let count = 1 + text.iter().filter(|byte| separators.contains(**byte)).count();
    if count > bounds.params_max {
        return Err(FormError::TooMany { count, params_max: bounds.params_max });
    }
    for (index, pair) in text.split(|byte| separators.contains(*byte)).enumerate() {
        // Spaces after a separator belong to it.
        let spaces = if index == 0 { 0 } else { pair.iter().take_while(|byte| **byte == b' ').count() };
        let pair = &pair[spaces..];
        if pair.is_empty() {
            continue;
        }
        let (name, value) = match memchr::memchr(b'=', pair) {
            Some(at) => (&pair[..at], Some(&pair[at + 1..])),
            None => (pair, None),
        };
        let name = decoded(name)?;
        let value = value.map(decoded).transpose()?.map(Cow::into_owned);
        params.insert(&name, value, bounds.depth_max)?;
    }
    Ok(params)
}

fn decoded(text: &[u8]) -> Result<Cow<'_, str>, FormError> {
    decode(text, Plus::Space).map_err(|error| FormError::Decode { text: shown(&String::from_utf8_lossy(text)), error })
}

/// The beginning of a text, which may be as long as a body.
fn shown(text: &str) -> String {
    text.chars().take(SHOWN_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Bounds = Bounds { params_max: 100, depth_max: 8 };

    /// The parameters in a form like Ruby's.
    fn inspected(param: &Param<String>) -> String {
        match param {
            Param::Value(None) => "nil".to_owned(),
            Param::Value(Some(text)) => format!("{text:?}"),
            Param::List(list) => format!("[{}]", list.iter().map(inspected).collect::<Vec<_>>().join(", ")),
            Param::Map(map) => shown_map(map.clone()),
        }
    }

    fn shown_map(params: Params<String>) -> String {
        let pairs = params.into_iter().map(|(name, param)| format!("{name}: {}", inspected(&param)));
        format!("{{{}}}", pairs.collect::<Vec<_>>().join(", "))
    }

    fn read(text: &str) -> Result<String, String> {
        parse(text.as_bytes(), Separators::AmpersandAndSemicolon, BOUNDS).map(shown_map).map_err(|error| error.to_string())
    }

    #[test]
    fn names_nest_as_in_rack() {
        for (text, params) in [
            ("", "{}"),
            ("a=1&b=2;c=3", r#"{a: "1", b: "2", c: "3"}"#),
            ("a&b=&=c&&a=x=y", r#"{a: "x=y", b: ""}"#),
            ("a=1& b=2&  c=3", r#"{a: "1", b: "2", c: "3"}"#),
            ("a[b][c]=1&a[d]=2", r#"{a: {b: {c: "1"}, d: "2"}}"#),
            ("a[]=1&a[]=2&a[]", r#"{a: ["1", "2", nil]}"#),
            ("a[][b]=1&a[][c]=2&a[][b]=3", r#"{a: [{b: "1", c: "2"}, {b: "3"}]}"#),
            ("a[]b[c]=1&a[]b[d]=2&a[]b[c]=3", r#"{a: [{b: {c: "1", d: "2"}}, {b: {c: "3"}}]}"#),
            ("a[][]=1", r#"{a: [["1"]]}"#),
            ("a[=1&[]=2&[[=3&]b]]=4", r#"{a[: "1", b: "4"}"#),
            ("a[[]=1", "{a: nil}"),
            ("a+b=%c3%A9%26", "{a b: \"\u{e9}&\"}"),
        ] {
            assert_eq!(read(text).as_deref(), Ok(params), "{text}");
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for (text, sentence) in [
            ("a=1&a[b]=2", "expected Hash (got String) for param `a'"),
            ("a[]=1&a[b]=2", "expected Hash (got Array) for param `a'"),
            ("a[b]=1&a[]=2", "expected Array (got Hash) for param `a'"),
            ("a=1&a[][b]=2", "expected Array (got String) for param `a'"),
            ("a[b][c][d][e][f][g][h][i]=1", "the parameter \"a[b][c][d][e][f][g][h][i]\" is nested more than 8 levels deep"),
            ("ok=1&a%z=1", "the parameter text \"a%z\" cannot be decoded: the percent sign at byte 1"),
            ("a=%ff", "the parameter text \"%ff\" cannot be decoded: the decoded text is not valid UTF-8"),
        ] {
            let error = read(text).expect_err(text);
            assert!(error.starts_with(sentence), "{text}: {error}");
        }
        assert!(read(&"&".repeat(99)).is_ok());
        assert_eq!(read(&"&".repeat(100)), Err("there are 101 parameters, and at most 100 are accepted".to_owned()));
    }

    /// A name of twelve megabytes was once scanned at every level, and quoted in full by the error.
    #[test]
    fn an_error_says_the_beginning_of_a_long_name() {
        let error = read(&format!("a{}=1", "[b]".repeat(10_000))).expect_err("it is too deep");
        assert!(error.len() < 200, "{error}");
        let error = read(&format!("{0}=1&{0}[b]=2", "a".repeat(10_000))).expect_err("it conflicts");
        assert!(error.len() < 200, "{error}");
    }

    #[test]
    fn a_semicolon_separates_only_when_it_is_asked_to() {
        let params = parse(b"a=1;b=2", Separators::Ampersand, BOUNDS).map(shown_map);
        assert_eq!(params.as_deref(), Ok(r#"{a: "1;b=2"}"#));
    }

    fn levels(param: &Param<String>) -> usize {
        match param {
            Param::Value(_) => 0,
            Param::List(list) => list.iter().map(levels).max().unwrap_or(0) + 1,
            Param::Map(map) => map.clone().into_iter().map(|(_, param)| levels(&param)).max().unwrap_or(0) + 1,
        }
    }

    fn values(param: &Param<String>) -> usize {
        match param {
            Param::Value(_) => 1,
            Param::List(list) => list.iter().map(values).sum(),
            Param::Map(map) => map.clone().into_iter().map(|(_, param)| values(&param)).sum(),
        }
    }

    /// `test/fuzz/form_test.rb` compares the nesting with Rack's.
    #[test]
    fn fuzz_changed_forms() {
        const SAMPLES: [&str; 4] =
            ["a[b][]=1&a[b][]=2&c=%C3%A9", "a[][b]=1&a[][c]=2&a[][b]=3", "a=1;b=2& c[d]e[f]=3", "x%5By%5D=z&x[w][]"];
        const WORDS: [&str; 16] =
            ["[", "]", "[]", "[a]", "[][", "&", ";", "=", "%", "%0A", "\n", "+", "%5B", "%ff", "a", "\u{e9}"];
        let mutator = elah_fuzz::Mutator::new(&SAMPLES, &WORDS);
        elah_fuzz::run("changed forms", |random| {
            let text = mutator.mutated(random);
            let bounds = Bounds { params_max: 1 + random.below(8), depth_max: 1 + random.below(8) };
            let Ok(params) = parse(&text, *random.pick(&[Separators::Ampersand, Separators::AmpersandAndSemicolon]), bounds)
            else {
                return;
            };
            let params = Param::Map(params);
            // A list is not a level of its own: `a[]` is one level, like `a`.
            assert!(levels(&params) <= 2 * bounds.depth_max, "{}", text.escape_ascii());
            assert!(values(&params) <= bounds.params_max, "{}", text.escape_ascii());
        });
    }
}
