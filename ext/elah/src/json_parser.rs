//! `Elah::JSON.parse`: builds Ruby values while serde_json reads, without a tree in between.
//!
//! Strict RFC 8259: no comments, no NaN, no trailing text, no lone surrogates. Of a repeated name the last value stays.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::ffi::c_long;
use std::fmt;

use arrayvec::ArrayVec;

use magnus::rb_sys::{AsRawValue, FromRawValue, protect};
use magnus::scan_args::{get_kwargs, scan_args};
use magnus::value::ReprValue;
use magnus::{Error, Module, Object, RModule, RString, Ruby, TryConvert, Value, function};
use rb_sys::VALUE;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::errors::{catching, class};
use crate::utf8::{self, Text};

/// The nesting allowed when the caller names none, as `JSON.parse` has it.
const DEPTH_MAX: usize = 100;
/// The names of one object allowed when the caller names no bound.
const NAMES_MAX: usize = 65_536;
/// Elements of an array that are stored together.
const BATCH_ELEMENTS: usize = 16;
/// Pairs of an object that are stored together; Ruby's small Hashes hold as many.
const BATCH_PAIRS: usize = 8;
/// From this magnitude on serde_json reads an integer as a float.
const INTEGER_END: f64 = 9_223_372_036_854_775_808.0;

/// What a caller asks for.
#[derive(Debug, Clone, Copy)]
struct Options {
    symbolize_names: bool,
    depth_max: usize,
    names_max: usize,
}

/// `Elah::JSON.parse(text, symbolize_names: false, depth_max: 100, names_max: 65_536)`. Raises `Elah::JSON::ParseError`.
fn parse(ruby: &Ruby, arguments: &[Value]) -> Result<Value, Error> {
    let mut options = Options { symbolize_names: false, depth_max: DEPTH_MAX, names_max: NAMES_MAX };
    let source = match arguments {
        [source] => RString::try_convert(*source)?,
        _ => {
            let arguments = scan_args::<(RString,), (), (), (), _, ()>(arguments)?;
            let given = get_kwargs::<_, (), (Option<bool>, Option<usize>, Option<usize>), ()>(
                arguments.keywords,
                &[],
                &["symbolize_names", "depth_max", "names_max"],
            )?;
            let (symbolize_names, depth_max, names_max) = given.optional;
            options.symbolize_names = symbolize_names.unwrap_or(false);
            options.depth_max = depth_max.unwrap_or(DEPTH_MAX);
            options.names_max = names_max.unwrap_or(NAMES_MAX);
            arguments.required.0
        }
    };
    parse_text(ruby, source, options)
}

/// `Elah::JSON.parse_within(text, depth_max, names_max)`: as `parse`, without keywords, whose Hash costs more than to parse a small text.
fn parse_within(ruby: &Ruby, source: RString, depth_max: usize, names_max: usize) -> Result<Value, Error> {
    parse_text(ruby, source, Options { symbolize_names: false, depth_max, names_max })
}

fn parse_text(ruby: &Ruby, source: RString, options: Options) -> Result<Value, Error> {
    let mut source = source;
    let text = loop {
        // SAFETY: `source` is guarded below. Building calls Ruby's allocator and Hash, which run no Ruby code for Strings.
        match unsafe { utf8::text(source.as_raw()) } {
            Text::Utf8 { text, .. } => break text,
            Text::Foreign => source = converted(ruby, source)?,
            Text::Broken => return Err(Error::new(class(ruby, "JSON::ParseError"), "The text is not valid UTF-8.")),
        }
    };
    let builder = Builder { ruby, options, numbers: Numbers::new(text), raised: RefCell::new(None) };
    let mut deserializer = serde_json::Deserializer::from_str(text);
    deserializer.disable_recursion_limit();
    let parsed = catching(ruby, || {
        let built = Place { builder: &builder, depth: 0 }.deserialize(&mut deserializer);
        let ended = built.and_then(|built| {
            deserializer.end()?;
            // SAFETY: protected.
            builder.built(|| unsafe { built.raw() })
        });
        ended.map_err(|error| match builder.raised.take() {
            Some(raised) => raised,
            None => Error::new(class(ruby, "JSON::ParseError"), format!("The text is not JSON: {error}.")),
        })
    });
    // One that was converted is known to nobody else, and the collector does not take a pointer into it for one to it.
    rb_sys::rb_gc_guard!(source.as_raw());
    parsed
}

fn converted(ruby: &Ruby, source: RString) -> Result<RString, Error> {
    utf8::converted(source.as_raw())
        .and_then(RString::try_convert)
        .map_err(|error| Error::new(class(ruby, "JSON::ParseError"), format!("The text cannot be converted to UTF-8: {error}.")))
}

/// What was read at one place. A text becomes a Ruby String together with the step that stores it.
enum Built<'de> {
    Value(Value),
    Text(Cow<'de, str>),
}

impl Built<'_> {
    /// # Safety
    /// May raise: only for use under `protect`.
    unsafe fn raw(&self) -> VALUE {
        match self {
            Self::Value(value) => value.as_raw(),
            // SAFETY: the caller protects.
            Self::Text(text) => unsafe { utf8::raw_string(text.as_bytes(), text.is_ascii()) },
        }
    }
}

/// What all places of one document share.
struct Builder<'s> {
    ruby: &'s Ruby,
    options: Options,
    numbers: Numbers<'s>,
    /// What Ruby raised while a value was built; the document's error is then only its messenger.
    raised: RefCell<Option<Error>>,
}

impl Builder<'_> {
    /// Runs Ruby's functions that may raise (at least for want of memory).
    fn built<E: serde::de::Error>(&self, build: impl FnOnce() -> VALUE) -> Result<Value, E> {
        match protect(build) {
            // SAFETY: Ruby returned it.
            Ok(value) => Ok(unsafe { Value::from_raw(value) }),
            Err(error) => Err(self.fail(error)),
        }
    }

    fn fail<E: serde::de::Error>(&self, error: Error) -> E {
        *self.raised.borrow_mut() = Some(error);
        E::custom("Ruby raised")
    }

    /// A name of an object: the one String object per name in this process, or a Symbol that can be collected.
    ///
    /// # Safety
    /// May raise: only for use under `protect`.
    unsafe fn raw_name(&self, text: &str) -> VALUE {
        // SAFETY: the caller protects.
        unsafe {
            if self.options.symbolize_names {
                rb_sys::rb_str_intern(utf8::raw_string(text.as_bytes(), text.is_ascii()))
            } else {
                utf8::raw_interned(text)
            }
        }
    }

    /// The Array (a new one at first) with the elements of the batch.
    fn appended<E: serde::de::Error>(&self, array: Option<Value>, batch: &Elements<'_>) -> Result<Value, E> {
        // SAFETY: protected; all values are on the stack, which Ruby's collector searches.
        self.built(|| unsafe {
            let mut values = [rb_sys::Qnil as VALUE; BATCH_ELEMENTS];
            for (value, built) in values.iter_mut().zip(batch) {
                *value = built.raw();
            }
            match array {
                Some(array) => rb_sys::rb_ary_cat(array.as_raw(), values.as_ptr(), batch.len() as c_long),
                None => rb_sys::rb_ary_new_from_values(batch.len() as c_long, values.as_ptr()),
            }
        })
    }

    /// The Hash (a new one at first) with the pairs of the batch. Only a new one is filled in bulk: that builds the whole table of a filled Hash
    /// anew, so that the time for n names would grow with n².
    fn stored<E: serde::de::Error>(&self, hash: Option<Value>, batch: &Pairs<'_>) -> Result<Value, E> {
        // SAFETY: protected; all values and names are on the stack, which Ruby's collector searches.
        self.built(|| unsafe {
            let mut values = [rb_sys::Qnil as VALUE; 2 * BATCH_PAIRS];
            for (pair, (name, built)) in values.chunks_exact_mut(2).zip(batch) {
                pair[0] = self.raw_name(name);
                pair[1] = built.raw();
            }
            let Some(hash) = hash else {
                let hash = rb_sys::rb_hash_new();
                rb_sys::rb_hash_bulk_insert(2 * batch.len() as c_long, values.as_ptr(), hash);
                return hash;
            };
            for pair in values[..2 * batch.len()].chunks_exact(2) {
                rb_sys::rb_hash_aset(hash.as_raw(), pair[0], pair[1]);
            }
            hash.as_raw()
        })
    }

    /// The names of an object so far, with those of a batch.
    fn count_names<E: serde::de::Error>(&self, names: usize, batch: &Pairs<'_>) -> Result<usize, E> {
        let names = names + batch.len();
        if names > self.options.names_max {
            return Err(E::custom(format!("an object has more than {} names", self.options.names_max)));
        }
        Ok(names)
    }

    fn enter<E: serde::de::Error>(&self, depth: usize) -> Result<usize, E> {
        if depth >= self.options.depth_max {
            return Err(E::custom(format!("it is nested more than {} levels deep", self.options.depth_max)));
        }
        // SAFETY: reads the bounds of the current stack.
        if unsafe { rb_sys::ruby_stack_check() } != 0 {
            return Err(self.fail(Error::new(self.ruby.exception_sys_stack_error(), "stack level too deep")));
        }
        Ok(depth + 1)
    }
}

/// What waits to be stored. It lies on the stack, never on the heap: Ruby's collector must find its values.
type Elements<'de> = ArrayVec<Built<'de>, BATCH_ELEMENTS>;
type Pairs<'de> = ArrayVec<(Cow<'de, str>, Built<'de>), BATCH_PAIRS>;

/// Where a value stands.
#[derive(Clone, Copy)]
struct Place<'b, 's> {
    builder: &'b Builder<'s>,
    depth: usize,
}

impl<'de> DeserializeSeed<'de> for Place<'_, '_> {
    type Value = Built<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Built<'de>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Place<'_, '_> {
    type Value = Built<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<Built<'de>, E> {
        Ok(Built::Value(self.builder.ruby.qnil().as_value()))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Built<'de>, E> {
        let ruby = self.builder.ruby;
        Ok(Built::Value(if value { ruby.qtrue().as_value() } else { ruby.qfalse().as_value() }))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Built<'de>, E> {
        self.builder.numbers.count();
        Ok(Built::Value(self.builder.ruby.integer_from_i64(value).as_value()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Built<'de>, E> {
        self.builder.numbers.count();
        Ok(Built::Value(self.builder.ruby.integer_from_u64(value).as_value()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Built<'de>, E> {
        self.builder.numbers.count();
        let may_be_integer = value.abs() >= INTEGER_END || (value == 0.0 && value.is_sign_negative());
        if may_be_integer && let Some(digits) = self.builder.numbers.integer() {
            // SAFETY: protected; `digits` is a live String on the stack of the closure.
            let integer = self.builder.built(|| unsafe {
                let digits = utf8::raw_string(digits.as_bytes(), true);
                rb_sys::rb_str_to_inum(digits, 10, 1)
            });
            return integer.map(Built::Value);
        }
        Ok(Built::Value(self.builder.ruby.float_from_f64(value).as_value()))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Built<'de>, E> {
        Ok(Built::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Built<'de>, E> {
        Ok(Built::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Built<'de>, A::Error> {
        let place = Place { depth: self.builder.enter(self.depth)?, ..self };
        let mut array = None;
        let mut batch = ArrayVec::new();
        while let Some(element) = elements.next_element_seed(place)? {
            batch.push(element);
            if batch.is_full() {
                array = Some(self.builder.appended(array, &batch)?);
                batch.clear();
            }
        }
        self.builder.appended(array, &batch).map(Built::Value)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut pairs: A) -> Result<Built<'de>, A::Error> {
        let place = Place { depth: self.builder.enter(self.depth)?, ..self };
        let mut hash = None;
        let mut names = 0;
        let mut batch = ArrayVec::new();
        while let Some(name) = pairs.next_key_seed(Name)? {
            batch.push((name, pairs.next_value_seed(place)?));
            if batch.is_full() {
                names = self.builder.count_names(names, &batch)?;
                hash = Some(self.builder.stored(hash, &batch)?);
                batch.clear();
            }
        }
        self.builder.count_names(names, &batch)?;
        self.builder.stored(hash, &batch).map(Built::Value)
    }
}

/// The place of an object's name.
struct Name;

impl<'de> DeserializeSeed<'de> for Name {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Name {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }
}

/// Finds the digits of a number that serde_json has read as a float: the numbers of a document come in order, so that
/// a second reading finds the nth one again. Each part of the text is read at most once more, and only when needed.
struct Numbers<'s> {
    text: &'s str,
    counted: Cell<usize>,
    /// How many numbers lie before `at`.
    passed: Cell<usize>,
    at: Cell<usize>,
}

impl<'s> Numbers<'s> {
    fn new(text: &'s str) -> Self {
        Self { text, counted: Cell::new(0), passed: Cell::new(0), at: Cell::new(0) }
    }

    fn count(&self) {
        self.counted.set(self.counted.get() + 1);
    }

    /// The number counted last, when it is written as an integer.
    fn integer(&self) -> Option<&'s str> {
        let bytes = self.text.as_bytes();
        let mut at = self.at.get();
        let mut last = None;
        while self.passed.get() < self.counted.get() {
            match *bytes.get(at)? {
                b'"' => at = string_end(bytes, at + 1)?,
                b'-' | b'0'..=b'9' => {
                    let integer_end = digits_end(bytes, at + 1);
                    let end = number_end(bytes, integer_end);
                    last = (end == integer_end).then_some(at..end);
                    at = end;
                    self.passed.set(self.passed.get() + 1);
                }
                _ => at += 1,
            }
        }
        self.at.set(at);
        last.map(|range| &self.text[range])
    }
}

fn digits_end(bytes: &[u8], at: usize) -> usize {
    at + bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// The end of the number whose digits before the point end at `at`.
fn number_end(bytes: &[u8], mut at: usize) -> usize {
    if bytes.get(at) == Some(&b'.') {
        at = digits_end(bytes, at + 1);
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        at += 1 + usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        at = digits_end(bytes, at);
    }
    at
}

/// The place behind the quote that ends a string.
fn string_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

pub(crate) fn init(elah: RModule) -> Result<(), Error> {
    let json = elah.define_module("JSON")?;
    json.define_singleton_method("parse_within", function!(parse_within, 3))?;
    json.define_singleton_method("parse", function!(parse, -1))
}
