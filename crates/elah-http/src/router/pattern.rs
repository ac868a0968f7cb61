//! The parser of route patterns in Grape's language. It expands optional parts into plain patterns.

use std::fmt;

/// The most plain patterns into which one pattern may expand.
const EXPANSIONS_MAX: usize = 256;

/// Why a pattern cannot be a route.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PatternError {
    /// A `)`, `}` or `?` without its counterpart, or a group that is never closed.
    Unbalanced { pattern: String, at: usize },
    /// A `:` or `{` without a name of letters, digits and underscores.
    Unnamed { pattern: String, at: usize },
    /// One name for two parameters.
    Repeated { pattern: String, name: String },
    /// A second `*` in the same pattern.
    TwoWildcards { pattern: String },
    /// Text or a parameter directly before a `*`.
    WildcardInsideSegment { pattern: String },
    /// A wildcard in the prefix of a mount.
    WildcardMount { pattern: String },
    /// Two parameters with nothing between them.
    Adjacent { pattern: String },
    /// More optional parts than can be expanded.
    TooManyOptions { pattern: String },
    /// A requirement that is not a regular expression, or that names no parameter of the pattern.
    Requirement { pattern: String, name: String, reason: String },
    /// An HTTP method that is empty or has characters which no method may have.
    Method { method: String },
}

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unbalanced { pattern, at } => {
                write!(f, "the route pattern {pattern:?} has an unmatched bracket or question mark at byte {at}")
            }
            Self::Unnamed { pattern, at } => write!(
                f,
                "the route pattern {pattern:?} has a parameter without a name at byte {at}; write :name, {{name}} or *name"
            ),
            Self::Repeated { pattern, name } => {
                write!(f, "the route pattern {pattern:?} uses the parameter name {name:?} twice")
            }
            Self::TwoWildcards { pattern } => {
                write!(f, "the route pattern {pattern:?} has more than one wildcard")
            }
            Self::WildcardInsideSegment { pattern } => {
                write!(f, "the route pattern {pattern:?} has a wildcard that does not begin its segment")
            }
            Self::WildcardMount { pattern } => {
                write!(f, "the mount prefix {pattern:?} has a wildcard; a mount already serves every path below it")
            }
            Self::Adjacent { pattern } => {
                write!(f, "the route pattern {pattern:?} has two parameters with nothing between them")
            }
            Self::TooManyOptions { pattern } => {
                write!(f, "the optional parts of the route pattern {pattern:?} stand for more than {EXPANSIONS_MAX} patterns")
            }
            Self::Requirement { pattern, name, reason } => {
                write!(f, "the requirement of {name:?} in the route pattern {pattern:?} {reason}")
            }
            Self::Method { method } => write!(f, "{method:?} is not an HTTP method; give one such as GET, or * for any method"),
        }
    }
}

impl std::error::Error for PatternError {}

/// A piece of a plain pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    /// One character of literal text; `/` separates segments.
    Text(char),
    /// `:name` or `{name}`: a piece of one segment.
    Capture(String),
    /// `*name` or `{+name}`: one or more segments.
    Wildcard(String),
}

impl Token {
    /// The parameter that the token stands for.
    pub(super) fn name(&self) -> Option<&str> {
        match self {
            Self::Text(_) => None,
            Self::Capture(name) | Self::Wildcard(name) => Some(name),
        }
    }

    /// The literal text of the token, empty for a parameter.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Text(char) => char.to_string(),
            Self::Capture(_) | Self::Wildcard(_) => String::new(),
        }
    }
}

type Plain = Vec<Token>;

/// Expands `pattern` into its plain patterns, in the order in which they are written, the longest first: `/a(.:format)` returns
/// `/a.:format` and `/a`.
pub(super) fn expand(pattern: &str) -> Result<Vec<Plain>, PatternError> {
    let mut parser = Parser { pattern, at: 0 };
    let plains = parser.alternatives(0)?;
    if parser.at < pattern.len() {
        return Err(parser.unbalanced());
    }
    for plain in &plains {
        check(pattern, plain)?;
    }
    Ok(plains)
}

fn check(pattern: &str, plain: &[Token]) -> Result<(), PatternError> {
    let mut names: Vec<&str> = Vec::new();
    let mut wildcards = 0;
    for (index, token) in plain.iter().enumerate() {
        let previous = index.checked_sub(1).map(|before| &plain[before]);
        let name = match token {
            Token::Text(_) => continue,
            Token::Capture(name) => name,
            Token::Wildcard(name) => {
                wildcards += 1;
                if wildcards > 1 {
                    return Err(PatternError::TwoWildcards { pattern: pattern.to_owned() });
                }
                if !matches!(previous, None | Some(Token::Text('/'))) {
                    return Err(PatternError::WildcardInsideSegment { pattern: pattern.to_owned() });
                }
                name
            }
        };
        if matches!(previous, Some(Token::Capture(_) | Token::Wildcard(_))) {
            return Err(PatternError::Adjacent { pattern: pattern.to_owned() });
        }
        if names.contains(&name.as_str()) {
            return Err(PatternError::Repeated { pattern: pattern.to_owned(), name: name.clone() });
        }
        names.push(name);
    }
    Ok(())
}

struct Parser<'a> {
    pattern: &'a str,
    at: usize,
}

impl Parser<'_> {
    /// Reads sequences separated by `|` up to the end of the group (or of the pattern at depth 0).
    fn alternatives(&mut self, depth: usize) -> Result<Vec<Plain>, PatternError> {
        let mut all = self.sequence(depth)?;
        while self.peek() == Some('|') {
            self.at += 1;
            all.extend(self.sequence(depth)?);
        }
        self.bounded(all)
    }

    fn sequence(&mut self, depth: usize) -> Result<Vec<Plain>, PatternError> {
        let mut sequences: Vec<Plain> = vec![Vec::new()];
        while let Some(char) = self.peek() {
            if char == '|' || (char == ')' && depth > 0) {
                break;
            }
            let mut element = self.element(char, depth)?;
            if self.peek() == Some('?') {
                self.at += 1;
                element.push(Vec::new());
            }
            let joined = sequences.iter().flat_map(|start| element.iter().map(move |end| [start.as_slice(), end].concat()));
            sequences = joined.take(EXPANSIONS_MAX + 1).collect();
        }
        self.bounded(sequences)
    }

    fn element(&mut self, char: char, depth: usize) -> Result<Vec<Plain>, PatternError> {
        match char {
            '?' | ')' => return Err(self.unbalanced()),
            '(' => {
                self.at += 1;
                let mut group = self.alternatives(depth + 1)?;
                if self.peek() != Some(')') {
                    return Err(self.unbalanced());
                }
                self.at += 1;
                group.push(Vec::new());
                return Ok(group);
            }
            _ => {}
        }
        self.at += char.len_utf8();
        let token = match char {
            ':' => Token::Capture(self.name()?),
            '*' => Token::Wildcard(self.name().unwrap_or_else(|_| "splat".to_owned())),
            '{' => {
                let is_wildcard = self.peek() == Some('+');
                if is_wildcard {
                    self.at += 1;
                }
                let name = self.name()?;
                if self.peek() != Some('}') {
                    return Err(self.unbalanced());
                }
                self.at += 1;
                if is_wildcard { Token::Wildcard(name) } else { Token::Capture(name) }
            }
            '\\' => {
                let escaped = self.peek().ok_or_else(|| self.unbalanced())?;
                self.at += escaped.len_utf8();
                Token::Text(escaped)
            }
            other => Token::Text(other),
        };
        Ok(vec![vec![token]])
    }

    fn name(&mut self) -> Result<String, PatternError> {
        let rest = &self.pattern[self.at..];
        let length = rest.find(|char: char| !(char.is_ascii_alphanumeric() || char == '_')).unwrap_or(rest.len());
        if length == 0 {
            return Err(PatternError::Unnamed { pattern: self.pattern.to_owned(), at: self.at });
        }
        self.at += length;
        Ok(rest[..length].to_owned())
    }

    fn peek(&self) -> Option<char> {
        self.pattern[self.at..].chars().next()
    }

    fn unbalanced(&self) -> PatternError {
        PatternError::Unbalanced { pattern: self.pattern.to_owned(), at: self.at }
    }

    fn bounded(&self, plains: Vec<Plain>) -> Result<Vec<Plain>, PatternError> {
        if plains.len() > EXPANSIONS_MAX {
            return Err(PatternError::TooManyOptions { pattern: self.pattern.to_owned() });
        }
        Ok(plains)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(pattern: &str) -> Result<Vec<String>, PatternError> {
        let text = |plain: Plain| {
            plain
                .into_iter()
                .map(|token| match token {
                    Token::Text(char) => char.to_string(),
                    Token::Capture(name) => format!(":{name}"),
                    Token::Wildcard(name) => format!("*{name}"),
                })
                .collect()
        };
        Ok(expand(pattern)?.into_iter().map(text).collect())
    }

    #[test]
    fn optional_parts_are_expanded() {
        for (pattern, plains) in [
            ("/a", vec!["/a"]),
            ("/a/:id(.:format)", vec!["/a/:id.:format", "/a/:id"]),
            ("/a(/:x(/:y))", vec!["/a/:x/:y", "/a/:x", "/a"]),
            ("/a(.json|.xml)", vec!["/a.json", "/a.xml", "/a"]),
            ("/ab?", vec!["/ab", "/a"]),
            ("/{a}-{b}/{+rest}", vec!["/:a-:b/*rest"]),
            (r"/a\:b\(c", vec!["/a:b(c"]),
            ("/x/*", vec!["/x/*splat"]),
        ] {
            assert_eq!(written(pattern), Ok(plains.into_iter().map(str::to_owned).collect()), "{pattern}");
        }
    }

    #[test]
    fn wrong_patterns_are_refused_with_a_sentence() {
        for (pattern, sentence) in [
            ("/a(b", "unmatched bracket or question mark at byte 4"),
            ("/a)", "unmatched bracket or question mark at byte 2"),
            ("?", "at byte 0"),
            ("/a\\", "at byte 3"),
            ("/{a", "at byte 3"),
            ("/:/x", "without a name at byte 2"),
            ("/:a/:a", "\"a\" twice"),
            ("/*a/*b", "more than one wildcard"),
            ("/x*a", "does not begin its segment"),
            ("/:a:b", "nothing between them"),
            ("/(a)(b)(c)(d)(e)(f)(g)(h)(i)", "more than 256 patterns"),
        ] {
            let error = written(pattern).expect_err(pattern).to_string();
            assert!(error.contains(sentence), "{pattern}: {error}");
        }
    }
}
