//! The keys of request headers in a Rack environment: `accept-encoding` is `HTTP_ACCEPT_ENCODING`.

use std::cell::RefCell;
use std::collections::HashMap;

use magnus::rb_sys::FromRawValue;
use magnus::{Value, gc};
use rb_sys::VALUE;
use rustc_hash::FxHashMap;

use crate::ruby::raising::Protected;
use crate::ruby::raw_objects::{append, interned, text};

/// Cached keys. Clients choose header names, so other keys are made for each request.
const KEYS_MAX: usize = 512;

/// Bytes of a name that are converted to a key at a time.
const CHUNK_BYTES: usize = 64;

/// The place of a header in the environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Under this frozen String.
    Key(VALUE),
    /// Nowhere: the name would overwrite another header, or a value of the server.
    Nowhere,
}

/// Header names with their places, each found once.
#[derive(Debug, Default)]
pub(crate) struct HeaderKeys {
    places: RefCell<FxHashMap<Box<str>, Place>>,
}

impl HeaderKeys {
    pub(crate) fn new() -> Self {
        HeaderKeys { places: RefCell::new(HashMap::default()) }
    }

    /// The place of the header `name`, in lower case.
    pub(crate) fn place(&self, protected: Protected<'_>, name: &str) -> Place {
        let known = self.places.borrow().get(name).copied();
        if let Some(place) = known {
            return place;
        }
        let place = if is_ambiguous(name) { Place::Nowhere } else { Place::Key(key(protected, name)) };
        let mut places = self.places.borrow_mut();
        if places.len() < KEYS_MAX {
            places.insert(name.into(), place);
        }
        place
    }

    pub(crate) fn mark(&self, marker: &gc::Marker) {
        for place in self.places.borrow().values() {
            if let Place::Key(key) = place {
                // SAFETY: a String that this table has kept alive.
                marker.mark(unsafe { Value::from_raw(*key) });
            }
        }
    }
}

/// `x_y` would have the key of `x-y`, `version` that of the protocol, and `proxy` the variable by which many programs choose
/// their own proxy (CVE-2016-5385).
fn is_ambiguous(name: &str) -> bool {
    name == "proxy" || name == "version" || name.contains('_')
}

/// The frozen String of the key of the header `name`.
fn key(protected: Protected<'_>, name: &str) -> VALUE {
    let prefix = if matches!(name, "content-type" | "content-length") { "" } else { "HTTP_" };
    // SAFETY: `key` is a String.
    unsafe {
        let key = text(protected, prefix);
        let mut chunk = [0_u8; CHUNK_BYTES];
        for bytes in name.as_bytes().chunks(CHUNK_BYTES) {
            for (upper, byte) in chunk.iter_mut().zip(bytes) {
                *upper = if *byte == b'-' { b'_' } else { byte.to_ascii_uppercase() };
            }
            append(protected, key, &chunk[..bytes.len()]);
        }
        interned(protected, key)
    }
}
