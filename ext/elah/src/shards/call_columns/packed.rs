//! Columns of calls as bytes, for another worker: the number of calls (4), then for each its key (length 1, whether it is UTF-8 1) and its
//! texts (length 4, `MISSING` for none), all little endian.

use magnus::rb_sys::protect;
use magnus::typed_data::Obj;
use magnus::{Error, RArray, RString, Ruby, Symbol};
use rb_sys::VALUE;

use super::{CallColumns, KEY_BYTES, TEXTS_MAX, This, alive};
use crate::shards::answers::is_marked_as_utf8;
use crate::store::with_bytes;

/// The length of a text that there is not.
const MISSING: u32 = u32::MAX;

pub(super) fn pack(ruby: &Ruby, this: This) -> RString {
    let columns = this.columns.borrow();
    let mut bytes = Vec::with_capacity(4 + columns.texts.len() + 4 * columns.ends.len() + 16 * columns.keys.len());
    bytes.extend_from_slice(&(columns.keys.len() as u32).to_le_bytes());
    for (index, key) in columns.keys.iter().enumerate() {
        if let Some(key) = RString::from_value(alive(*key)) {
            let is_marked = is_marked_as_utf8(key);
            with_bytes(key, |key| {
                let is_utf8 = is_marked || key.is_ascii();
                bytes.extend_from_slice(&[key.len() as u8, u8::from(is_utf8)]);
                bytes.extend_from_slice(key);
            });
        }
        for place in index * this.width..(index + 1) * this.width {
            let text = columns.text(place);
            bytes.extend_from_slice(&text.map_or(MISSING, |text| text.len() as u32).to_le_bytes());
            bytes.extend_from_slice(text.unwrap_or_default());
        }
    }
    ruby.str_from_slice(&bytes)
}

pub(super) fn unpack(
    ruby: &Ruby,
    method: Symbol,
    width: usize,
    shared: RArray,
    packed: RString,
) -> Result<Obj<CallColumns>, Error> {
    // An object of Ruby's from the beginning, so that its keys are kept alive.
    let columns = ruby.obj_wrap(CallColumns::new(ruby, method, width, shared)?);
    let bytes = with_bytes(packed, <[u8]>::to_vec);
    let damaged = || Error::new(ruby.exception_arg_error(), "The calls of a message are damaged.");
    let mut reader = Reader { rest: &bytes };
    let count = reader.length().ok_or_else(damaged)?;
    let calls = (0..count).map(|_| reader.call(width)).collect::<Option<Vec<_>>>().filter(|_| reader.rest.is_empty());
    let calls = calls.ok_or_else(damaged)?;
    // Nothing that the closure holds has to be dropped when it raises.
    protect(|| {
        for (key, texts) in &calls {
            // SAFETY: protected; the columns keep the new String alive, before another is made.
            let key = unsafe { key.frozen() };
            if let Ok(mut columns) = columns.columns.try_borrow_mut() {
                columns.push(key, texts.iter().take(width).copied());
            }
        }
        rb_sys::Qnil as VALUE
    })?;
    Ok(columns)
}

/// A key of a message.
struct Key<'b> {
    bytes: &'b [u8],
    is_utf8: bool,
}

impl Key<'_> {
    /// # Safety
    /// Under `protect`.
    unsafe fn frozen(&self) -> VALUE {
        let (start, length) = (self.bytes.as_ptr().cast(), self.bytes.len() as _);
        // SAFETY: pointer and length are those of a slice, which Ruby copies.
        unsafe {
            let new = if self.is_utf8 { rb_sys::rb_utf8_str_new(start, length) } else { rb_sys::rb_str_new(start, length) };
            rb_sys::rb_obj_freeze(new)
        }
    }
}

/// Of one call; those behind its own are missing.
type Texts<'b> = [Option<&'b [u8]>; TEXTS_MAX];

struct Reader<'b> {
    rest: &'b [u8],
}

impl<'b> Reader<'b> {
    fn length(&mut self) -> Option<u32> {
        let (length, rest) = self.rest.split_first_chunk::<4>()?;
        self.rest = rest;
        Some(u32::from_le_bytes(*length))
    }

    fn bytes(&mut self, length: usize) -> Option<&'b [u8]> {
        let (bytes, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(bytes)
    }

    fn text(&mut self) -> Option<Option<&'b [u8]>> {
        match self.length()? {
            MISSING => Some(None),
            length => Some(Some(self.bytes(length as usize).filter(|text| std::str::from_utf8(text).is_ok())?)),
        }
    }

    fn call(&mut self, width: usize) -> Option<(Key<'b>, Texts<'b>)> {
        let [length, is_utf8] = *self.bytes(2)?.first_chunk()?;
        let bytes = self.bytes(usize::from(length)).filter(|key| KEY_BYTES.contains(&key.len()))?;
        let mut texts = [None; TEXTS_MAX];
        for text in texts.iter_mut().take(width) {
            *text = self.text()?;
        }
        Some((Key { bytes, is_utf8: is_utf8 != 0 }, texts))
    }
}
