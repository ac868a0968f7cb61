//! `Elah::MediaTypes`: the media types of an API's responses and their formats, to choose one by an `Accept` header.

use elah_http::accept;
use magnus::r_hash::ForEach;
use magnus::value::ReprValue;
use magnus::{
    DataTypeFunctions, Error, Module, Object, RHash, RModule, RString, Ruby, Symbol, TypedData, Value, function, gc, method,
};

use crate::ruby::native_class;
use crate::ruby::receiver::{ExactClass, Receiver};

/// `Elah::MediaTypes`, to recognise its instances quickly.
pub(crate) static CLASS: ExactClass = ExactClass::new();

#[derive(TypedData)]
#[magnus(class = "Elah::MediaTypes", mark, free_immediately)]
pub(crate) struct MediaTypes {
    types: Vec<(Box<[u8]>, Value)>,
    /// A Symbol or nil.
    default: Value,
}

// SAFETY: Ruby moves the object between threads only with the GVL, under which every method runs.
unsafe impl Send for MediaTypes {}
// SAFETY: as above.
unsafe impl Sync for MediaTypes {}

impl DataTypeFunctions for MediaTypes {
    fn mark(&self, marker: &gc::Marker) {
        for (_, format) in &self.types {
            marker.mark(*format);
        }
        marker.mark(self.default);
    }
}

impl MediaTypes {
    /// `new(types, default)`: a Hash of media types and formats, and the default format, or nil.
    fn new(ruby: &Ruby, formats: RHash, default: Option<Symbol>) -> Result<Self, Error> {
        let mut types = Vec::with_capacity(formats.len());
        formats.foreach(|name: String, format: Symbol| {
            types.push((name.into_bytes().into_boxed_slice(), format.as_value()));
            Ok(ForEach::Continue)
        })?;
        Ok(MediaTypes { types, default: default.map_or_else(|| ruby.qnil().as_value(), ReprValue::as_value) })
    }

    /// The format that an `Accept` header prefers, else the default.
    pub(crate) fn format(&self, accept: Option<&[u8]>) -> Value {
        let find = |name: &[u8]| self.types.iter().find(|(known, _)| **known == *name).map(|(_, format)| *format);
        accept.and_then(|accept| accept::best(accept, find)).unwrap_or(self.default)
    }

    fn format_for(rb_self: Receiver<Self>, accept: Option<RString>) -> Value {
        // SAFETY: Ruby does not run while the header is borrowed.
        rb_self.format(accept.as_ref().map(|accept| unsafe { accept.as_slice() }))
    }
}

pub(crate) fn init(ruby: &Ruby, elah: RModule) -> Result<(), Error> {
    let class = native_class::define::<MediaTypes>(ruby, elah, "MediaTypes")?;
    CLASS.set(ruby, class);
    class.define_singleton_method("new", function!(MediaTypes::new, 2))?;
    class.define_method("format_for", method!(MediaTypes::format_for, 1))
}
