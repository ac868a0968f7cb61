//! `Elah::Clients::ParquetFolder`: the native half of `Elah::Sink::ParquetFiles`. Values become owned data, and a thread writes
//! the file.

use std::path::PathBuf;

use bytes::Bytes;
use elah_clients::parquet::{Column, Error as PutError, Folder, Id, Values};
use magnus::value::ReprValue;
use magnus::{Error, Exception, Module, Object, RArray, RModule, RString, Ruby, Symbol, TryConvert, Value, function, method};

use crate::concurrency::wait::in_thread;
use crate::ruby::errors::class;
use crate::ruby::native_class;

#[magnus::wrap(class = "Elah::Clients::ParquetFolder", free_immediately)]
struct RubyFolder {
    folder: Folder,
}

impl RubyFolder {
    fn new(path: PathBuf) -> Self {
        RubyFolder { folder: Folder::new(path) }
    }

    /// Removes leftovers of dead writers; returns the number of files.
    fn clean(ruby: &Ruby, rb_self: &Self) -> Result<usize, Error> {
        rb_self.folder.clean().map_err(|cause| raised(ruby, PutError::Io(cause)))
    }

    /// Writes a file with these rows: `ids` has 16 bytes for each, `columns` are `[[name, kind, values], ...]`. Returns its path.
    fn put(ruby: &Ruby, rb_self: &Self, partition: String, ids: RString, columns: RArray) -> Result<String, Error> {
        // SAFETY: the ids are copied before Ruby runs again.
        let ids: Vec<Id> = unsafe { ids.as_slice() }.as_chunks().0.to_vec();
        if ids.is_empty() {
            return Err(Error::new(ruby.exception_arg_error(), "A file has at least one row."));
        }
        let mut taken = Vec::with_capacity(columns.len());
        for column in columns {
            let (name, kind, values) = <(String, Symbol, RArray)>::try_convert(column)?;
            if values.len() != ids.len() {
                let counts = format!("The column {name} has {} values for {} rows.", values.len(), ids.len());
                return Err(Error::new(ruby.exception_arg_error(), counts));
            }
            taken.push(Column { name, values: to_values(ruby, &kind.name()?, values)? });
        }
        let folder = rb_self.folder.clone();
        let put = in_thread(ruby, move || folder.put(&partition, &ids, taken))?.unwrap_or_else(|error| Err(error.into()));
        Ok(put.map_err(|cause| raised(ruby, cause))?.to_string_lossy().into_owned())
    }
}

fn to_values(ruby: &Ruby, kind: &str, values: RArray) -> Result<Values, Error> {
    Ok(match kind {
        "text" => Values::Text(all(values, to_bytes)?),
        "json" => Values::Json(all(values, to_bytes)?),
        "bytes" => Values::Bytes(all(values, to_bytes)?),
        "integer" => Values::Integers(all(values, i64::try_convert)?),
        "float" => Values::Floats(all(values, f64::try_convert)?),
        "boolean" => Values::Booleans(all(values, bool::try_convert)?),
        "time" => Values::Times(all(values, i64::try_convert)?),
        _ => return Err(Error::new(ruby.exception_arg_error(), format!("Unknown kind of column: {kind}."))),
    })
}

fn all<T>(values: RArray, convert: impl Fn(Value) -> Result<T, Error>) -> Result<Vec<Option<T>>, Error> {
    values.into_iter().map(|value| if value.is_nil() { Ok(None) } else { convert(value).map(Some) }).collect()
}

fn to_bytes(value: Value) -> Result<Bytes, Error> {
    let text = RString::try_convert(value)?;
    // SAFETY: the bytes are copied at once.
    Ok(Bytes::copy_from_slice(unsafe { text.as_slice() }))
}

/// An error of the system becomes Ruby's `Errno`.
fn raised(ruby: &Ruby, cause: PutError) -> Error {
    let PutError::Io(io) = &cause else { return Error::new(class(ruby, "InternalError"), cause.to_string()) };
    let Some(number) = io.raw_os_error() else { return Error::new(ruby.exception_io_error(), cause.to_string()) };
    let made = ruby.exception_system_call_error().funcall::<_, _, Exception>("new", (ruby.qnil(), number));
    made.map_or_else(|error| error, Error::from)
}

pub(crate) fn init(ruby: &Ruby, elah: RModule) -> Result<(), Error> {
    let clients = elah.define_module("Clients")?;
    let folder = native_class::define::<RubyFolder>(ruby, clients, "ParquetFolder")?;
    folder.define_singleton_method("new", function!(RubyFolder::new, 1))?;
    folder.define_method("clean", method!(RubyFolder::clean, 0))?;
    folder.define_method("put", method!(RubyFolder::put, 3))?;
    Ok(())
}
