//! BSON as Ruby values: documents as Hashes with String keys, without an intermediate tree.
//!
//! A whole document is built under one `protect`; nothing between it and Ruby's functions needs a drop.

use arrayvec::ArrayString;
use elah_clients::mongo::decimal_to_text;
use magnus::rb_sys::FromRawValue;
use magnus::{Error, RArray, Ruby, TryConvert, Value};
use rb_sys::VALUE;

use super::object_id;
use crate::ruby::errors::class;
use crate::ruby::raising::{self, Protected, protect};
use crate::ruby::{raw_objects, utf8};

const DEPTH_MAX: usize = 200;
/// The value for "in UTC" of `rb_time_timespec_new`.
const UTC: i32 = i32::MAX - 1;

type Read<T> = Result<T, &'static str>;

/// The Hash of a document.
pub(super) fn document(ruby: &Ruby, bytes: &[u8]) -> Result<Value, Error> {
    read(ruby, |reader| reader.document(DEPTH_MAX), bytes)
}

/// The Array of the bytes of a BSON array.
pub(super) fn array(ruby: &Ruby, bytes: &[u8]) -> Result<RArray, Error> {
    read(ruby, |reader| reader.array(DEPTH_MAX), bytes).and_then(RArray::try_convert)
}

fn read(ruby: &Ruby, read: impl FnOnce(&mut Reader<'_, '_>) -> Read<VALUE>, bytes: &[u8]) -> Result<Value, Error> {
    let unreadable = |reason: &str| {
        Error::new(class(ruby, "Mongo::InvalidReply"), format!("A document of the server cannot be read: {reason}."))
    };
    let mut result = Err("nothing was read");
    let value = protect(|protected| {
        result = read(&mut Reader { protected, rest: bytes });
        result.unwrap_or(rb_sys::Qnil as VALUE)
    });
    let value = value.map_err(|error| match error.is_kind_of(ruby.exception_regexp_error()) {
        true => unreadable("it has a regular expression that Ruby cannot read"),
        false => error,
    })?;
    match result {
        // SAFETY: Ruby made it, and it has been on this stack since.
        Ok(_) => Ok(unsafe { Value::from_raw(value) }),
        Err(reason) => Err(unreadable(reason)),
    }
}

struct Reader<'b, 'p> {
    protected: Protected<'p>,
    rest: &'b [u8],
}

impl<'b, 'p> Reader<'b, 'p> {
    fn take(&mut self, length: usize) -> Read<&'b [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or("it ends too early")?;
        self.rest = rest;
        Ok(taken)
    }

    fn bytes<const N: usize>(&mut self) -> Read<[u8; N]> {
        self.take(N)?.try_into().map_err(|_| "it ends too early")
    }

    fn length(&mut self) -> Read<usize> {
        usize::try_from(i32::from_le_bytes(self.bytes()?)).map_err(|_| "a length is negative")
    }

    /// Bytes up to a NUL, which is skipped.
    fn name(&mut self) -> Read<&'b [u8]> {
        let end = memchr::memchr(0, self.rest).ok_or("a name has no end")?;
        let name = self.take(end)?;
        self.take(1)?;
        Ok(name)
    }

    /// The elements of the document that begins here.
    fn inside(&mut self) -> Read<Reader<'b, 'p>> {
        let length = self.length()?;
        let inside = self.take(length.checked_sub(4).ok_or("a length is too small")?)?;
        match inside.split_last() {
            Some((0, elements)) => Ok(Reader { protected: self.protected, rest: elements }),
            _ => Err("a document has no end"),
        }
    }

    fn document(&mut self, depth: usize) -> Read<VALUE> {
        let mut inside = self.inside()?;
        // SAFETY: it has no arguments.
        let hash = unsafe { raising::rb_hash_new(self.protected) };
        while !inside.rest.is_empty() {
            let kind = inside.bytes::<1>()?[0];
            let name = std::str::from_utf8(inside.name()?).map_err(|_| "a name is not UTF-8")?;
            let value = inside.value(kind, depth)?;
            // SAFETY: name and value are on this stack until the Hash has them.
            unsafe { raising::rb_hash_aset(self.protected, hash, utf8::raw_interned(self.protected, name), value) };
        }
        Ok(hash)
    }

    fn array(&mut self, depth: usize) -> Read<VALUE> {
        let mut inside = self.inside()?;
        let array = raw_objects::array(self.protected);
        while !inside.rest.is_empty() {
            let kind = inside.bytes::<1>()?[0];
            inside.name()?;
            let value = inside.value(kind, depth)?;
            // SAFETY: array and value are on this stack.
            unsafe { raising::rb_ary_push(self.protected, array, value) };
        }
        Ok(array)
    }

    fn value(&mut self, kind: u8, depth: usize) -> Read<VALUE> {
        let nested = || depth.checked_sub(1).ok_or("it is nested too deep");
        // SAFETY: every value is returned at once.
        unsafe {
            Ok(match kind {
                0x01 => raising::rb_float_new(self.protected, f64::from_le_bytes(self.bytes()?)),
                0x02 | 0x0D | 0x0E => self.string()?,
                0x03 => self.document(nested()?)?,
                0x04 => self.array(nested()?)?,
                0x05 => self.binary()?,
                0x06 | 0x0A => rb_sys::Qnil as VALUE,
                0x07 => object_id::raw(self.protected, &self.bytes()?),
                0x08 => (if self.bytes::<1>()?[0] == 0 { rb_sys::Qfalse } else { rb_sys::Qtrue }) as VALUE,
                0x09 => {
                    let milliseconds = i64::from_le_bytes(self.bytes()?);
                    let nanoseconds = milliseconds.rem_euclid(1000) * 1_000_000;
                    let time = rb_sys::timespec { tv_sec: milliseconds.div_euclid(1000), tv_nsec: nanoseconds };
                    raising::rb_time_timespec_new(self.protected, &raw const time, UTC)
                }
                0x0B => self.regexp()?,
                0x10 => rb_sys::LONG2NUM(i32::from_le_bytes(self.bytes()?).into()),
                0x11 => raising::rb_ull2inum(self.protected, u64::from_le_bytes(self.bytes()?)),
                0x12 => raising::rb_ll2inum(self.protected, i64::from_le_bytes(self.bytes()?)),
                0x13 => decimal(self.protected, self.bytes()?),
                0xFF | 0x7F => return Err("it has a MinKey or MaxKey, which have no form in Ruby"),
                0x0C | 0x0F => return Err("it has a DBPointer or code with a scope, which have no form in Ruby"),
                _ => return Err("it has an element of an unknown kind"),
            })
        }
    }

    fn string(&mut self) -> Read<VALUE> {
        let length = self.length()?;
        let bytes = self.take(length)?;
        let Some((0, text)) = bytes.split_last() else { return Err("a text has no end") };
        let text = std::str::from_utf8(text).map_err(|_| "a text is not UTF-8")?;
        Ok(utf8::raw_string(self.protected, text.as_bytes(), text.is_ascii()))
    }

    fn binary(&mut self) -> Read<VALUE> {
        let length = self.length()?;
        let subtype = self.bytes::<1>()?[0];
        let bytes = self.take(length)?;
        // The old form repeats the length inside.
        let bytes = if subtype == 2 { bytes.get(4..).ok_or("bytes end too early")? } else { bytes };
        Ok(raw_objects::string(self.protected, bytes))
    }

    fn regexp(&mut self) -> Read<VALUE> {
        let source = std::str::from_utf8(self.name()?).map_err(|_| "a pattern is not UTF-8")?;
        let options = self.name()?;
        let bits = [(b'i', 1), (b'x', 2), (b's', 4)];
        let options = bits.iter().filter(|(letter, _)| options.contains(letter)).map(|(_, bit)| bit).sum();
        // SAFETY: a String on this stack. `protect` also catches what Ruby says of a pattern that it cannot read.
        Ok(unsafe {
            raising::rb_reg_new_str(
                self.protected,
                utf8::raw_string(self.protected, source.as_bytes(), source.is_ascii()),
                options,
            )
        })
    }
}

/// A BigDecimal.
fn decimal(protected: Protected<'_>, bytes: [u8; 16]) -> VALUE {
    // The text of a Decimal128 has 34 digits, a sign, a point and an exponent of 4 digits at most, and in plain form 6 zeros more.
    let text: ArrayString<64> = ArrayString::from(&decimal_to_text(bytes)).unwrap_or_default();
    // SAFETY: the String is on the stack during the call.
    unsafe {
        raising::rb_require(protected, c"bigdecimal".as_ptr());
        let string = utf8::raw_string(protected, text.as_bytes(), true);
        raising::rb_funcallv(
            protected,
            rb_sys::rb_mKernel,
            raising::rb_intern(protected, c"BigDecimal".as_ptr()),
            1,
            &raw const string,
        )
    }
}
