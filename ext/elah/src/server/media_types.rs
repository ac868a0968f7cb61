//! `Elah::MediaTypes`: the media types of an API's responses and what stands for each, to choose one by an `Accept` header.

use elah_http::accept;
use magnus::r_hash::ForEach;
use magnus::{DataTypeFunctions, Error, Module, Object, RHash, RModule, RString, Ruby, TypedData, Value, function, gc, method};

use crate::ruby::native_class;
use crate::ruby::receiver::{ExactClass, Receiver};

/// `Elah::MediaTypes`, to recognise its instances quickly.
pub(crate) static CLASS: ExactClass = ExactClass::new();

#[derive(TypedData)]
#[magnus(class = "Elah::MediaTypes", mark, free_immediately)]
pub(crate) struct MediaTypes {
    types: Vec<(Box<[u8]>, Value)>,
    /// Nil when there is none.
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
    /// `new(types, default)`: a Hash of media types and objects, and the default object, or nil.
    fn new(formats: RHash, default: Value) -> Result<Self, Error> {
        let mut types = Vec::with_capacity(formats.len());
        formats.foreach(|name: String, format: Value| {
            types.push((name.into_bytes().into_boxed_slice(), format));
            Ok(ForEach::Continue)
        })?;
        Ok(MediaTypes { types, default })
    }

    /// The object of the media type that an `Accept` header prefers, else the default.
    pub(crate) fn format(&self, accept: Option<&[u8]>) -> Value {
        let find = |name: &[u8]| self.types.iter().find(|(known, _)| **known == *name).map(|(_, format)| *format);
        match accept {
            // Most clients send one of these.
            None | Some(b"*/*") => self.default,
            Some(accept) => accept::best(accept, find).unwrap_or(self.default),
        }
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
