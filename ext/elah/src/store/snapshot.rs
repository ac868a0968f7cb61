//! `Elah::Store::Snapshot`: the files of a store at one moment, for a copy.

use std::cell::RefCell;
use std::path::PathBuf;

use elah_store::{Sizes, Snapshot, Stats};
use magnus::{Error, Module, Object, RArray, RClass, RHash, RString, Ruby, function, method};

use super::errors::raised;
use crate::ruby::native_class;

#[magnus::wrap(class = "Elah::Store::Snapshot", size)]
struct RubySnapshot {
    snapshot: RefCell<Option<Snapshot>>,
}

impl RubySnapshot {
    fn take(ruby: &Ruby, dir: PathBuf) -> Result<Self, Error> {
        let snapshot = Snapshot::take(dir).map_err(|error| raised(ruby, &error))?;
        Ok(RubySnapshot { snapshot: RefCell::new(Some(snapshot)) })
    }

    fn with<R>(&self, ruby: &Ruby, work: impl FnOnce(&Snapshot) -> Result<R, Error>) -> Result<R, Error> {
        self.snapshot.borrow().as_ref().map_or_else(|| Err(raised(ruby, &elah_store::Error::Closed)), work)
    }

    fn bytes(ruby: &Ruby, snapshot: &Self) -> Result<u64, Error> {
        snapshot.with(ruby, |snapshot| Ok(snapshot.bytes()))
    }

    /// Names and contents.
    fn journals(ruby: &Ruby, snapshot: &Self) -> Result<RArray, Error> {
        snapshot.with(ruby, |snapshot| {
            let journals = snapshot.journals().iter().map(|(name, content)| (name.as_str(), ruby.str_from_slice(content)));
            Ok(ruby.ary_from_iter(journals))
        })
    }

    fn read(ruby: &Ruby, snapshot: &Self, offset: u64, length: usize) -> Result<RString, Error> {
        snapshot.with(ruby, |snapshot| {
            let mut bytes = vec![0; length];
            let read = snapshot.read(offset, &mut bytes).map_err(|error| {
                raised(ruby, &elah_store::Error::Failed { why: format!("{} cannot be read: {error}", Snapshot::DATA_FILE) })
            })?;
            Ok(ruby.str_from_slice(&bytes[..read]))
        })
    }

    fn close(&self) {
        self.snapshot.take();
    }
}

/// The figures of the store in a directory, as a Hash.
pub(super) fn stats(ruby: &Ruby, dir: PathBuf) -> Result<RHash, Error> {
    let stats = Stats::of(dir).map_err(|error| raised(ruby, &error))?;
    let hash = ruby.hash_new();
    hash.aset(ruby.to_symbol("bytes"), stats.bytes)?;
    hash.aset(ruby.to_symbol("pages"), stats.checked.pages)?;
    hash.aset(ruby.to_symbol("free_pages"), stats.checked.free_pages)?;
    hash.aset(ruby.to_symbol("entries"), stats.checked.entries)?;
    hash.aset(ruby.to_symbol("format"), stats.format)?;
    hash.aset(ruby.to_symbol("version"), stats.version)?;
    hash.aset(ruby.to_symbol("readers"), stats.readers)?;
    hash.aset(ruby.to_symbol("journals"), stats.journals)?;
    for (name, is_counter) in [("tables", false), ("counters", true)] {
        let sizes = ruby.hash_new();
        for Sizes { name, entries, bytes, .. } in stats.tables.iter().filter(|sizes| sizes.is_counter == is_counter) {
            let row = ruby.hash_new();
            row.aset(ruby.to_symbol("entries"), *entries)?;
            row.aset(ruby.to_symbol("bytes"), *bytes)?;
            sizes.aset(name.as_str(), row)?;
        }
        hash.aset(ruby.to_symbol(name), sizes)?;
    }
    Ok(hash)
}

pub(super) fn init(ruby: &Ruby, store: RClass) -> Result<(), Error> {
    let class = native_class::define::<RubySnapshot>(ruby, store, "Snapshot")?;
    class.define_singleton_method("take", function!(RubySnapshot::take, 1))?;
    class.define_method("bytes", method!(RubySnapshot::bytes, 0))?;
    class.define_method("journals", method!(RubySnapshot::journals, 0))?;
    class.define_method("read", method!(RubySnapshot::read, 2))?;
    class.define_method("close", method!(RubySnapshot::close, 0))?;
    Ok(())
}
