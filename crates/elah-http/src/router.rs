//! Maps an HTTP method and a path to a route id, for the patterns of Grape's language.
//!
//! # Patterns
//! - `/links` is literal text, compared percent-decoded.
//! - `:name` or `{name}` takes one or more characters of a segment, neither `/` nor `.`; with a requirement (a regular
//!   expression for the whole value) any that match it, but never `/`. Several may stand in one segment: `:id.:format`.
//! - `*name` or `{+name}` begins a segment and takes one or more segments: `/files/*path`, `/files/*path/raw`.
//! - `(...)` is optional, `|` separates alternatives, `?` makes what precedes it optional, `\` takes a character as it is.
//!
//! # Which route wins
//! Segment by segment from the left: literal text, then text with parameters (more literal text first), then a parameter
//! with a requirement, then one without, then a wildcard, then a mount. A place that has no route for the method is passed
//! over. Of routes with the same method and pattern the first one added wins; parameter names belong to the route.
//!
//! Repeated slashes count as one and a slash at the end does not count.

mod pattern;
mod segment;
mod tree;

use std::borrow::Cow;
use std::collections::HashMap;

use fancy_regex::{Regex, RegexBuilder};
use smallvec::SmallVec;

pub use self::pattern::PatternError;
use self::pattern::{Token, expand};
use self::segment::{Capture, Class, Shape};
use self::tree::{Found, Hit, MethodIndex, Query, RouteIndex, Step, Tree};
use elah_form::percent::{DecodeError, Plus, decode};

/// The method name of a route for every method that has no route of its own there.
pub const ANY_METHOD: &str = "*";

/// Requirements of a pattern's parameters: name → regular expression, in Ruby's syntax (Oniguruma's, with the flag `s` for its `m`).
pub type Requirements = HashMap<String, String>;

#[derive(Debug, Clone)]
struct Route {
    id: u32,
    /// In the order in which they stand in the pattern.
    names: Vec<Box<str>>,
}

/// A set of routes. Routes are added before serving begins; any thread may search.
#[derive(Debug, Clone)]
pub struct Router {
    tree: Tree,
    routes: Vec<Route>,
    methods: Vec<Box<str>>,
}

/// The result of [`Router::resolve`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolution<'r> {
    /// A route, or a mount when [`Match::path_info_at`] is set.
    Route(Match),
    /// The path has routes, but none for this method. Lists the methods it has, with OPTIONS first, and with HEAD last
    /// where GET implies it.
    MethodNotAllowed(Vec<&'r str>),
    NotFound,
    /// The path matches a route, but the value of a parameter cannot be decoded.
    BadPath(DecodeError),
}

/// A route that was found. It borrows nothing, so it can travel with the request. To read the values, pass the path that was
/// resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match {
    /// The ID that was passed with the route.
    pub id: u32,
    /// For a mount: the byte offset in the path where the part below the mount begins.
    pub path_info_at: Option<usize>,
    route: RouteIndex,
    values: SmallVec<[Value; 4]>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Value {
    Range { start: u32, end: u32 },
    Owned(Box<str>),
}

impl Match {
    /// True for a route whose path is literal text.
    pub(crate) fn is_without_parameters(&self) -> bool {
        self.values.is_empty() && self.path_info_at.is_none()
    }

    /// The parameters in the order of the pattern, percent-decoded. `path` is the one that was resolved.
    pub fn params<'a>(&'a self, router: &'a Router, path: &'a str) -> impl ExactSizeIterator<Item = (&'a str, &'a str)> {
        let names = &router.routes[self.route as usize].names;
        names.iter().zip(&self.values).map(move |(name, value)| {
            let text = match value {
                Value::Range { start, end } => &path[*start as usize..*end as usize],
                Value::Owned(text) => text,
            };
            (&**name, text)
        })
    }
}

impl Default for Router {
    fn default() -> Self {
        Self::new()
    }
}

impl Router {
    pub fn new() -> Self {
        Self { tree: Tree::new(), routes: Vec::new(), methods: Vec::new() }
    }

    /// Adds a route for `method` (or [`ANY_METHOD`]) at `pattern`.
    ///
    /// # Errors
    /// [`PatternError`] if the method, the pattern or a requirement is invalid.
    pub fn add(&mut self, method: &str, pattern: &str, id: u32, requirements: &Requirements) -> Result<(), PatternError> {
        let method = self.intern_method(method)?;
        for (steps, names) in compile(pattern, requirements)? {
            let route = self.push_route(id, names);
            self.tree.add(steps, method, route);
        }
        Ok(())
    }

    /// Serves `prefix` and every path below it, with any method, if no route matches. `/` serves everything else.
    ///
    /// # Errors
    /// [`PatternError`] if the prefix is not a valid pattern or contains a wildcard.
    pub fn mount(&mut self, prefix: &str, id: u32) -> Result<(), PatternError> {
        for (steps, names) in compile(prefix, &Requirements::new())? {
            if matches!(steps.last(), Some(Step::Rest(_))) {
                return Err(PatternError::WildcardMount { pattern: prefix.to_owned() });
            }
            let route = self.push_route(id, names);
            self.tree.mount(steps, route);
        }
        Ok(())
    }

    /// Finds the route for a request. `path` is the path of the request line, without the query string.
    pub fn resolve(&self, method: &str, path: &str) -> Resolution<'_> {
        self.resolve_except(&[], method, path)
    }

    /// Finds the next route for a request, after those with the IDs `excluded`.
    pub fn resolve_except(&self, excluded: &[u32], method: &str, path: &str) -> Resolution<'_> {
        let is_excluded = |index: &RouteIndex| excluded.contains(&self.routes[*index as usize].id);
        let excluded: Vec<RouteIndex> = match excluded {
            [] => Vec::new(),
            _ => (0..self.routes.len() as RouteIndex).filter(is_excluded).collect(),
        };
        let trimmed = normalized(path);
        let query = Query {
            path: &trimmed,
            method: self.method_index(method),
            substitute: if method == "HEAD" { self.method_index("GET") } else { None },
            is_options: method == "OPTIONS",
            has_escapes: memchr::memchr(b'%', path.as_bytes()).is_some(),
            excluded: &excluded,
        };
        let mut found = Found::default();
        let (route, path_info_at) = match self.tree.find(&query, &mut found) {
            Some(Hit::Route(route)) => (route, None),
            Some(Hit::Mount { route, segments }) => (route, Some(after_segments(path, segments))),
            None if found.allowed.is_empty() => return Resolution::NotFound,
            None => return Resolution::MethodNotAllowed(self.allowed(&found.allowed)),
        };
        let id = self.routes[route as usize].id;
        match values(&query, &found, matches!(trimmed, Cow::Owned(_))) {
            Ok(values) => Resolution::Route(Match { id, path_info_at, route, values }),
            Err(error) => Resolution::BadPath(error),
        }
    }

    fn push_route(&mut self, id: u32, names: Vec<Box<str>>) -> RouteIndex {
        self.routes.push(Route { id, names });
        (self.routes.len() - 1) as RouteIndex
    }

    fn intern_method(&mut self, method: &str) -> Result<Option<MethodIndex>, PatternError> {
        if method == ANY_METHOD {
            return Ok(None);
        }
        let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if method.is_empty() || !method.bytes().all(is_token) {
            return Err(PatternError::Method { method: method.to_owned() });
        }
        if self.method_index(method).is_none() {
            self.methods.push(method.into());
        }
        Ok(self.method_index(method))
    }

    fn method_index(&self, method: &str) -> Option<MethodIndex> {
        self.methods.iter().position(|known| **known == *method).map(|at| at as MethodIndex)
    }

    fn allowed(&self, methods: &[MethodIndex]) -> Vec<&str> {
        let mut names = vec!["OPTIONS"];
        let implied = methods.iter().any(|method| &*self.methods[*method as usize] == "GET").then_some("HEAD");
        for name in methods.iter().map(|method| &*self.methods[*method as usize]).chain(implied) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }
}

/// Reads the captured text. Ranges refer to the query's path; they are copied if that path is not the caller's own.
fn values(query: &Query<'_>, found: &Found, must_copy: bool) -> Result<SmallVec<[Value; 4]>, DecodeError> {
    let value = |&(start, end): &(u32, u32)| {
        let text = &query.path[start as usize..end as usize];
        if query.has_escapes
            && let Cow::Owned(text) = decode(text.as_bytes(), Plus::Literal)?
        {
            return Ok(Value::Owned(text.into_boxed_str()));
        }
        Ok(if must_copy { Value::Owned(text.into()) } else { Value::Range { start, end } })
    };
    found.captures.iter().map(value).collect()
}

/// One slash at the beginning, none at the end, none doubled.
fn normalized(path: &str) -> Cow<'_, str> {
    let bytes = path.as_bytes();
    let is_doubled = bytes.windows(2).any(|pair| pair == b"//");
    if bytes.first() == Some(&b'/') && !is_doubled && (bytes.len() == 1 || bytes.last() != Some(&b'/')) {
        return Cow::Borrowed(path);
    }
    let mut normal = String::with_capacity(path.len() + 1);
    for segment in path.split('/').filter(|segment| !segment.is_empty()) {
        normal.push('/');
        normal.push_str(segment);
    }
    if normal.is_empty() {
        normal.push('/');
    }
    Cow::Owned(normal)
}

/// The offset in `path` after its first `count` segments.
fn after_segments(path: &str, count: usize) -> usize {
    let bytes = path.as_bytes();
    let mut at = 0;
    for _ in 0..count {
        at += bytes[at..].iter().take_while(|byte| **byte == b'/').count();
        at += bytes[at..].iter().take_while(|byte| **byte != b'/').count();
    }
    at
}

type Compiled = (Vec<Step>, Vec<Box<str>>);

/// Backtracks of a requirement in one match, about 5 ms. A client could hold up the worker with a longer text.
const BACKTRACKS_MAX: usize = 100_000;

/// A requirement that every segment satisfies: the usual one for values with a dot.
const ANY_SEGMENT: &str = r"\A(?:[^/]+)\z";

fn compile(pattern: &str, requirements: &Requirements) -> Result<Vec<Compiled>, PatternError> {
    let plains = expand(pattern)?;
    let captures = compile_requirements(pattern, requirements, &plains)?;
    Ok(plains.iter().map(|plain| compile_plain(plain, &captures)).collect())
}

fn compile_requirements(
    pattern: &str,
    requirements: &Requirements,
    plains: &[Vec<Token>],
) -> Result<HashMap<String, Regex>, PatternError> {
    let wrong =
        |name: &str, reason: String| PatternError::Requirement { pattern: pattern.to_owned(), name: name.to_owned(), reason };
    let is_parameter = |name: &String| {
        plains.iter().flatten().any(|token| matches!(token, Token::Capture(known) | Token::Wildcard(known) if known == name))
    };
    let mut compiled = HashMap::new();
    for (name, source) in requirements {
        if !is_parameter(name) {
            return Err(wrong(name, "names no parameter of the pattern".to_owned()));
        }
        // Ruby's `\w`, `\d` and `\s` are ASCII, and take a tenth of the memory. `.`, `\W` and `\p{L}` exist in the Unicode mode only.
        let mut builder = RegexBuilder::new(&format!(r"\A(?:{source})\z"));
        builder.oniguruma_mode(true).backtrack_limit(BACKTRACKS_MAX);
        let mut build = |is_unicode| builder.unicode_mode(is_unicode).build();
        let regex = build(false)
            .or_else(|_| build(true))
            .map_err(|error| wrong(name, format!("cannot be used as a regular expression: {error}")))?;
        compiled.insert(name.clone(), regex);
    }
    Ok(compiled)
}

/// Splits a plain pattern into steps: a segment without a parameter, a segment with some, or the rest from a wildcard on.
fn compile_plain(plain: &[Token], requirements: &HashMap<String, Regex>) -> Compiled {
    let is_wildcard = |token: &Token| matches!(token, Token::Wildcard(_));
    let wildcard_at = plain.iter().position(is_wildcard).unwrap_or(plain.len());
    let (segments, rest) = plain.split_at(wildcard_at);
    let mut steps: Vec<Step> = segments
        .split(|token| *token == Token::Text('/'))
        .filter(|segment| !segment.is_empty())
        .map(|segment| segment_step(segment, requirements))
        .collect();
    if !rest.is_empty() {
        steps.push(Step::Rest(shape(rest, requirements)));
    }
    let names = plain.iter().filter_map(Token::name).map(Into::into).collect();
    (steps, names)
}

fn segment_step(segment: &[Token], requirements: &HashMap<String, Regex>) -> Step {
    if segment.iter().any(|token| token.name().is_some()) {
        return Step::Shape(shape(segment, requirements));
    }
    let text: String = segment.iter().map(Token::text).collect();
    match decode(text.as_bytes(), Plus::Literal) {
        Ok(decoded) => Step::Static(decoded.into_owned()),
        Err(_) => Step::Static(text),
    }
}

fn shape(tokens: &[Token], requirements: &HashMap<String, Regex>) -> Shape {
    let mut shape = Shape::default();
    for token in tokens {
        let Some(name) = token.name() else {
            shape.push_text(&as_in_path(&token.text()));
            continue;
        };
        let requirement = requirements.get(name).cloned();
        let class = match token {
            Token::Wildcard(_) => Class::Rest,
            _ if requirement.is_some() => Class::Segment,
            _ => Class::Word,
        };
        let is_implied = class == Class::Segment && requirement.as_ref().is_some_and(|regex| regex.as_str() == ANY_SEGMENT);
        shape.push_capture(Capture { class, requirement, is_implied });
    }
    shape
}

/// Text beside a parameter is compared with the path as sent, in which characters that are not allowed in a path are
/// percent-encoded.
fn as_in_path(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        match byte {
            0x21..=0x7e => encoded.push(byte as char),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}
