//! `Elah::JSON::Rows::Beginnings`: what the texts of rows may begin with, and whose calls they are then.

use std::cell::RefCell;

use magnus::rb_sys::{AsRawValue, FromRawValue};
use magnus::{DataTypeFunctions, Error, Module, Object, RClass, RString, Ruby, TypedData, Value, function, gc, method};
use rb_sys::VALUE;
use rustc_hash::FxHashMap;

use crate::native_class;
use crate::receiver::Receiver;
use crate::store::with_bytes;

#[derive(TypedData)]
#[magnus(class = "Elah::JSON::Rows::Beginnings", mark, free_immediately)]
pub(super) struct Beginnings {
    by_number: RefCell<FxHashMap<u64, Beginning>>,
}

struct Beginning {
    text: Box<str>,
    /// A frozen String.
    key: VALUE,
}

// SAFETY: Ruby moves the object between threads only with the GVL, under which every method runs.
unsafe impl Sync for Beginnings {}

impl DataTypeFunctions for Beginnings {
    fn mark(&self, marker: &gc::Marker) {
        // Nothing of Ruby runs while it is borrowed to be changed.
        if let Ok(by_number) = self.by_number.try_borrow() {
            for Beginning { key, .. } in by_number.values() {
                // SAFETY: it is kept alive by this very mark.
                marker.mark(unsafe { Value::from_raw(*key) });
            }
        }
    }
}

impl Beginnings {
    fn new() -> Self {
        Beginnings { by_number: RefCell::default() }
    }

    fn add(ruby: &Ruby, this: Receiver<Self>, number: u64, text: String, key: RString) -> Result<(), Error> {
        if !with_bytes(key, |key| (1..=255).contains(&key.len())) {
            return Err(Error::new(ruby.exception_arg_error(), "The key of a call must be a String of 1 to 255 bytes."));
        }
        let beginning = Beginning { text: text.into(), key: RString::new_frozen(key).as_raw() };
        this.by_number.borrow_mut().insert(number, beginning);
        Ok(())
    }

    /// The key for a text that begins with a number and as is known for it, and what follows.
    pub(super) fn find<'t>(&self, number: u64, text: &'t [u8]) -> Option<(VALUE, &'t [u8])> {
        let by_number = self.by_number.try_borrow().ok()?;
        let beginning = by_number.get(&number)?;
        Some((beginning.key, text.strip_prefix(beginning.text.as_bytes())?))
    }
}

pub(super) fn init(ruby: &Ruby, rows: RClass) -> Result<(), Error> {
    let class = native_class::define::<Beginnings>(ruby, rows, "Beginnings")?;
    class.define_singleton_method("new", function!(Beginnings::new, 0))?;
    class.define_method("add", method!(Beginnings::add, 3))
}
