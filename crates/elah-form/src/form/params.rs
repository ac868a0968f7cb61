//! Parameters nested by their names, as `Rack::QueryParser` nests them, down to its treatment of odd brackets.

use indexmap::IndexMap;

use super::{FormError, shown};

/// Named parameters, in the order in which the names first appeared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Params<V> {
    entries: IndexMap<Box<str>, Param<V>>,
}

/// One parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Param<V> {
    /// `a=1`, or `a` without a value.
    Value(Option<V>),
    /// `a[]=1`
    List(Vec<Param<V>>),
    /// `a[b]=1`
    Map(Params<V>),
}

impl<V> Param<V> {
    /// Ruby's name for this kind of value.
    fn kind(&self) -> &'static str {
        match self {
            Self::Value(_) => "String",
            Self::List(_) => "Array",
            Self::Map(_) => "Hash",
        }
    }
}

/// The depth of an insertion within a name.
#[derive(Clone, Copy)]
struct Level<'e> {
    depth_left: usize,
    /// Whether a later line may be the name of a child of a list. A level does not scan what an outer level has scanned, so a
    /// name takes time in proportion to its length.
    has_child_lines: bool,
    too_deep: &'e dyn Fn() -> FormError,
}

/// What happened to the place into which a child was asked to insert a value.
enum Outcome<V> {
    /// The child holds it.
    Inserted,
    /// The name was not a name: this value replaces the child.
    Instead(Param<V>),
}

impl<V> Default for Params<V> {
    fn default() -> Self {
        Self { entries: IndexMap::new() }
    }
}

impl<V> IntoIterator for Params<V> {
    type Item = (Box<str>, Param<V>);
    type IntoIter = indexmap::map::IntoIter<Box<str>, Param<V>>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}

impl<V> Params<V> {
    /// The number of names on this level.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub fn get(&self, name: &str) -> Option<&Param<V>> {
        self.entries.get(name)
    }

    /// Inserts `value` at the place that the brackets of `name` name. Ignores a name without a character outside brackets.
    ///
    /// # Errors
    /// [`FormError::TooDeep`] and [`FormError::Conflict`].
    pub fn insert(&mut self, name: &str, value: Option<V>, depth_max: usize) -> Result<(), FormError> {
        let too_deep = || FormError::TooDeep { name: shown(name), depth_max };
        let level = Level { depth_left: depth_max, has_child_lines: true, too_deep: &too_deep };
        self.insert_nested(name, value, level).map(|_| ())
    }

    fn insert_nested(&mut self, name: &str, value: Option<V>, mut level: Level<'_>) -> Result<Outcome<V>, FormError> {
        level.depth_left = level.depth_left.checked_sub(1).ok_or_else(level.too_deep)?;
        let (key, after) = split_name(name);
        if key.is_empty() {
            let is_list = name == "[]" && value.is_some();
            return Ok(Outcome::Instead(if is_list { Param::List(vec![Param::Value(value)]) } else { Param::Value(None) }));
        }
        match after {
            "" => self.set(key, Param::Value(value)),
            "[" => self.set(name, Param::Value(value)),
            "[]" => self.list(key)?.push(Param::Value(value)),
            _ => match child_of_list(after, level.has_child_lines) {
                Some(child) => insert_in_list(self.list(key)?, child, value, Level { has_child_lines: true, ..level })?,
                None => {
                    let level = Level { has_child_lines: false, ..level };
                    let outcome = self.map(key)?.insert_nested(after, value, level)?;
                    if let Outcome::Instead(param) = outcome {
                        self.set(key, param);
                    }
                }
            },
        }
        Ok(Outcome::Inserted)
    }

    fn set(&mut self, name: &str, param: Param<V>) {
        self.entries.insert(name.into(), param);
    }

    fn list(&mut self, name: &str) -> Result<&mut Vec<Param<V>>, FormError> {
        match self.place(name, || Param::List(Vec::new())) {
            Param::List(list) => Ok(list),
            other => Err(FormError::Conflict { name: shown(name), expected: "Array", found: other.kind() }),
        }
    }

    fn map(&mut self, name: &str) -> Result<&mut Self, FormError> {
        match self.place(name, || Param::Map(Self::default())) {
            Param::Map(map) => Ok(map),
            other => Err(FormError::Conflict { name: shown(name), expected: "Hash", found: other.kind() }),
        }
    }

    /// The parameter with that name; a new one if there is none, or one without a value.
    fn place(&mut self, name: &str, new: impl FnOnce() -> Param<V>) -> &mut Param<V> {
        let param = self.entries.entry(name.into()).or_insert(Param::Value(None));
        if matches!(param, Param::Value(None)) {
            *param = new();
        }
        param
    }

    /// Whether the name `a[b][c]` leads to a value. A name with `[]` never does, because a list accepts many.
    fn has(&self, name: &str) -> bool {
        if name.contains("[]") {
            return false;
        }
        let mut level = Some(self);
        for key in name.split(['[', ']']).filter(|key| !key.is_empty()) {
            let Some(param) = level.and_then(|level| level.entries.get(key)) else { return false };
            level = match param {
                Param::Map(map) => Some(map),
                Param::Value(_) | Param::List(_) => None,
            };
        }
        true
    }
}

/// `a[][b]=1&a[][c]=2&a[][b]=3`: fills one map of the list until a name repeats.
fn insert_in_list<V>(list: &mut Vec<Param<V>>, child: &str, value: Option<V>, level: Level<'_>) -> Result<(), FormError> {
    match list.last_mut() {
        Some(Param::Map(last)) if !last.has(child) => {
            last.insert_nested(child, value, level)?;
        }
        _ => {
            let mut map = Params::default();
            list.push(match map.insert_nested(child, value, level)? {
                Outcome::Inserted => Param::Map(map),
                Outcome::Instead(param) => param,
            });
        }
    }
    Ok(())
}

/// Splits off the first key. Drops the brackets before it and the closing ones after it.
fn split_name(name: &str) -> (&str, &str) {
    let name = name.trim_start_matches(['[', ']']);
    let end = name.find(['[', ']']).unwrap_or(name.len());
    let (key, after) = name.split_at(end);
    (key, after.trim_start_matches(']'))
}

/// The name below a list: `b` of `[][b]`, `b[c]` of `[]b[c]`. As in Rack, each line of the text may be the one that fits.
fn child_of_list(after: &str, has_child_lines: bool) -> Option<&str> {
    let searched = if has_child_lines { after } else { "" };
    let lines = || std::iter::once(0).chain(searched.match_indices('\n').map(|(at, _)| at + 1)).map(|at| &after[at..]);
    lines().find_map(bracketed_child).or_else(|| lines().find_map(plain_child))
}

fn bracketed_child(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("[][")?;
    let end = rest.find(['[', ']']).filter(|end| *end > 0)?;
    let behind = rest[end..].strip_prefix(']')?;
    (behind.is_empty() || behind.starts_with('\n')).then_some(&rest[..end])
}

fn plain_child(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("[]")?;
    let end = rest.find('\n').unwrap_or(rest.len());
    (end > 0).then_some(&rest[..end])
}
