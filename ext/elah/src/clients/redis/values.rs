//! Replies as Ruby objects: binary Strings, Integers, Floats, true, false, nil, Arrays and Hashes.

use elah_clients::redis::{Item, Name, Refusal, Replies};
use magnus::value::ReprValue;
use magnus::{Error, RArray, Ruby, Value};

use super::errors::refused;

/// The deepest nesting; Redis sends nothing deeper.
const DEPTH_MAX: usize = 64;

/// Reads the reply to one command.
pub(super) struct Reader<'a> {
    pub(super) ruby: &'a Ruby,
    pub(super) server: &'a str,
    pub(super) name: Name,
}

impl Reader<'_> {
    /// The reply; a refusal is raised.
    pub(super) fn top(&self, replies: &mut Replies) -> Result<Value, Error> {
        match replies.next_item() {
            Item::Text(text) => Ok(self.ruby.str_from_slice(text).as_value()),
            Item::Refusal(line) => Err(self.refusal(line)),
            Item::Array(len) => self.array(replies, len, DEPTH_MAX),
            Item::Map(pairs) => self.map(replies, pairs, DEPTH_MAX),
            item => self.leaf(&item),
        }
    }

    /// A reply among others; a refusal is an exception in its place.
    fn nested(&self, replies: &mut Replies, depth_left: usize) -> Result<Value, Error> {
        match replies.next_item() {
            Item::Refusal(line) => Ok(self.refusal(line).exception_value(self.ruby)),
            Item::Array(len) => self.array(replies, len, depth_left),
            Item::Map(pairs) => self.map(replies, pairs, depth_left),
            item => self.leaf(&item),
        }
    }

    fn leaf(&self, item: &Item<'_>) -> Result<Value, Error> {
        let ruby = self.ruby;
        Ok(match item {
            Item::Text(text) => ruby.str_from_slice(text).as_value(),
            Item::Integer(number) => ruby.integer_from_i64(*number).as_value(),
            Item::BigInteger(digits) => ruby.str_from_slice(digits).funcall("to_i", ())?,
            Item::Float(number) => ruby.float_from_f64(*number).as_value(),
            Item::Boolean(truth) => {
                if *truth {
                    ruby.qtrue().as_value()
                } else {
                    ruby.qfalse().as_value()
                }
            }
            _ => ruby.qnil().as_value(),
        })
    }

    fn array(&self, replies: &mut Replies, len: usize, depth_left: usize) -> Result<Value, Error> {
        let depth_left = self.deeper(depth_left)?;
        let array = self.ruby.ary_new_capa(len);
        for _ in 0..len {
            array.push(self.nested(replies, depth_left)?)?;
        }
        Ok(array.as_value())
    }

    fn map(&self, replies: &mut Replies, pairs: usize, depth_left: usize) -> Result<Value, Error> {
        let depth_left = self.deeper(depth_left)?;
        let hash = self.ruby.hash_new();
        for _ in 0..pairs {
            let key = self.nested(replies, depth_left)?;
            hash.aset(key, self.nested(replies, depth_left)?)?;
        }
        Ok(hash.as_value())
    }

    fn deeper(&self, depth_left: usize) -> Result<usize, Error> {
        depth_left.checked_sub(1).ok_or_else(|| self.refusal(b"ERR The reply is nested too deeply"))
    }

    fn refusal(&self, line: &[u8]) -> Error {
        refused(self.ruby, self.server, self.name, &Refusal::new(line))
    }
}

/// The replies to several commands.
pub(super) fn each(ruby: &Ruby, server: &str, names: &[Name], replies: &mut Replies) -> Result<RArray, Error> {
    let array = ruby.ary_new_capa(names.len());
    for name in names {
        array.push(Reader { ruby, server, name: *name }.nested(replies, DEPTH_MAX)?)?;
    }
    Ok(array)
}

trait ExceptionValue {
    /// The exception itself; nil for a jump, which a refusal never is.
    fn exception_value(&self, ruby: &Ruby) -> Value;
}

impl ExceptionValue for Error {
    fn exception_value(&self, ruby: &Ruby) -> Value {
        self.value().unwrap_or_else(|| ruby.qnil().as_value())
    }
}
