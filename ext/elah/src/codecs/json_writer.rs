//! `Elah::JSON.generate`: writes a Ruby value as JSON without an intermediate tree.
//!
//! The text grows in a buffer that this thread reuses. During a call nothing else has the buffer. So a `to_json` that calls
//! `generate` again, or suspends its fiber, uses another one.

mod names;

use std::cell::Cell;

use elah_json::text::{write_float, write_string};
use magnus::rb_sys::{AsRawValue, FromRawValue};
use magnus::value::ReprValue;
use magnus::{Class, Error, Module, Object, RClass, RModule, RString, Ruby, Value, function};
use rb_sys::{VALUE, ruby_value_type as Type};

use crate::ruby::errors::{catching, class};
use crate::ruby::hash_walk::each_pair;
use crate::ruby::raising::{self, protect};
use crate::ruby::utf8::{self, Text};

/// The deepest nesting of arrays and objects, that of `JSON.generate`.
const DEPTH_MAX: usize = 100;
/// Steps of the path to a refused value that an error shows.
const SHOWN_STEPS_MAX: usize = 12;
/// Characters of a key in such a path.
const SHOWN_KEY_MAX: usize = 60;
/// A larger buffer is freed after its call.
const KEPT_BYTES_MAX: usize = 256 * 1024;

thread_local! {
    static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// `Elah::JSON.generate(value)` → a UTF-8 String. Raises `Elah::JSON::GenerateError` for values without a form in JSON.
fn generate(ruby: &Ruby, value: Value) -> Result<RString, Error> {
    let mut writer = Writer::new(ruby, BUFFER.take());
    let written = writer.write_all(value);
    let Writer { mut out, is_ascii, .. } = writer;
    let text = written.and_then(|()| utf8::new_string(&out, is_ascii));
    if out.capacity() <= KEPT_BYTES_MAX {
        out.clear();
        BUFFER.set(out);
    }
    text
}

/// Appends the JSON of `value` to `out` and returns it; after an error the caller must truncate it.
pub(crate) fn append_json(ruby: &Ruby, out: Vec<u8>, value: Value) -> (Vec<u8>, Result<(), Error>) {
    let mut writer = Writer::new(ruby, out);
    let written = writer.write_all(value);
    (writer.out, written)
}

struct Writer<'r> {
    ruby: &'r Ruby,
    out: Vec<u8>,
    is_ascii: bool,
    depth: usize,
    /// The argument of `to_json`: the json library's state when it was needed, nil if that library is not loaded.
    state: Option<Value>,
    /// Whether ActiveSupport is loaded, once it was checked.
    is_rails: Option<bool>,
    /// Why a value was refused, and the path to it.
    fault: Option<Box<Fault>>,
}

impl<'r> Writer<'r> {
    fn new(ruby: &'r Ruby, out: Vec<u8>) -> Self {
        Self { ruby, out, is_ascii: true, depth: 0, state: None, is_rails: None, fault: None }
    }

    /// Writes the outermost value. The error for a refused value contains the path to it.
    fn write_all(&mut self, value: Value) -> Result<(), Error> {
        let written = catching(self.ruby, || self.write(value.as_raw()));
        match &self.fault {
            Some(fault) if written.is_err() => Err(Error::new(class(self.ruby, "JSON::GenerateError"), fault.message())),
            _ => written,
        }
    }

    fn write(&mut self, value: VALUE) -> Result<(), Error> {
        if rb_sys::SPECIAL_CONST_P(value) {
            return self.write_immediate(value);
        }
        // SAFETY: `value` is a live object: it is on this stack or reachable from one that is.
        let (kind, class) = unsafe { (rb_sys::RB_BUILTIN_TYPE(value), (*(value as *const rb_sys::RBasic)).klass) };
        // SAFETY: reading the class constants of a running interpreter.
        unsafe {
            match kind {
                Type::RUBY_T_STRING if class == rb_sys::rb_cString => self.write_text(value),
                Type::RUBY_T_HASH if class == rb_sys::rb_cHash => self.write_hash(value),
                Type::RUBY_T_ARRAY if class == rb_sys::rb_cArray => self.write_array(value),
                Type::RUBY_T_SYMBOL => self.write_text(rb_sys::rb_sym2str(value)),
                Type::RUBY_T_FLOAT => self.write_float(value),
                Type::RUBY_T_BIGNUM => {
                    let digits = protect(|protected| raising::rb_big2str(protected, value, 10))?;
                    self.append(Value::from_raw(digits))
                }
                _ => self.write_other(value, kind),
            }
        }
    }

    #[inline(always)]
    fn write_immediate(&mut self, value: VALUE) -> Result<(), Error> {
        if rb_sys::FIXNUM_P(value) {
            // SAFETY: it is a fixnum.
            let number = unsafe { rb_sys::FIX2LONG(value) };
            self.out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
        } else if value == rb_sys::Qnil as VALUE {
            self.out.extend_from_slice(b"null");
        } else if value == rb_sys::Qtrue as VALUE {
            self.out.extend_from_slice(b"true");
        } else if value == rb_sys::Qfalse as VALUE {
            self.out.extend_from_slice(b"false");
        } else if rb_sys::FLONUM_P(value) {
            return self.write_float(value);
        } else {
            // SAFETY: of Ruby's immediate values only a static symbol is left.
            return self.write_text(unsafe { rb_sys::rb_sym2str(value) });
        }
        Ok(())
    }

    #[inline(always)]
    fn write_float(&mut self, value: VALUE) -> Result<(), Error> {
        // SAFETY: it is a Float.
        let number = unsafe { rb_sys::rb_float_value(value) };
        if !number.is_finite() {
            return self.write_infinite(value, number);
        }
        write_float(&mut self.out, number);
        Ok(())
    }

    /// ActiveSupport writes null for such a number.
    #[cold]
    fn write_infinite(&mut self, value: VALUE, number: f64) -> Result<(), Error> {
        // SAFETY: `value` is a live Float.
        let float = unsafe { Value::from_raw(value) };
        if float.respond_to("as_json", false)? {
            return self.write_as_json(float);
        }
        let name = if number.is_nan() { "NaN" } else { "an infinite number" };
        Err(self.refuse(format!("JSON has no form for {name}")))
    }

    fn write_text(&mut self, string: VALUE) -> Result<(), Error> {
        // SAFETY: the text is copied before Ruby runs again.
        match unsafe { utf8::text(string) } {
            Text::Utf8 { text, is_ascii } => {
                write_string(&mut self.out, text);
                self.is_ascii &= is_ascii;
                Ok(())
            }
            Text::Foreign => {
                let converted = self.converted(string)?;
                self.write_text(converted.as_raw())
            }
            Text::Broken => Err(self.refuse_broken(string)),
        }
    }

    /// Appends a String that is already JSON.
    fn append(&mut self, json: Value) -> Result<(), Error> {
        // SAFETY: the text is copied before Ruby runs again.
        match unsafe { utf8::text(json.as_raw()) } {
            Text::Utf8 { text, is_ascii } => {
                self.out.extend_from_slice(text.as_bytes());
                self.is_ascii &= is_ascii;
                Ok(())
            }
            Text::Foreign => {
                let converted = self.converted(json.as_raw())?;
                self.append(converted)
            }
            Text::Broken => Err(self.refuse_broken(json.as_raw())),
        }
    }

    fn write_array(&mut self, array: VALUE) -> Result<(), Error> {
        self.enter()?;
        self.out.push(b'[');
        let mut index = 0;
        // The length is read each time, because a `to_json` may have changed the array.
        // SAFETY: `array` is a live Array and `index` is below its length.
        while index < unsafe { rb_sys::RARRAY_LEN(array) } {
            if index > 0 {
                self.out.push(b',');
            }
            let written = self.write(unsafe { rb_sys::RARRAY_AREF(array, index as isize) });
            if written.is_err() {
                self.leave_list(index);
                return written;
            }
            index += 1;
        }
        self.out.push(b']');
        self.depth -= 1;
        Ok(())
    }

    fn write_hash(&mut self, hash: VALUE) -> Result<(), Error> {
        let is_rails = match self.is_rails {
            Some(known) => known,
            None => *self.is_rails.insert(every_object_has_as_json()?),
        };
        if !is_rails || !names::may_repeat(self.ruby, hash)? {
            return self.write_pairs(hash);
        }
        let named = names::by_text(self.ruby, hash)?;
        let written = self.write_pairs(named.as_raw());
        std::hint::black_box(named); // keeps it on this stack
        written
    }

    fn write_pairs(&mut self, hash: VALUE) -> Result<(), Error> {
        self.enter()?;
        self.out.push(b'{');
        let mut is_first = true;
        // SAFETY: `hash` is a live Hash: it is on this stack or reachable from one that is.
        unsafe { each_pair(self.ruby, hash, |key, value| self.write_pair(key, value, std::mem::take(&mut is_first))) }?;
        self.out.push(b'}');
        self.depth -= 1;
        Ok(())
    }

    #[inline(always)]
    fn write_pair(&mut self, key: VALUE, value: VALUE, is_first: bool) -> Result<(), Error> {
        if !is_first {
            self.out.push(b',');
        }
        self.write_key(key)?;
        self.out.push(b':');
        let written = self.write(value);
        if written.is_err() {
            // SAFETY: the key is reachable from the Hash that is walked.
            unsafe { self.leave_object(key) };
        }
        written
    }

    fn write_key(&mut self, key: VALUE) -> Result<(), Error> {
        // SAFETY: the pair is reachable from the Hash that is walked.
        unsafe {
            match rb_sys::RB_TYPE(key) {
                Type::RUBY_T_SYMBOL => self.write_text(rb_sys::rb_sym2str(key)),
                Type::RUBY_T_STRING if (*(key as *const rb_sys::RBasic)).klass == rb_sys::rb_cString => self.write_text(key),
                _ => {
                    let text: RString = Value::from_raw(key).funcall("to_s", ())?;
                    self.write_text(text.as_raw())
                }
            }
        }
    }

    /// Writes an object of another class: its `as_json`, its `to_json`, or its `to_s` as a string.
    fn write_other(&mut self, value: VALUE, kind: Type) -> Result<(), Error> {
        self.check_stack()?;
        // SAFETY: `value` is live.
        let object = unsafe { Value::from_raw(value) };
        if object.respond_to("as_json", false)? && !self.prefers_to_json(object)? {
            return self.write_as_json(object);
        }
        self.write_without_as_json(object, kind)
    }

    fn write_without_as_json(&mut self, object: Value, kind: Type) -> Result<(), Error> {
        if object.respond_to("to_json", false)? {
            return self.write_to_json(object);
        }
        let value = object.as_raw();
        match kind {
            Type::RUBY_T_STRING => self.write_text(value),
            Type::RUBY_T_HASH => self.write_hash(value),
            Type::RUBY_T_ARRAY => self.write_array(value),
            _ => {
                let text: RString = object.funcall("to_s", ())?;
                self.check_is_shown(object, text, "")?;
                self.write_text(text.as_raw())
            }
        }
    }

    /// Whether the class has its own `to_json` that counts. Under ActiveSupport it counts for the outermost value only.
    fn prefers_to_json(&self, object: Value) -> Result<bool, Error> {
        if (self.depth > 0 && every_object_has_as_json()?) || !object.respond_to("to_json", false)? {
            return Ok(false);
        }
        // A class may have another method of the name `method`.
        // SAFETY: `protect` catches what is raised, and returns what Ruby returned.
        let to_json = protect(|protected| unsafe {
            raising::rb_obj_method(protected, object.as_raw(), self.ruby.to_symbol("to_json").as_raw())
        })
        .map(|method| unsafe { Value::from_raw(method) })?;
        let owner: Option<String> = to_json.funcall::<_, _, Value>("owner", ())?.funcall("name", ())?;
        Ok(!owner.is_some_and(|name| name.starts_with("JSON::") || name.starts_with("ActiveSupport::")))
    }

    fn write_as_json(&mut self, object: Value) -> Result<(), Error> {
        // SAFETY: `object` is live, and none of Ruby's immediate values; `protect` catches what is raised.
        let takes_none = protect(|protected| unsafe {
            let as_json = raising::rb_intern(protected, c"as_json".as_ptr());
            let is_defined =
                raising::rb_method_boundp(protected, (*(object.as_raw() as *const rb_sys::RBasic)).klass, as_json, 0) != 0;
            let takes_none = is_defined && raising::rb_obj_method_arity(protected, object.as_raw(), as_json) == 0;
            VALUE::from(takes_none)
        })? != 0;
        // Options, as ActiveSupport passes them.
        let shown: Value =
            if takes_none { object.funcall("as_json", ())? } else { object.funcall("as_json", (self.ruby.hash_new(),))? };
        if rb_sys::SPECIAL_CONST_P(shown.as_raw()) {
            return self.write_immediate(shown.as_raw());
        }
        // SAFETY: `shown` is on this stack.
        match unsafe { rb_sys::RB_BUILTIN_TYPE(shown.as_raw()) } {
            Type::RUBY_T_STRING => self.write_text(shown.as_raw()),
            Type::RUBY_T_HASH => self.write_hash(shown.as_raw()),
            Type::RUBY_T_ARRAY => self.write_array(shown.as_raw()),
            // A Rational, for example, is its own form.
            kind if shown.as_raw() == object.as_raw() => self.write_without_as_json(object, kind),
            _ => self.write(shown.as_raw()),
        }
    }

    fn write_to_json(&mut self, object: Value) -> Result<(), Error> {
        // With a state, ActiveSupport would leave nested values to the json library.
        let state = if every_object_has_as_json()? { self.ruby.qnil().as_value() } else { self.state()? };
        let json: Value = if state.is_nil() { object.funcall("to_json", ())? } else { object.funcall("to_json", (state,))? };
        let Some(json) = RString::from_value(json) else {
            return Err(self.refuse(format!("{}#to_json returned no String but {}", object.class(), json.class())));
        };
        self.check_is_shown(object, json, "\"")?;
        self.append(json.as_value())
    }

    /// Refuses an object whose text is only its class and its address, or those of the object that it delegates to. `quote`
    /// surrounds the text.
    fn check_is_shown(&mut self, object: Value, text: RString, quote: &str) -> Result<(), Error> {
        // SAFETY: the bytes are looked at before Ruby runs again.
        let is_suspect = unsafe { text.as_slice() }.strip_prefix(quote.as_bytes()).is_some_and(|text| text.starts_with(b"#<"));
        if !is_suspect {
            return Ok(());
        }
        let mut shown = object;
        loop {
            // SAFETY: `protect` catches what is raised, and returns what Ruby returned.
            let default = protect(|protected| unsafe { raising::rb_any_to_s(protected, shown.as_raw()) })
                .map(|text| unsafe { Value::from_raw(text) })?;
            // SAFETY: as above.
            if unsafe { text.as_slice() } == format!("{quote}{default}{quote}").as_bytes() {
                break;
            }
            if !shown.respond_to("__getobj__", false)? {
                return Ok(());
            }
            shown = shown.funcall("__getobj__", ())?;
        }
        let class = shown.class();
        let sentence = format!(
            "JSON has no form for an object of the class {class}: define {class}#as_json, or return a Hash of what to show"
        );
        Err(self.refuse(sentence))
    }

    /// A state of the json library with the current depth, so that its limit covers both libraries.
    fn state(&mut self) -> Result<Value, Error> {
        let state = match self.state {
            Some(state) => state,
            None => {
                let json = self.ruby.class_object().const_get::<_, RModule>("JSON");
                let state_class = json.and_then(|json| json.const_get::<_, RClass>("State"));
                match state_class {
                    Ok(state_class) => state_class.new_instance(())?.as_value(),
                    Err(_) => self.ruby.qnil().as_value(),
                }
            }
        };
        self.state = Some(state);
        if !state.is_nil() {
            state.funcall::<_, _, Value>("depth=", (self.depth,))?;
        }
        Ok(state)
    }

    fn enter(&mut self) -> Result<(), Error> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(self.refuse(format!("The value is nested more than {DEPTH_MAX} levels deep, or contains itself")));
        }
        self.check_stack()
    }

    /// Refuses before the machine stack ends: Ruby's exception at its end would jump over Rust's frames.
    fn check_stack(&self) -> Result<(), Error> {
        // SAFETY: reads the bounds of the current stack.
        if unsafe { rb_sys::ruby_stack_check() } == 0 {
            return Ok(());
        }
        Err(Error::new(self.ruby.exception_sys_stack_error(), "stack level too deep"))
    }

    fn converted(&mut self, string: VALUE) -> Result<Value, Error> {
        utf8::converted(string).map_err(|error| {
            if error.is_kind_of(self.ruby.exception_encoding_error()) {
                return self.refuse(format!("A string has no form in UTF-8: {error}"));
            }
            error
        })
    }

    fn refuse_broken(&mut self, string: VALUE) -> Error {
        // SAFETY: `string` is live.
        let shown: String = unsafe { Value::from_raw(string) }.inspect().chars().take(60).collect();
        self.refuse(format!("The string {shown} is not valid UTF-8"))
    }

    /// Records that the refused value is in a list.
    #[cold]
    fn leave_list(&mut self, index: i64) {
        if let Some(fault) = &mut self.fault {
            fault.steps.push(format!("[{index}]"));
        }
    }

    /// Records that the refused value is in an object.
    ///
    /// # Safety
    /// `key` is live.
    #[cold]
    unsafe fn leave_object(&mut self, key: VALUE) {
        if let Some(fault) = &mut self.fault {
            // SAFETY: the caller's promise.
            fault.steps.push(unsafe { key_step(key) });
        }
    }

    /// The error that ends the writing. `write_all` adds its message.
    fn refuse(&mut self, sentence: String) -> Error {
        self.fault = Some(Box::new(Fault { sentence, steps: Vec::new() }));
        Error::new(class(self.ruby, "JSON::GenerateError"), "")
    }
}

/// Whether ActiveSupport, or something like it, has given all objects an `as_json`.
fn every_object_has_as_json() -> Result<bool, Error> {
    // SAFETY: `protect` catches what is raised.
    let is_bound = protect(|protected| unsafe {
        VALUE::from(
            raising::rb_method_boundp(protected, rb_sys::rb_cObject, raising::rb_intern(protected, c"as_json".as_ptr()), 0) != 0,
        )
    })?;
    Ok(is_bound != 0)
}

/// Why a value was refused: a sentence without its full stop, and the steps to the value, the innermost first.
struct Fault {
    sentence: String,
    steps: Vec<String>,
}

impl Fault {
    fn message(&self) -> String {
        let Fault { sentence, steps } = self;
        if steps.is_empty() {
            return format!("{sentence}.");
        }
        let path: String = steps.iter().rev().take(SHOWN_STEPS_MAX).map(String::as_str).collect();
        let rest = if steps.len() > SHOWN_STEPS_MAX { "…" } else { "" };
        format!("{sentence} (at ${path}{rest}).")
    }
}

/// A key as it stands in a path: `.name`, or `["a key"]` when it is no name.
///
/// # Safety
/// `key` is live.
unsafe fn key_step(key: VALUE) -> String {
    // SAFETY: the caller's promise; the text is copied before Ruby runs again.
    let text = unsafe {
        match rb_sys::RB_TYPE(key) {
            Type::RUBY_T_SYMBOL => utf8::text(rb_sys::rb_sym2str(key)),
            Type::RUBY_T_STRING => utf8::text(key),
            Type::RUBY_T_FIXNUM => return format!("[\"{}\"]", rb_sys::FIX2LONG(key)),
            _ => Text::Foreign,
        }
    };
    match text {
        Text::Utf8 { text, .. } if text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') => format!(".{text}"),
        Text::Utf8 { text, .. } => format!("[{:?}]", text.chars().take(SHOWN_KEY_MAX).collect::<String>()),
        _ => "[…]".to_owned(),
    }
}

pub(crate) fn init(elah: RModule) -> Result<(), Error> {
    let json = elah.define_module("JSON")?;
    json.define_singleton_method("generate", function!(generate, 1))?;
    Ok(())
}
