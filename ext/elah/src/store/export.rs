//! `Elah::Store::Export`: the contents of a store that nobody uses, for `elah cluster import`.

use std::cell::RefCell;
use std::path::PathBuf;

use elah_store::{Export, Exported};
use magnus::{Error, Module, Object, RArray, RClass, RString, Ruby, function, method};

use super::errors::raised;
use crate::ruby::native_class;

#[magnus::wrap(class = "Elah::Store::Export", size)]
struct RubyExport {
    export: RefCell<Option<Export>>,
}

impl RubyExport {
    fn open(ruby: &Ruby, dir: PathBuf) -> Result<Self, Error> {
        let export = Export::open(dir).map_err(|error| raised(ruby, &error))?;
        Ok(RubyExport { export: RefCell::new(Some(export)) })
    }

    fn with<R>(&self, ruby: &Ruby, work: impl FnOnce(&Export) -> Result<R, elah_store::Error>) -> Result<R, Error> {
        let export = self.export.borrow();
        export.as_ref().ok_or(elah_store::Error::Closed).and_then(work).map_err(|error| raised(ruby, &error))
    }

    /// Of each table its name, whether it holds counts, and the number of entries that are read of it.
    fn tables(ruby: &Ruby, export: &Self) -> Result<RArray, Error> {
        export.with(ruby, |export| {
            Ok(ruby.ary_from_iter(export.tables().iter().map(|table| (table.name.as_str(), table.is_counter, table.entries))))
        })
    }

    fn shards(ruby: &Ruby, export: &Self) -> Result<Option<u32>, Error> {
        export.with(ruby, |export| Ok(export.shards()))
    }

    /// Keys, values and times of expiry that follow a key of the table at this position.
    fn rows(ruby: &Ruby, export: &Self, position: usize, after: Option<RString>, bytes_max: usize) -> Result<RArray, Error> {
        let after = after.map(super::to_bytes);
        let rows = export.with(ruby, |export| export.rows(table(export, position)?, after.as_deref(), bytes_max))?;
        let rows =
            rows.iter().map(|(key, value, expires_at_ms)| (ruby.str_from_slice(key), ruby.str_from_slice(value), *expires_at_ms));
        Ok(ruby.ary_from_iter(rows))
    }

    /// Keys and counts that follow a key of the counters at this position.
    fn counts(ruby: &Ruby, export: &Self, position: usize, after: Option<RString>, count_max: usize) -> Result<RArray, Error> {
        let after = after.map(super::to_bytes);
        let counts = export.with(ruby, |export| export.counts(table(export, position)?, after.as_deref(), count_max))?;
        Ok(ruby.ary_from_iter(counts.iter().map(|(key, count)| (ruby.str_from_slice(key), *count))))
    }

    fn close(&self) {
        self.export.take();
    }
}

fn table(export: &Export, position: usize) -> Result<&Exported, elah_store::Error> {
    export.tables().get(position).ok_or(elah_store::Error::InvalidName { bytes: 0 })
}

pub(super) fn init(ruby: &Ruby, store: RClass) -> Result<(), Error> {
    let class = native_class::define::<RubyExport>(ruby, store, "Export")?;
    class.define_singleton_method("open", function!(RubyExport::open, 1))?;
    class.define_method("tables", method!(RubyExport::tables, 0))?;
    class.define_method("shards", method!(RubyExport::shards, 0))?;
    class.define_method("rows", method!(RubyExport::rows, 3))?;
    class.define_method("counts", method!(RubyExport::counts, 3))?;
    class.define_method("close", method!(RubyExport::close, 0))?;
    Ok(())
}
