//! Answers on their way between workers: Arrays of nothing but texts become one String of bytes, which is read at once.
//!
//! Each text has its length in front (4, little endian).

use magnus::rb_sys::AsRawValue;
use magnus::{Error, RArray, RModule, RString, Ruby, Value, function};
use rb_sys::VALUE;

use crate::ruby::raising::{self, protect};
use crate::ruby::raw_objects::{entry, store};
use crate::ruby::utf8::{self, Text};
use crate::store::with_bytes;

/// Usual for an answer.
const TEXT_BYTES: usize = 128;

/// The texts as one String; nil when not everything is a text in UTF-8.
fn pack(ruby: &Ruby, answers: RArray) -> Option<RString> {
    let mut bytes = Vec::with_capacity(answers.len() * TEXT_BYTES);
    // SAFETY: the Array is an argument of the method, and nothing of Ruby runs while it is read.
    for answer in unsafe { answers.as_slice() } {
        let text = text(*answer)?;
        bytes.extend_from_slice(&u32::try_from(text.len()).ok()?.to_le_bytes());
        bytes.extend_from_slice(text.as_bytes());
    }
    Some(ruby.str_from_slice(&bytes))
}

fn text<'t>(answer: Value) -> Option<&'t str> {
    let string = RString::from_value(answer)?;
    // SAFETY: the String is in the Array, and nothing of Ruby runs while its text is read.
    match unsafe { utf8::text(string.as_raw()) } {
        Text::Utf8 { text, .. } if is_marked_as_utf8(string) => Some(text),
        _ => None,
    }
}

/// Bytes without an encoding are to come back as such.
fn is_marked_as_utf8(string: RString) -> bool {
    // SAFETY: a live String; neither call raises.
    unsafe { rb_sys::ENCODING_GET(string.as_raw()) == rb_sys::rb_utf8_encindex() }
}

/// What `pack` was given.
fn unpack(ruby: &Ruby, packed: RString) -> Result<RArray, Error> {
    let bytes = with_bytes(packed, <[u8]>::to_vec);
    let damaged = || Error::new(ruby.exception_arg_error(), "The answers of a message are damaged.");
    let mut texts = Vec::with_capacity(bytes.len() / TEXT_BYTES);
    let mut rest = &bytes[..];
    while !rest.is_empty() {
        let (length, others) = rest.split_first_chunk::<4>().ok_or_else(damaged)?;
        let (text, others) = others.split_at_checked(u32::from_le_bytes(*length) as usize).ok_or_else(damaged)?;
        texts.push(std::str::from_utf8(text).map_err(|_| damaged())?);
        rest = others;
    }
    let answers = ruby.ary_new_capa(texts.len());
    // Nothing that the closure holds has to be dropped when it raises.
    protect(|protected| {
        for text in &texts {
            // SAFETY: the Array is on this stack.
            unsafe {
                raising::rb_ary_push(protected, answers.as_raw(), utf8::raw_string(protected, text.as_bytes(), text.is_ascii()))
            };
        }
        rb_sys::Qnil as VALUE
    })?;
    Ok(answers)
}

/// Puts the answers to some of many calls in their places.
fn place(all: RArray, indexes: RArray, answers: RArray) -> Result<(), Error> {
    protect(|protected| {
        for place in 0..indexes.len() {
            // SAFETY: protected; all are arguments of the method. What is no index is none of an Array either, so it is left out.
            unsafe {
                let index = entry(protected, indexes.as_raw(), place);
                if rb_sys::FIXNUM_P(index) && (rb_sys::FIX2LONG(index) as usize) < all.len() {
                    store(protected, all.as_raw(), rb_sys::FIX2LONG(index) as usize, entry(protected, answers.as_raw(), place));
                }
            }
        }
        rb_sys::Qnil as VALUE
    })?;
    Ok(())
}

pub(super) fn init(shards: RModule) -> Result<(), Error> {
    shards.define_module_function("pack_answers", function!(pack, 1))?;
    shards.define_module_function("unpack_answers", function!(unpack, 1))?;
    shards.define_module_function("place_answers", function!(place, 3))
}
