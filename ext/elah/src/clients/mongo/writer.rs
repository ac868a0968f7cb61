//! Ruby values as BSON, without an intermediate tree.
//!
//! Only core classes have a form, so no code of the app runs except a BigDecimal's `to_s`.

use elah_clients::mongo::decimal_from_text;
use magnus::rb_sys::{AsRawValue, FromRawValue};
use magnus::value::ReprValue;
use magnus::{Error, Integer, RString, Ruby, Value};
use rb_sys::{VALUE, ruby_value_type as Type};

use super::object_id;
use crate::ruby::errors::{catching, class};
use crate::ruby::hash_walk::each_pair;
use crate::ruby::raising::{self, protect};
use crate::ruby::utf8::{self, Text};

const DEPTH_MAX: usize = 100;
/// The largest document of the protocol.
const DOCUMENT_BYTES_MAX: usize = 16 * 1024 * 1024;
const KNOWN: &str =
    "Hash, Array, String, Symbol, Integer, Float, true, false, nil, Time, Regexp, BigDecimal and Elah::Mongo::ObjectId";

const DOUBLE: u8 = 0x01;
const STRING: u8 = 0x02;
const DOCUMENT: u8 = 0x03;
const ARRAY: u8 = 0x04;
const BINARY: u8 = 0x05;
const OBJECT_ID: u8 = 0x07;
const BOOLEAN: u8 = 0x08;
const DATE_TIME: u8 = 0x09;
const NULL: u8 = 0x0A;
const REGEXP: u8 = 0x0B;
const INT32: u8 = 0x10;
const INT64: u8 = 0x12;
const DECIMAL128: u8 = 0x13;

/// The bytes of a Hash as a document. Raises `Elah::Mongo::InvalidValue` for a value without a form.
pub(super) fn document(ruby: &Ruby, hash: Value) -> Result<Vec<u8>, Error> {
    written(ruby, |writer| writer.write_hash(hash.as_raw(), None))
}

/// The bytes of an Array.
pub(super) fn array(ruby: &Ruby, array: Value) -> Result<Vec<u8>, Error> {
    written(ruby, |writer| writer.write_array(array.as_raw()))
}

/// The bytes of a Hash with `id` as its `_id`, in front.
pub(super) fn document_with_id(ruby: &Ruby, hash: Value, id: Value) -> Result<Vec<u8>, Error> {
    written(ruby, |writer| writer.write_hash(hash.as_raw(), Some(id.as_raw())))
}

fn written(ruby: &Ruby, write: impl FnOnce(&mut Writer<'_>) -> Result<(), Error>) -> Result<Vec<u8>, Error> {
    let mut writer = Writer { ruby, out: Vec::with_capacity(256), names: Vec::new() };
    catching(ruby, || write(&mut writer))?;
    if writer.out.len() > DOCUMENT_BYTES_MAX {
        let bytes = writer.out.len();
        return Err(invalid(ruby, format!("The document has {bytes} bytes; it may have {DOCUMENT_BYTES_MAX}.")));
    }
    Ok(writer.out)
}

pub(super) fn invalid(ruby: &Ruby, sentence: String) -> Error {
    Error::new(class(ruby, "Mongo::InvalidValue"), sentence)
}

struct Writer<'r> {
    ruby: &'r Ruby,
    out: Vec<u8>,
    /// The positions in `out` of the names of the current element and of those around it.
    names: Vec<usize>,
}

impl Writer<'_> {
    fn write_hash(&mut self, hash: VALUE, id: Option<VALUE>) -> Result<(), Error> {
        let start = self.begin();
        if let Some(id) = id {
            self.write_element(id, |out| out.extend_from_slice(b"_id"))?;
        }
        // SAFETY: `hash` is a live Hash: it is on this stack or reachable from one that is.
        unsafe { each_pair(self.ruby, hash, |key, value| self.write_pair(key, value, id.is_some())) }?;
        self.end(start)
    }

    fn write_array(&mut self, array: VALUE) -> Result<(), Error> {
        let start = self.begin();
        let mut index = 0;
        // SAFETY: `array` is a live Array and `index` is below its length.
        while index < unsafe { rb_sys::RARRAY_LEN(array) } {
            let value = unsafe { rb_sys::RARRAY_AREF(array, index as isize) };
            self.write_element(value, |out| out.extend_from_slice(itoa::Buffer::new().format(index).as_bytes()))?;
            index += 1;
        }
        self.end(start)
    }

    fn begin(&mut self) -> usize {
        let start = self.out.len();
        self.out.extend_from_slice(&[0; 4]);
        start
    }

    /// Ends the document that began at `start`.
    fn end(&mut self, start: usize) -> Result<(), Error> {
        self.out.push(0);
        let length = self.length(self.out.len() - start)?;
        self.out[start..start + 4].copy_from_slice(&length);
        Ok(())
    }

    fn length(&self, length: usize) -> Result<[u8; 4], Error> {
        match i32::try_from(length) {
            Ok(length) => Ok(length.to_le_bytes()),
            Err(_) => Err(invalid(self.ruby, format!("The document has {length} bytes; it may have {DOCUMENT_BYTES_MAX}."))),
        }
    }

    /// `has_id`: `_id` has been written already.
    fn write_pair(&mut self, key: VALUE, value: VALUE, has_id: bool) -> Result<(), Error> {
        // SAFETY: the pair is reachable from the Hash that is walked.
        let mut string = unsafe {
            match rb_sys::RB_TYPE(key) {
                Type::RUBY_T_SYMBOL => rb_sys::rb_sym2str(key),
                Type::RUBY_T_STRING => key,
                _ => {
                    let shown = shown(Value::from_raw(key));
                    return Err(self.refuse(&format!("has the key {shown}; keys are Strings or Symbols")));
                }
            }
        };
        // SAFETY: the text is copied before Ruby runs again.
        if let Text::Foreign = unsafe { utf8::text(string) } {
            string = utf8::converted(string)?.as_raw();
        }
        // SAFETY: as above.
        let Text::Utf8 { text, .. } = (unsafe { utf8::text(string) }) else {
            return Err(self.refuse("has a key that is not valid UTF-8"));
        };
        if memchr::memchr(0, text.as_bytes()).is_some() {
            return Err(self.refuse(&format!("has the key {text:?}; a key has no NUL")));
        }
        if has_id && text == "_id" {
            return Ok(());
        }
        self.write_element(value, |out| out.extend_from_slice(text.as_bytes()))
    }

    /// An element whose name `name` appends.
    fn write_element(&mut self, value: VALUE, name: impl FnOnce(&mut Vec<u8>)) -> Result<(), Error> {
        let kind_at = self.out.len();
        self.out.push(0);
        self.names.push(self.out.len());
        name(&mut self.out);
        self.out.push(0);
        let kind = self.write_value(value)?;
        self.names.pop();
        self.out[kind_at] = kind;
        Ok(())
    }

    /// Writes the value of an element, and returns the element's kind.
    fn write_value(&mut self, value: VALUE) -> Result<u8, Error> {
        if rb_sys::SPECIAL_CONST_P(value) {
            return self.write_immediate(value);
        }
        // SAFETY: `value` is a live object: it is on this stack or reachable from one that is.
        match unsafe { rb_sys::RB_BUILTIN_TYPE(value) } {
            Type::RUBY_T_STRING => self.write_string(value),
            Type::RUBY_T_HASH => {
                self.enter()?;
                self.write_hash(value, None)?;
                Ok(DOCUMENT)
            }
            Type::RUBY_T_ARRAY => {
                self.enter()?;
                self.write_array(value)?;
                Ok(ARRAY)
            }
            // SAFETY: it is a Symbol.
            Type::RUBY_T_SYMBOL => self.write_string(unsafe { rb_sys::rb_sym2str(value) }),
            Type::RUBY_T_FLOAT => Ok(self.write_float(value)),
            Type::RUBY_T_BIGNUM => self.write_bignum(value),
            Type::RUBY_T_REGEXP => self.write_regexp(value),
            _ => self.write_object(value),
        }
    }

    fn write_immediate(&mut self, value: VALUE) -> Result<u8, Error> {
        if rb_sys::FIXNUM_P(value) {
            // SAFETY: it is a fixnum.
            let number = unsafe { rb_sys::FIX2LONG(value) };
            if let Ok(number) = i32::try_from(number) {
                self.out.extend_from_slice(&number.to_le_bytes());
                return Ok(INT32);
            }
            self.out.extend_from_slice(&number.to_le_bytes());
            Ok(INT64)
        } else if value == rb_sys::Qnil as VALUE {
            Ok(NULL)
        } else if value == rb_sys::Qtrue as VALUE || value == rb_sys::Qfalse as VALUE {
            self.out.push(u8::from(value == rb_sys::Qtrue as VALUE));
            Ok(BOOLEAN)
        } else if rb_sys::FLONUM_P(value) {
            Ok(self.write_float(value))
        } else {
            // SAFETY: of Ruby's immediate values only a static symbol is left.
            self.write_string(unsafe { rb_sys::rb_sym2str(value) })
        }
    }

    /// Ruby's own small integers have 63 bits.
    fn write_bignum(&mut self, value: VALUE) -> Result<u8, Error> {
        // SAFETY: `value` is live.
        let object = unsafe { Value::from_raw(value) };
        let Some(number) = Integer::from_value(object).and_then(|number| number.to_i64().ok()) else {
            return Err(self.refuse(&format!("is {}; an Integer is from {} to {}", shown(object), i64::MIN, i64::MAX)));
        };
        self.out.extend_from_slice(&number.to_le_bytes());
        Ok(INT64)
    }

    fn write_float(&mut self, value: VALUE) -> u8 {
        // SAFETY: it is a Float.
        let number = unsafe { rb_sys::rb_float_value(value) };
        self.out.extend_from_slice(&number.to_le_bytes());
        DOUBLE
    }

    fn write_string(&mut self, string: VALUE) -> Result<u8, Error> {
        // SAFETY: `string` is a live String.
        if unsafe { rb_sys::ENCODING_GET(string) == rb_sys::rb_ascii8bit_encindex() } {
            // SAFETY: the bytes are copied before Ruby runs again.
            let bytes = unsafe {
                std::slice::from_raw_parts(rb_sys::RSTRING_PTR(string).cast::<u8>(), rb_sys::RSTRING_LEN(string) as usize)
            };
            let length = self.length(bytes.len())?;
            self.out.extend_from_slice(&length);
            self.out.push(0);
            self.out.extend_from_slice(bytes);
            return Ok(BINARY);
        }
        // SAFETY: the text is copied before Ruby runs again.
        match unsafe { utf8::text(string) } {
            Text::Utf8 { text, .. } => {
                let length = self.length(text.len() + 1)?;
                self.out.extend_from_slice(&length);
                self.out.extend_from_slice(text.as_bytes());
                self.out.push(0);
                Ok(STRING)
            }
            Text::Foreign => {
                let converted = utf8::converted(string)?;
                self.write_string(converted.as_raw())
            }
            Text::Broken => Err(self.refuse("is no valid text; bytes are Strings in the encoding BINARY")),
        }
    }

    fn write_regexp(&mut self, regexp: VALUE) -> Result<u8, Error> {
        // SAFETY: `regexp` is live.
        let object = unsafe { Value::from_raw(regexp) };
        let source: RString = object.funcall("source", ())?;
        let options: u32 = object.funcall("options", ())?;
        let source = source.to_string()?;
        if source.contains('\0') {
            return Err(self.refuse("is a Regexp with a NUL"));
        }
        self.out.extend_from_slice(source.as_bytes());
        self.out.push(0);
        // Ruby's ^ and $ always match at lines; Ruby's multiline lets the dot match a line end.
        for (bit, letter) in [(1, b'i'), (0, b'm'), (4, b's'), (2, b'x')] {
            if bit == 0 || options & bit != 0 {
                self.out.push(letter);
            }
        }
        self.out.push(0);
        Ok(REGEXP)
    }

    /// Time, BigDecimal, ObjectId.
    fn write_object(&mut self, value: VALUE) -> Result<u8, Error> {
        if let Some(bytes) = object_id::bytes(value) {
            self.out.extend_from_slice(&bytes);
            return Ok(OBJECT_ID);
        }
        // SAFETY: `value` is a live object; reading the class constants of a running interpreter.
        let object = unsafe { Value::from_raw(value) };
        if object.is_kind_of(self.ruby.class_time()) {
            let milliseconds = self.milliseconds(object)?;
            self.out.extend_from_slice(&milliseconds.to_le_bytes());
            return Ok(DATE_TIME);
        }
        // SAFETY: the name is copied before Ruby runs again.
        let class = unsafe { object.classname() }.into_owned();
        if class == "BigDecimal" {
            let text: String = object.funcall("to_s", ())?;
            let Some(bytes) = decimal_from_text(&text) else {
                return Err(self.refuse(&format!("is {text}; a decimal number has at most 34 digits and an exponent of ±6111")));
            };
            self.out.extend_from_slice(&bytes);
            return Ok(DECIMAL128);
        }
        Err(self.refuse(&format!("is a {class}, which has no form in BSON; known are {KNOWN}")))
    }

    fn milliseconds(&self, time: Value) -> Result<i64, Error> {
        let mut spec = (0_i64, 0_i64);
        protect(|protected| {
            // SAFETY: it is a Time; `protect` catches what is raised for one that C cannot hold.
            let read = unsafe { raising::rb_time_timespec(protected, time.as_raw()) };
            spec = (read.tv_sec, read.tv_nsec);
            rb_sys::Qnil as VALUE
        })?;
        let milliseconds = spec.0.checked_mul(1000).and_then(|whole| whole.checked_add(spec.1 / 1_000_000));
        milliseconds.ok_or_else(|| self.refuse("is a Time too far from now"))
    }

    fn enter(&self) -> Result<(), Error> {
        if self.names.len() > DEPTH_MAX {
            return Err(invalid(self.ruby, format!("The document is nested more than {DEPTH_MAX} levels deep.")));
        }
        // SAFETY: reads the bounds of the current stack.
        if unsafe { rb_sys::ruby_stack_check() } != 0 {
            return Err(Error::new(self.ruby.exception_sys_stack_error(), "stack level too deep"));
        }
        Ok(())
    }

    /// The error for the current element.
    fn refuse(&self, what: &str) -> Error {
        let names = self.names.iter().map(|&start| {
            let name = self.out[start..].split(|&byte| byte == 0).next().unwrap_or_default();
            String::from_utf8_lossy(name)
        });
        let path = names.collect::<Vec<_>>().join(".");
        let subject = if path.is_empty() { "The document".to_owned() } else { path };
        invalid(self.ruby, format!("{subject} {what}."))
    }
}

fn shown(value: Value) -> String {
    value.inspect().chars().take(60).collect()
}
