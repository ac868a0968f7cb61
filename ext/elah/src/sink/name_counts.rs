//! `Elah::SinkNameCounts`: the number of occurrences of each name, without Ruby objects. Up to a limit, names are counted
//! separately; the others are counted together.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use magnus::{Error, Module, Object, RHash, RModule, RString, Ruby, function, method};
use rustc_hash::FxHashMap;

use crate::ruby::native_class;

/// Shared with the native code that counts.
#[derive(Clone)]
pub(crate) struct Counts(Arc<Mutex<Names>>);

struct Names {
    /// There are few, so names that are chosen to collide gain nothing.
    counts: FxHashMap<Box<str>, u64>,
    others: u64,
    names_max: usize,
    name_bytes_max: usize,
}

impl Counts {
    pub(crate) fn lock(&self) -> Guard<'_> {
        Guard(self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Counts several names at once.
pub(crate) struct Guard<'c>(MutexGuard<'c, Names>);

impl Guard<'_> {
    pub(crate) fn add(&mut self, name: &str, count: u64) {
        let names = &mut *self.0;
        if let Some(known) = names.counts.get_mut(name) {
            *known += count;
        } else if names.counts.len() < names.names_max && name.len() <= names.name_bytes_max {
            names.counts.insert(name.into(), count);
        } else {
            names.others += count;
        }
    }
}

#[magnus::wrap(class = "Elah::SinkNameCounts", free_immediately, size)]
pub(crate) struct NameCounts {
    counts: Counts,
    /// The name under which the others are shown.
    other: String,
}

impl NameCounts {
    fn open(names_max: usize, name_bytes_max: usize, other: String) -> Self {
        let names = Names { counts: FxHashMap::default(), others: 0, names_max, name_bytes_max };
        NameCounts { counts: Counts(Arc::new(Mutex::new(names))), other }
    }

    pub(crate) fn counts(&self) -> &Counts {
        &self.counts
    }

    fn add(&self, name: RString, count: u64) {
        // SAFETY: the String is on this stack, and Ruby does not run while it is borrowed.
        let name = unsafe { name.as_slice() };
        self.counts.lock().add(&String::from_utf8_lossy(name), count);
    }

    fn to_hash(ruby: &Ruby, rb_self: &Self) -> Result<RHash, Error> {
        let (counts, others) = {
            let names = rb_self.counts.lock().0;
            (names.counts.clone(), names.others)
        };
        let hash = ruby.hash_new();
        for (name, count) in counts {
            hash.aset(&*name, count)?;
        }
        if others > 0 {
            hash.aset(rb_self.other.as_str(), others)?;
        }
        Ok(hash)
    }

    fn clear(&self) {
        let mut names = self.counts.lock().0;
        names.counts = FxHashMap::default();
        names.others = 0;
    }
}

pub(crate) fn init(ruby: &Ruby, elah: RModule) -> Result<(), Error> {
    let class = native_class::define::<NameCounts>(ruby, elah, "SinkNameCounts")?;
    class.define_singleton_method("open", function!(NameCounts::open, 3))?;
    class.define_method("add", method!(NameCounts::add, 2))?;
    class.define_method("to_h", method!(NameCounts::to_hash, 0))?;
    class.define_method("clear", method!(NameCounts::clear, 0))
}
