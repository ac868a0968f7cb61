//! The foundation of the binding: raw objects, receivers, errors, the release of Ruby's lock.

pub(crate) mod errors;
pub(crate) mod gvl;
pub(crate) mod hash_walk;
pub(crate) mod memory;
pub(crate) mod native_class;
pub(crate) mod raising;
pub(crate) mod raw_objects;
pub(crate) mod receiver;
pub(crate) mod utf8;
