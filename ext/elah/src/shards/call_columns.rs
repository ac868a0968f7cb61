//! `Elah::Shards::CallColumns`: many calls of one method, as columns of keys and texts: none of them is an object of Ruby. See
//! `lib/elah/entity/call_columns.rb`.

mod packed;

use std::cell::RefCell;
use std::ops::RangeInclusive;

use magnus::encoding::EncodingCapable;
use magnus::rb_sys::{AsRawValue, FromRawValue, protect};
use magnus::value::ReprValue;
use magnus::{
    DataTypeFunctions, Error, Module, Object, RArray, RHash, RModule, RString, Ruby, Symbol, TryConvert, TypedData, Value,
    function, gc, method,
};
use rb_sys::VALUE;

use super::answers::is_marked_as_utf8;
use super::shard_of_bytes;
use crate::native_class;
use crate::receiver::{ExactClass, Receiver};
use crate::store::with_bytes;
use crate::utf8::{self, Text};

/// `Elah::Shards::CallColumns`, to know its instances at a glance.
pub(crate) static CLASS: ExactClass = ExactClass::new();

/// Of one call.
const TEXTS_MAX: usize = 4;
/// Of a key.
const KEY_BYTES: RangeInclusive<usize> = 1..=255;

#[derive(TypedData)]
#[magnus(class = "Elah::Shards::CallColumns", mark, free_immediately)]
pub(crate) struct CallColumns {
    /// A Symbol.
    pub(super) method: VALUE,
    /// How many texts a call has.
    pub(super) width: usize,
    /// An Array: what follows the texts in every call.
    pub(super) shared: VALUE,
    columns: RefCell<Columns>,
}

#[derive(Default)]
struct Columns {
    /// Frozen Strings.
    keys: Vec<VALUE>,
    texts: Vec<u8>,
    /// Where each text ends, and whether there is one; those of a call stand together.
    ends: Vec<(u32, bool)>,
}

// SAFETY: Ruby moves the object between threads only with the GVL, under which every method runs.
unsafe impl Sync for CallColumns {}

impl DataTypeFunctions for CallColumns {
    fn mark(&self, marker: &gc::Marker) {
        marker.mark(alive(self.method));
        marker.mark(alive(self.shared));
        // Nothing of Ruby runs while they are borrowed to be changed.
        if let Ok(columns) = self.columns.try_borrow() {
            columns.keys.iter().for_each(|key| marker.mark(alive(*key)));
        }
    }
}

/// A value that a `CallColumns` keeps alive.
fn alive(value: VALUE) -> Value {
    // SAFETY: the object that holds it marks it.
    unsafe { Value::from_raw(value) }
}

type This = Receiver<CallColumns>;

impl Columns {
    fn text(&self, place: usize) -> Option<&[u8]> {
        let &(end, is_there) = self.ends.get(place)?;
        let start = place.checked_sub(1).map_or(0, |before| self.ends[before].0);
        is_there.then(|| &self.texts[start as usize..end as usize])
    }

    /// Adds a call, if its texts have room: no more than a message between workers could hold.
    fn push<'t>(&mut self, key: VALUE, texts: impl Iterator<Item = Option<&'t [u8]>> + Clone) -> bool {
        let bytes: usize = texts.clone().map(|text| text.map_or(0, <[u8]>::len)).sum();
        if self.texts.len() + bytes > u32::MAX as usize {
            return false;
        }
        for text in texts {
            self.texts.extend_from_slice(text.unwrap_or_default());
            self.ends.push((self.texts.len() as u32, text.is_some()));
        }
        self.keys.push(key);
        true
    }
}

impl CallColumns {
    fn new(ruby: &Ruby, method: Symbol, width: usize, shared: RArray) -> Result<Self, Error> {
        if width > TEXTS_MAX {
            return Err(Error::new(ruby.exception_arg_error(), format!("A call has at most {TEXTS_MAX} texts, not {width}.")));
        }
        Ok(CallColumns { method: method.as_raw(), width, shared: shared.as_raw(), columns: RefCell::default() })
    }

    /// Columns for other calls of the same kind.
    fn of_same_kind(&self) -> Self {
        CallColumns { method: self.method, width: self.width, shared: self.shared, columns: RefCell::default() }
    }

    /// Adds a call that has no text but the last.
    ///
    /// # Safety
    /// `key` is a frozen String of 1 to 255 bytes, which is kept alive until this object's is, and the text is UTF-8.
    pub(crate) unsafe fn push_plain(&self, key: VALUE, text: &[u8]) -> bool {
        let Some(missing) = self.width.checked_sub(1) else { return false };
        let texts = std::iter::repeat_n(None, missing).chain(std::iter::once(Some(text)));
        self.columns.try_borrow_mut().is_ok_and(|mut columns| columns.push(key, texts))
    }

    fn add(ruby: &Ruby, this: This, arguments: &[Value]) -> Result<(), Error> {
        let Some((key, texts)) = arguments.split_first().filter(|(_, texts)| texts.len() == this.width) else {
            let message = format!("A call has a key and {} texts, not {} arguments.", this.width, arguments.len());
            return Err(Error::new(ruby.exception_arg_error(), message));
        };
        let key = frozen_key(ruby, *key)?;
        let texts = texts.iter().map(|text| text_of(ruby, *text)).collect::<Result<Vec<_>, _>>()?;
        if this.columns.borrow_mut().push(key.as_raw(), texts.iter().copied()) {
            return Ok(());
        }
        Err(Error::new(ruby.exception_arg_error(), "The texts of all calls are longer than 4 GiB."))
    }

    fn size(&self) -> usize {
        self.columns.borrow().keys.len()
    }

    fn name(this: This) -> Value {
        alive(this.method)
    }

    fn width(&self) -> usize {
        self.width
    }

    fn shared(this: This) -> Value {
        alive(this.shared)
    }

    fn key_at(this: This, index: usize) -> Option<Value> {
        this.key(index).map(alive)
    }

    /// A call as an Array: its key, its method and its arguments; nil after the last.
    fn call(ruby: &Ruby, this: This, index: usize) -> Result<Option<RArray>, Error> {
        let Some(key) = this.key(index) else { return Ok(None) };
        let call = ruby.ary_new_capa(this.width + 3);
        call.push(alive(key))?;
        call.push(alive(this.method))?;
        for column in 0..this.width {
            // SAFETY: protected; Ruby made the String.
            let text = protect(|| unsafe { this.string(index, column) })?;
            call.push(unsafe { Value::from_raw(text) })?;
        }
        call.concat(RArray::try_convert(alive(this.shared))?)?;
        Ok(Some(call))
    }

    /// Some of the calls, in the order of their indexes.
    fn values_at(ruby: &Ruby, this: This, indexes: &[Value]) -> Result<Self, Error> {
        let part = this.of_same_kind();
        let columns = this.columns.borrow();
        for index in indexes {
            let index = usize::try_convert(*index)?;
            let key = columns.keys.get(index).copied().ok_or_else(|| {
                Error::new(ruby.exception_index_error(), format!("There are {} calls, and none at {index}.", columns.keys.len()))
            })?;
            let texts = (index * this.width..(index + 1) * this.width).map(|place| columns.text(place));
            part.columns.borrow_mut().push(key, texts);
        }
        Ok(part)
    }

    /// Adds the index of each call from `from` on to the Array that `ways` has for the carrier of its shard. Ends at the first call whose
    /// shard `carriers` does not know, and gives its index.
    fn sort_out(ruby: &Ruby, this: This, carriers: RHash, shards: u32, ways: RHash, from: usize) -> Result<usize, Error> {
        let mut found: Vec<(VALUE, RArray)> = Vec::new();
        let mut index = from;
        while let Some(key) = this.key(index).and_then(|key| RString::from_value(alive(key))) {
            let shard = with_bytes(key, |key| shard_of_bytes(key, shards));
            let Some(carrier) = carriers.get(ruby.integer_from_u64(shard.into())) else { break };
            let known = found.iter().find(|(known, _)| *known == carrier.as_raw());
            let way = match known {
                Some((_, way)) => *way,
                None => {
                    let way = ways.lookup2(carrier, ())?;
                    let way = RArray::from_value(way).unwrap_or_else(|| ruby.ary_new());
                    ways.aset(carrier, way)?;
                    found.push((carrier.as_raw(), way));
                    way
                }
            };
            way.push(index)?;
            index += 1;
        }
        Ok(index)
    }

    /// The key of a call.
    pub(super) fn key(&self, index: usize) -> Option<VALUE> {
        self.columns.try_borrow().ok()?.keys.get(index).copied()
    }

    /// Does something with the last text of a call that has no other.
    pub(super) fn with_plain<R>(&self, index: usize, work: impl FnOnce(&[u8]) -> R) -> Option<R> {
        let columns = self.columns.try_borrow().ok()?;
        let last = index * self.width + self.width.checked_sub(1)?;
        let is_plain = (index * self.width..last).all(|place| columns.text(place).is_none());
        columns.text(last).filter(|_| is_plain).map(work)
    }

    /// A text of a call as a String, or nil.
    ///
    /// # Safety
    /// Under `protect`.
    pub(super) unsafe fn string(&self, index: usize, column: usize) -> VALUE {
        let text = self.columns.try_borrow().ok().and_then(|columns| {
            let text = columns.text(index * self.width + column)?;
            Some((text.as_ptr(), text.len()))
        });
        let Some((start, length)) = text else { return rb_sys::Qnil as VALUE };
        // SAFETY: nothing is borrowed when Ruby raises, and nothing but its collector runs while it copies the text.
        unsafe {
            let text = std::slice::from_raw_parts(start, length);
            utf8::raw_string(text, text.is_ascii())
        }
    }
}

fn frozen_key(ruby: &Ruby, key: Value) -> Result<RString, Error> {
    let key = RString::from_value(key)
        .filter(|key| with_bytes(*key, |key| KEY_BYTES.contains(&key.len())))
        .ok_or_else(|| Error::new(ruby.exception_arg_error(), "The key of an entity must be a String of 1 to 255 bytes."))?;
    // A message has room for these alone.
    let is_plain = is_marked_as_utf8(key) || with_bytes(key, <[u8]>::is_ascii) || key.enc_get() == ruby.ascii8bit_encindex();
    if !is_plain {
        return Err(Error::new(ruby.exception_arg_error(), "The key of a call must be UTF-8 or without an encoding."));
    }
    Ok(RString::new_frozen(key))
}

/// The text of an argument, or nothing for nil.
fn text_of<'t>(ruby: &Ruby, value: Value) -> Result<Option<&'t [u8]>, Error> {
    if value.is_nil() {
        return Ok(None);
    }
    let Some(string) = RString::from_value(value) else {
        return Err(Error::new(ruby.exception_type_error(), format!("A text is a String or nil, not {}.", value.class())));
    };
    // SAFETY: the String is an argument of the method, and its text is copied before Ruby runs again.
    match unsafe { utf8::text(string.as_raw()) } {
        Text::Utf8 { text, .. } => Ok(Some(text.as_bytes())),
        Text::Foreign | Text::Broken => Err(Error::new(ruby.exception_arg_error(), "A text of a call must be valid UTF-8.")),
    }
}

pub(super) fn init(ruby: &Ruby, shards: RModule) -> Result<(), Error> {
    let class = native_class::define::<CallColumns>(ruby, shards, "CallColumns")?;
    CLASS.set(ruby, class);
    class.define_singleton_method("open", function!(CallColumns::new, 3))?;
    class.define_singleton_method("unpack", function!(packed::unpack, 4))?;
    class.define_method("add", method!(CallColumns::add, -1))?;
    class.define_method("size", method!(CallColumns::size, 0))?;
    class.define_method("name", method!(CallColumns::name, 0))?;
    class.define_method("width", method!(CallColumns::width, 0))?;
    class.define_method("shared", method!(CallColumns::shared, 0))?;
    class.define_method("key", method!(CallColumns::key_at, 1))?;
    class.define_method("[]", method!(CallColumns::call, 1))?;
    class.define_method("values_at", method!(CallColumns::values_at, -1))?;
    class.define_method("sort_out", method!(CallColumns::sort_out, 4))?;
    class.define_method("pack", method!(packed::pack, 0))
}
