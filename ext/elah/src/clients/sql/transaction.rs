//! `Elah::Clients::SQLTransaction`: one transaction, which belongs to the loop on which it began.

use std::sync::Arc;

use elah_clients::sql::{Engine, SavepointAction, Transaction};
use magnus::{Error, Module, RArray, RModule, Ruby, Value, method};

use super::errors::{elsewhere, raised};
use super::params;
use super::stream::RubyStream;
use super::values::{self, Shape};
use crate::concurrency::future_wait::Home;
use crate::ruby::native_class;

#[magnus::wrap(class = "Elah::Clients::SQLTransaction", size)]
pub(super) struct RubyTransaction {
    home: Home,
    engine: Engine,
    transaction: Arc<Transaction>,
}

impl Drop for RubyTransaction {
    /// A fork leaves the transaction to its parent: were the connection dropped, its socket would leave the event queue that both
    /// share, and the parent would wait for a reply that is there.
    fn drop(&mut self) {
        if self.home.is_inherited() {
            std::mem::forget(Arc::clone(&self.transaction));
        }
    }
}

impl RubyTransaction {
    pub(super) fn new(home: Home, engine: Engine, transaction: Transaction) -> Self {
        RubyTransaction { home, engine, transaction: Arc::new(transaction) }
    }

    /// The transaction, for a caller on its own loop.
    fn here(&self, ruby: &Ruby) -> Result<Arc<Transaction>, Error> {
        match Home::current(ruby)? == self.home {
            true => Ok(Arc::clone(&self.transaction)),
            false => Err(elsewhere(ruby)),
        }
    }

    fn run(ruby: &Ruby, transaction: &Self, text: String, params: RArray, shape: u8) -> Result<Value, Error> {
        let shape = Shape::from_number(ruby, shape)?;
        let params = params::params(ruby, params, transaction.engine)?;
        let here = transaction.here(ruby)?;
        let rows = transaction.home.wait_for(ruby, async move { here.query(text, params).await })?;
        values::shaped(ruby, &rows.map_err(|error| raised(ruby, &error))?, shape)
    }

    fn stream(ruby: &Ruby, transaction: &Self, text: String, params: RArray) -> Result<RubyStream, Error> {
        let params = params::params(ruby, params, transaction.engine)?;
        let here = transaction.here(ruby)?;
        let stream = transaction.home.wait_for(ruby, async move { here.stream(text, params).await })?;
        Ok(RubyStream::new(transaction.home, stream.map_err(|error| raised(ruby, &error))?))
    }

    fn savepoint(ruby: &Ruby, transaction: &Self, action: SavepointAction, number: u32) -> Result<(), Error> {
        let here = transaction.here(ruby)?;
        let done = transaction.home.wait_for(ruby, async move { here.savepoint(action, number).await })?;
        done.map_err(|error| raised(ruby, &error))
    }

    fn set_savepoint(ruby: &Ruby, transaction: &Self, number: u32) -> Result<(), Error> {
        RubyTransaction::savepoint(ruby, transaction, SavepointAction::Set, number)
    }

    fn release_savepoint(ruby: &Ruby, transaction: &Self, number: u32) -> Result<(), Error> {
        RubyTransaction::savepoint(ruby, transaction, SavepointAction::Release, number)
    }

    fn roll_back_to_savepoint(ruby: &Ruby, transaction: &Self, number: u32) -> Result<(), Error> {
        RubyTransaction::savepoint(ruby, transaction, SavepointAction::RollBack, number)
            .inspect_err(|_| transaction.transaction.abandon())
    }

    fn commit(ruby: &Ruby, transaction: &Self) -> Result<(), Error> {
        let here = transaction.here(ruby)?;
        let done = transaction.home.wait_for(ruby, async move { here.commit().await })?;
        done.map_err(|error| raised(ruby, &error))
    }

    fn roll_back(ruby: &Ruby, transaction: &Self) -> Result<(), Error> {
        let here = transaction.here(ruby)?;
        let done = transaction.home.wait_for(ruby, async move { here.roll_back().await });
        done.inspect_err(|_| transaction.transaction.abandon())
    }
}

pub(super) fn init(ruby: &Ruby, clients: RModule) -> Result<(), Error> {
    let class = native_class::define::<RubyTransaction>(ruby, clients, "SQLTransaction")?;
    class.define_method("run", method!(RubyTransaction::run, 3))?;
    class.define_method("stream", method!(RubyTransaction::stream, 2))?;
    class.define_method("set_savepoint", method!(RubyTransaction::set_savepoint, 1))?;
    class.define_method("release_savepoint", method!(RubyTransaction::release_savepoint, 1))?;
    class.define_method("roll_back_to_savepoint", method!(RubyTransaction::roll_back_to_savepoint, 1))?;
    class.define_method("commit", method!(RubyTransaction::commit, 0))?;
    class.define_method("roll_back", method!(RubyTransaction::roll_back, 0))?;
    Ok(())
}
