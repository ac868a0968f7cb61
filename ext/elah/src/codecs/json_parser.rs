//! `Elah::JSON.parse`: builds Ruby values while the cursor reads, without an intermediate tree.
//!
//! Strict RFC 8259: no comments, no NaN, no trailing text, no lone surrogates. Of a repeated name the last value counts.

use std::borrow::Cow;
use std::ffi::c_long;

use arrayvec::ArrayVec;
use elah_json::{Cursor, Fault, Number, Reason, Token, place};
use magnus::rb_sys::{AsRawValue, FromRawValue};
use magnus::scan_args::{get_kwargs, scan_args};
use magnus::value::ReprValue;
use magnus::{Error, Module, Object, RModule, RString, Ruby, TryConvert, Value, function};
use rb_sys::VALUE;

use crate::ruby::errors::{catching, class};
use crate::ruby::raising::{self, Protected, protect};
use crate::ruby::utf8::{self, Text};

/// The default depth, that of `JSON.parse`.
pub(crate) const DEPTH_MAX: usize = 100;
/// The default number of names in one object.
const NAMES_MAX: usize = 65_536;
/// Elements of an array that are stored together.
const BATCH_ELEMENTS: usize = 16;
/// Pairs of an object that are stored together; Ruby's small Hashes hold as many.
const BATCH_PAIRS: usize = 8;

/// The options of a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Options {
    symbolize_names: bool,
    depth_max: usize,
    names_max: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options { symbolize_names: false, depth_max: DEPTH_MAX, names_max: NAMES_MAX }
    }
}

/// `Elah::JSON.parse(text, symbolize_names: false, depth_max: 100, names_max: 65_536)`. Raises `Elah::JSON::ParseError`.
fn parse(ruby: &Ruby, arguments: &[Value]) -> Result<Value, Error> {
    let mut options = Options::default();
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

/// `Elah::JSON.parse_within(text, depth_max, names_max)`: like `parse`, without keywords, whose Hash costs more than parsing a
/// small text.
fn parse_within(ruby: &Ruby, source: RString, depth_max: usize, names_max: usize) -> Result<Value, Error> {
    parse_text(ruby, source, Options { symbolize_names: false, depth_max, names_max })
}

fn parse_text(ruby: &Ruby, source: RString, options: Options) -> Result<Value, Error> {
    read(ruby, source, options, |builder, cursor| {
        let built = builder.value(cursor, 0)?;
        cursor.end()?;
        builder.built(|protected| built.raw(protected))
    })
}

/// Passes the text of `source` to `work`. Values that it makes must be on the stack, where Ruby's collector finds them.
pub(crate) fn read<'r>(
    ruby: &'r Ruby,
    source: RString,
    options: Options,
    work: impl FnOnce(&Builder<'r>, &mut Cursor<'_>) -> Result<Value, Failure>,
) -> Result<Value, Error> {
    let mut source = source;
    let text = loop {
        // SAFETY: `source` is guarded below. Building calls Ruby's allocator and Hash, which run no Ruby code for Strings.
        match unsafe { utf8::text(source.as_raw()) } {
            Text::Utf8 { text, .. } => break text,
            Text::Foreign => source = converted(ruby, source)?,
            Text::Broken => return Err(Error::new(class(ruby, "JSON::ParseError"), "The text is not valid UTF-8.")),
        }
    };
    let builder = Builder { ruby, options };
    let built = catching(ruby, || {
        work(&builder, &mut Cursor::new(text)).map_err(|failure| match failure {
            Failure::Raised(error) => error,
            Failure::Text(reason, at) => {
                let (line, column) = place(text, at);
                let sentence = format!("The text is not JSON: {reason} at line {line} column {column}.");
                Error::new(class(ruby, "JSON::ParseError"), sentence)
            }
        })
    });
    // Only this frame refers to a converted String, and the collector does not treat a pointer into it as a reference.
    rb_sys::rb_gc_guard!(source.as_raw());
    built
}

fn converted(ruby: &Ruby, source: RString) -> Result<RString, Error> {
    utf8::converted(source.as_raw())
        .and_then(RString::try_convert)
        .map_err(|error| Error::new(class(ruby, "JSON::ParseError"), format!("The text cannot be converted to UTF-8: {error}.")))
}

/// Why there is no value.
pub(crate) enum Failure {
    /// A fault of the text, and its offset.
    Text(Cow<'static, str>, usize),
    /// An exception of Ruby while a value was built.
    Raised(Error),
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        match fault.reason {
            Reason::TooDeep => too_deep(DEPTH_MAX, fault.at),
            reason => Failure::Text(reason.to_string().into(), fault.at),
        }
    }
}

fn too_deep(levels: usize, at: usize) -> Failure {
    Failure::Text(format!("it is nested more than {levels} levels deep").into(), at)
}

/// A value at one place. A text becomes a Ruby String in the step that stores it.
#[derive(Clone)]
pub(crate) enum Built<'de> {
    Value(Value),
    Text(Cow<'de, str>),
}

impl Built<'_> {
    pub(crate) fn raw(&self, protected: Protected<'_>) -> VALUE {
        match self {
            Self::Value(value) => value.as_raw(),
            Self::Text(text) => utf8::raw_string(protected, text.as_bytes(), text.is_ascii()),
        }
    }
}

/// Elements to store. They are on the stack, never on the heap, because Ruby's collector must find the values.
type Elements<'de> = ArrayVec<Built<'de>, BATCH_ELEMENTS>;
type Pairs<'de> = ArrayVec<(Cow<'de, str>, Built<'de>), BATCH_PAIRS>;

/// Builds the values of one document.
pub(crate) struct Builder<'r> {
    ruby: &'r Ruby,
    options: Options,
}

impl Builder<'_> {
    /// The next value, inside `depth` others.
    pub(crate) fn value<'de>(&self, cursor: &mut Cursor<'de>, depth: usize) -> Result<Built<'de>, Failure> {
        let ruby = self.ruby;
        Ok(Built::Value(match cursor.next()? {
            Token::Text(text) => return Ok(Built::Text(text.read())),
            Token::Number(number) => return self.number(number),
            Token::Object => return self.object(cursor, depth),
            Token::Array => return self.array(cursor, depth),
            Token::Null => ruby.qnil().as_value(),
            Token::Bool(true) => ruby.qtrue().as_value(),
            Token::Bool(false) => ruby.qfalse().as_value(),
        }))
    }

    fn number<'de>(&self, number: Number<'_>) -> Result<Built<'de>, Failure> {
        if let Some(integer) = number.integer() {
            return Ok(Built::Value(self.ruby.integer_from_i64(integer).as_value()));
        }
        if !number.is_integer() {
            return Ok(Built::Value(self.ruby.float_from_f64(number.float()).as_value()));
        }
        // SAFETY: `digits` is a live String on the stack of the closure.
        let integer = self.built(|protected| unsafe {
            let digits = utf8::raw_string(protected, number.text().as_bytes(), true);
            raising::rb_str_to_inum(protected, digits, 10, 1)
        });
        integer.map(Built::Value)
    }

    fn array<'de>(&self, cursor: &mut Cursor<'de>, depth: usize) -> Result<Built<'de>, Failure> {
        let depth = self.enter(depth, cursor.at())?;
        let mut array = None;
        let mut batch = Elements::new();
        while cursor.element()? {
            batch.push(self.value(cursor, depth)?);
            if batch.is_full() {
                array = Some(self.appended(array, &batch)?);
                batch.clear();
            }
        }
        self.appended(array, &batch).map(Built::Value)
    }

    fn object<'de>(&self, cursor: &mut Cursor<'de>, depth: usize) -> Result<Built<'de>, Failure> {
        let depth = self.enter(depth, cursor.at())?;
        let mut hash = None;
        let mut names = 0;
        let mut batch = Pairs::new();
        while let Some(name) = cursor.member()? {
            batch.push((name.read(), self.value(cursor, depth)?));
            if batch.is_full() {
                names = self.count_names(names, &batch, cursor.at())?;
                hash = Some(self.stored(hash, &batch)?);
                batch.clear();
            }
        }
        self.count_names(names, &batch, cursor.at())?;
        self.stored(hash, &batch).map(Built::Value)
    }

    /// Runs functions of Ruby that may raise, at least for lack of memory.
    pub(crate) fn built(&self, build: impl FnOnce(Protected<'_>) -> VALUE) -> Result<Value, Failure> {
        // SAFETY: Ruby returned it.
        protect(build).map(|value| unsafe { Value::from_raw(value) }).map_err(Failure::Raised)
    }

    /// A name of an object: the shared String object of this process, or a Symbol that can be collected.
    fn raw_name(&self, protected: Protected<'_>, text: &str) -> VALUE {
        if !self.options.symbolize_names {
            return utf8::raw_interned(protected, text);
        }
        // SAFETY: a String.
        unsafe { raising::rb_str_intern(protected, utf8::raw_string(protected, text.as_bytes(), text.is_ascii())) }
    }

    /// The Array (a new one at first) with the elements of the batch.
    fn appended(&self, array: Option<Value>, batch: &Elements<'_>) -> Result<Value, Failure> {
        // SAFETY: all values are on the stack, which Ruby's collector searches.
        self.built(|protected| unsafe {
            let mut values = [rb_sys::Qnil as VALUE; BATCH_ELEMENTS];
            for (value, built) in values.iter_mut().zip(batch) {
                *value = built.raw(protected);
            }
            match array {
                Some(array) => raising::rb_ary_cat(protected, array.as_raw(), values.as_ptr(), batch.len() as c_long),
                None => raising::rb_ary_new_from_values(protected, batch.len() as c_long, values.as_ptr()),
            }
        })
    }

    /// The Hash (a new one at first) with the pairs of the batch. Only a new Hash is filled in bulk. For a filled one that would
    /// rebuild the whole table, so the time for n names would grow with n².
    fn stored(&self, hash: Option<Value>, batch: &Pairs<'_>) -> Result<Value, Failure> {
        // SAFETY: all values and names are on the stack, which Ruby's collector searches.
        self.built(|protected| unsafe {
            let mut values = [rb_sys::Qnil as VALUE; 2 * BATCH_PAIRS];
            for (pair, (name, built)) in values.chunks_exact_mut(2).zip(batch) {
                pair[0] = self.raw_name(protected, name);
                pair[1] = built.raw(protected);
            }
            let Some(hash) = hash else {
                let hash = raising::rb_hash_new(protected);
                raising::rb_hash_bulk_insert(protected, 2 * batch.len() as c_long, values.as_ptr(), hash);
                return hash;
            };
            for pair in values[..2 * batch.len()].chunks_exact(2) {
                raising::rb_hash_aset(protected, hash.as_raw(), pair[0], pair[1]);
            }
            hash.as_raw()
        })
    }

    /// Counts the names of an object, with those of a batch.
    fn count_names(&self, names: usize, batch: &Pairs<'_>, at: usize) -> Result<usize, Failure> {
        let names = names + batch.len();
        if names > self.options.names_max {
            return Err(Failure::Text(format!("an object has more than {} names", self.options.names_max).into(), at));
        }
        Ok(names)
    }

    pub(crate) fn enter(&self, depth: usize, at: usize) -> Result<usize, Failure> {
        if depth >= self.options.depth_max {
            return Err(too_deep(self.options.depth_max, at));
        }
        // SAFETY: reads the bounds of the current stack.
        if unsafe { rb_sys::ruby_stack_check() } != 0 {
            return Err(Failure::Raised(Error::new(self.ruby.exception_sys_stack_error(), "stack level too deep")));
        }
        Ok(depth + 1)
    }
}

pub(crate) fn init(elah: RModule) -> Result<(), Error> {
    let json = elah.define_module("JSON")?;
    json.define_singleton_method("parse_within", function!(parse_within, 3))?;
    json.define_singleton_method("parse", function!(parse, -1))
}
