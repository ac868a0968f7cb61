//! Replies between workers: an Array of texts only becomes one String of bytes, which is read in one step.
//!
//! Each text is preceded by its length (4, little endian).

use magnus::rb_sys::AsRawValue;
use magnus::{Error, RArray, RModule, RString, Ruby, Value, function};
use rb_sys::VALUE;

use crate::ruby::raising::{self, protect};
use crate::ruby::raw_objects::{entry, store};
use crate::ruby::utf8::{self, Text};
use crate::store::with_bytes;

/// The usual size of a reply.
const TEXT_BYTES: usize = 128;

/// The texts as one String; nil if anything is not UTF-8 text.
fn pack(ruby: &Ruby, replies: RArray) -> Option<RString> {
    let mut bytes = Vec::with_capacity(replies.len() * TEXT_BYTES);
    // SAFETY: the Array is an argument of the method, and nothing of Ruby runs while it is read.
    for reply in unsafe { replies.as_slice() } {
        let text = text(*reply)?;
        bytes.extend_from_slice(&u32::try_from(text.len()).ok()?.to_le_bytes());
        bytes.extend_from_slice(text.as_bytes());
    }
    Some(ruby.str_from_slice(&bytes))
}

fn text<'t>(reply: Value) -> Option<&'t str> {
    let string = RString::from_value(reply)?;
    // SAFETY: the String is in the Array, and nothing of Ruby runs while its text is read.
    match unsafe { utf8::text(string.as_raw()) } {
        Text::Utf8 { text, .. } if is_marked_as_utf8(string) => Some(text),
        _ => None,
    }
}

/// Bytes without an encoding must come back as such.
fn is_marked_as_utf8(string: RString) -> bool {
    // SAFETY: a live String; neither call raises.
    unsafe { rb_sys::ENCODING_GET(string.as_raw()) == rb_sys::rb_utf8_encindex() }
}

/// The Array that was passed to `pack`.
fn unpack(ruby: &Ruby, packed: RString) -> Result<RArray, Error> {
    let bytes = with_bytes(packed, <[u8]>::to_vec);
    let damaged = || Error::new(ruby.exception_arg_error(), "The replies of a message are damaged.");
    let mut texts = Vec::with_capacity(bytes.len() / TEXT_BYTES);
    let mut rest = &bytes[..];
    while !rest.is_empty() {
        let (length, others) = rest.split_first_chunk::<4>().ok_or_else(damaged)?;
        let (text, others) = others.split_at_checked(u32::from_le_bytes(*length) as usize).ok_or_else(damaged)?;
        texts.push(std::str::from_utf8(text).map_err(|_| damaged())?);
        rest = others;
    }
    let replies = ruby.ary_new_capa(texts.len());
    // Nothing that the closure holds needs a drop when it raises.
    protect(|protected| {
        for text in &texts {
            // SAFETY: the Array is on this stack.
            unsafe {
                raising::rb_ary_push(protected, replies.as_raw(), utf8::raw_string(protected, text.as_bytes(), text.is_ascii()))
            };
        }
        rb_sys::Qnil as VALUE
    })?;
    Ok(replies)
}

/// Stores the replies to some of many calls at their positions.
fn place(all: RArray, indexes: RArray, replies: RArray) -> Result<(), Error> {
    protect(|protected| {
        for place in 0..indexes.len() {
            // SAFETY: protected; all are arguments of the method. What is no index is none of an Array either, so it is left out.
            unsafe {
                let index = entry(protected, indexes.as_raw(), place);
                if rb_sys::FIXNUM_P(index) && (rb_sys::FIX2LONG(index) as usize) < all.len() {
                    store(protected, all.as_raw(), rb_sys::FIX2LONG(index) as usize, entry(protected, replies.as_raw(), place));
                }
            }
        }
        rb_sys::Qnil as VALUE
    })?;
    Ok(())
}

pub(super) fn init(shards: RModule) -> Result<(), Error> {
    shards.define_module_function("pack_replies", function!(pack, 1))?;
    shards.define_module_function("unpack_replies", function!(unpack, 1))?;
    shards.define_module_function("place_replies", function!(place, 3))
}
