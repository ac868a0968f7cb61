//! `Elah::Clients::MongoCursor`: the batches of one query.

use std::sync::Arc;

use elah_clients::mongo::Cursor;
use magnus::{Error, Module, RArray, RModule, Ruby, method};

use super::errors::raised;
use super::reader;
use crate::concurrency::future_wait::Home;
use crate::ruby::errors::class;
use crate::ruby::native_class;

#[magnus::wrap(class = "Elah::Clients::MongoCursor", free_immediately)]
pub(super) struct RubyCursor {
    cursor: Arc<Cursor>,
    home: Home,
}

impl RubyCursor {
    pub(super) fn new(cursor: Cursor, home: Home) -> Self {
        RubyCursor { cursor: Arc::new(cursor), home }
    }

    /// The next documents, or nil at the end.
    fn next_batch(ruby: &Ruby, cursor: &Self) -> Result<Option<RArray>, Error> {
        if Home::current(ruby)? != cursor.home {
            let message = "A query is read on the thread on which it began.";
            return Err(Error::new(class(ruby, "Mongo::Error"), message));
        }
        let batch = match cursor.cursor.batch_at_hand() {
            Some(batch) => batch,
            None => {
                let reading = Arc::clone(&cursor.cursor);
                let waited = cursor.home.wait_for(ruby, async move { reading.next_batch().await })?;
                waited.map_err(|error| raised(ruby, &error))?
            }
        };
        batch.map(|batch| reader::array(ruby, batch.array().unwrap_or_default())).transpose()
    }

    fn close(&self) {
        self.cursor.close();
    }
}

pub(super) fn init(ruby: &Ruby, clients: RModule) -> Result<(), Error> {
    let class = native_class::define::<RubyCursor>(ruby, clients, "MongoCursor")?;
    class.define_method("next_batch", method!(RubyCursor::next_batch, 0))?;
    class.define_method("close", method!(RubyCursor::close, 0))?;
    Ok(())
}
