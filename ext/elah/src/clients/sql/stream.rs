//! `Elah::Clients::SQLRows`: rows that are read batch by batch.

use std::sync::{Arc, Mutex, PoisonError};

use elah_clients::sql::RowStream;
use magnus::{Error, Module, RModule, Ruby, Value, method};

use super::errors::{elsewhere, over, raised};
use super::values::{self, Shape};
use crate::concurrency::future_wait::Home;
use crate::ruby::native_class;

#[magnus::wrap(class = "Elah::Clients::SQLRows", size)]
pub(super) struct RubyStream {
    home: Home,
    /// `None` after it was closed.
    stream: Mutex<Option<Arc<RowStream>>>,
}

impl RubyStream {
    pub(super) fn new(home: Home, stream: RowStream) -> Self {
        RubyStream { home, stream: Mutex::new(Some(Arc::new(stream))) }
    }

    /// The next rows as an Array of Hashes; nil after the last. Raises when the rows were closed before.
    fn next_batch(ruby: &Ruby, rows: &Self) -> Result<Option<Value>, Error> {
        if Home::current(ruby)? != rows.home {
            return Err(elsewhere(ruby));
        }
        let stream = rows.stream.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let stream = stream.ok_or_else(|| over(ruby))?;
        let reading = Arc::clone(&stream);
        match rows.home.wait_for(ruby, async move { stream.next().await })? {
            // The end of the transaction has cut them off.
            None if !reading.is_whole() => Err(over(ruby)),
            None => Ok(None),
            Some(Ok(batch)) => values::shaped(ruby, &batch, Shape::Hashes).map(Some),
            Some(Err(error)) => Err(raised(ruby, &error)),
        }
    }

    fn close(&self) {
        let stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(stream);
    }
}

pub(super) fn init(ruby: &Ruby, clients: RModule) -> Result<(), Error> {
    let class = native_class::define::<RubyStream>(ruby, clients, "SQLRows")?;
    class.define_method("next_batch", method!(RubyStream::next_batch, 0))?;
    class.define_method("close", method!(RubyStream::close, 0))?;
    Ok(())
}
