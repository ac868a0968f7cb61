//! `Elah::Clients::SQL`: the native half of `Elah::SQL`. One core client per loop; rows become Ruby objects when their fiber
//! continues.

mod errors;
mod params;
mod stream;
mod transaction;
mod values;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use elah_clients::sql::{Bounds, Client, Engine, Error as SqlError, Isolation, Settings, Status};
use magnus::{Error, Module, Object, RArray, RClass, RHash, RModule, Ruby, Symbol, TryConvert, Value, function, method};

use crate::concurrency::future_wait::{Home, PerHome, drop_aborted};
use crate::ruby::native_class;
use errors::raised;
use stream::RubyStream;
use transaction::RubyTransaction;
use values::Shape;

#[magnus::wrap(class = "Elah::Clients::SQL", size)]
pub(crate) struct RubySql {
    settings: Arc<Settings>,
    clients: PerHome<Client>,
    is_closed: AtomicBool,
}

impl RubySql {
    fn open(ruby: &Ruby, url: String, bounds: RHash) -> Result<Self, Error> {
        let settings = Settings::parse(&url, read_bounds(ruby, bounds)?).map_err(|error| raised(ruby, &error))?;
        Ok(RubySql { settings: Arc::new(settings), clients: PerHome::new(), is_closed: AtomicBool::new(false) })
    }

    pub(crate) fn settings(&self) -> Arc<Settings> {
        Arc::clone(&self.settings)
    }

    fn client(&self, ruby: &Ruby, home: Home) -> Result<Arc<Client>, Error> {
        if self.is_closed.load(Ordering::Relaxed) {
            return Err(raised(ruby, &SqlError::Closed { server: Arc::clone(&self.settings.server) }));
        }
        Ok(self.clients.get(home, || Client::new(Arc::clone(&self.settings))))
    }

    /// Runs a statement and returns its result in the form of `shape`.
    fn run(ruby: &Ruby, sql: &Self, text: String, params: RArray, shape: u8) -> Result<Value, Error> {
        let shape = Shape::from_number(ruby, shape)?;
        let params = params::params(ruby, params, sql.settings.engine)?;
        let home = Home::current(ruby)?;
        let client = sql.client(ruby, home)?;
        let rows = home.wait_for(ruby, async move { client.query(text, params).await })?;
        values::shaped(ruby, &rows.map_err(|error| raised(ruby, &error))?, shape)
    }

    fn stream(ruby: &Ruby, sql: &Self, text: String, params: RArray) -> Result<RubyStream, Error> {
        let params = params::params(ruby, params, sql.settings.engine)?;
        let home = Home::current(ruby)?;
        let client = sql.client(ruby, home)?;
        let stream = home.wait_for(ruby, async move { client.stream(text, params).await })?;
        Ok(RubyStream::new(home, stream.map_err(|error| raised(ruby, &error))?))
    }

    fn begin(ruby: &Ruby, sql: &Self, isolation: Option<Symbol>, first: Option<String>) -> Result<RubyTransaction, Error> {
        let isolation = isolation.map(|name| read_isolation(ruby, name)).transpose()?;
        let home = Home::current(ruby)?;
        let client = sql.client(ruby, home)?;
        let transaction = home.wait_for(ruby, async move { client.begin(isolation, first).await })?;
        let transaction = transaction.map_err(|error| raised(ruby, &error))?;
        Ok(RubyTransaction::new(home, sql.settings.engine, transaction))
    }

    fn server(&self) -> &str {
        &self.settings.server
    }

    fn is_postgres(&self) -> bool {
        self.settings.engine == Engine::Postgres
    }

    /// Connections in use, idle connections and waiting callers of the calling loop.
    fn status(ruby: &Ruby, sql: &Self) -> Result<(usize, usize, usize), Error> {
        let Status { in_use, idle, waiting } = sql.client(ruby, Home::current(ruby)?)?.status();
        Ok((in_use, idle, waiting))
    }

    fn close(ruby: &Ruby, sql: &Self) -> Result<(), Error> {
        if sql.is_closed.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        let home = Home::current(ruby)?;
        let client = sql.clients.get(home, || Client::new(Arc::clone(&sql.settings)));
        // Runs on the loop of its connections, so that they close politely.
        let closed = home.wait_for(ruby, async move { client.close() });
        sql.clients.close();
        closed
    }

    /// How many threads end abandoned statements of this process.
    fn interrupts(ruby: &Ruby, _: RClass) -> Result<u64, Error> {
        drop_aborted(ruby)?;
        Ok(elah_clients::sql::interrupts())
    }

    fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Relaxed)
    }
}

fn read_isolation(ruby: &Ruby, name: Symbol) -> Result<Isolation, Error> {
    Ok(match &*name.name()? {
        "read_committed" => Isolation::ReadCommitted,
        "repeatable_read" => Isolation::RepeatableRead,
        "serializable" => Isolation::Serializable,
        other => {
            let message = format!("isolation: is :read_committed, :repeatable_read or :serializable, not :{other}");
            return Err(Error::new(ruby.exception_arg_error(), message));
        }
    })
}

pub(crate) fn read_bounds(ruby: &Ruby, bounds: RHash) -> Result<Bounds, Error> {
    fn fetch<T: TryConvert>(ruby: &Ruby, bounds: RHash, name: &str) -> Result<T, Error> {
        bounds.fetch(ruby.to_symbol(name))
    }
    let duration = |name: &str| {
        fetch::<f64>(ruby, bounds, name).map(|seconds| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
    };
    Ok(Bounds {
        connections_max: fetch(ruby, bounds, "connections_max")?,
        waiters_max: fetch(ruby, bounds, "waiters_max")?,
        pool: duration("pool_seconds")?,
        connect: duration("connect_seconds")?,
        query: duration("query_seconds")?,
        idle: duration("idle_seconds")?,
        statements_max: fetch(ruby, bounds, "statements_max")?,
    })
}

pub(crate) fn init(ruby: &Ruby, elah: RModule) -> Result<(), Error> {
    let clients = elah.define_module("Clients")?;
    let class = native_class::define::<RubySql>(ruby, clients, "SQL")?;
    class.define_singleton_method("open", function!(RubySql::open, 2))?;
    class.define_singleton_method("interrupts", method!(RubySql::interrupts, 0))?;
    class.define_method("run", method!(RubySql::run, 3))?;
    class.define_method("stream", method!(RubySql::stream, 2))?;
    class.define_method("begin", method!(RubySql::begin, 2))?;
    class.define_method("server", method!(RubySql::server, 0))?;
    class.define_method("postgres?", method!(RubySql::is_postgres, 0))?;
    class.define_method("status", method!(RubySql::status, 0))?;
    class.define_method("close", method!(RubySql::close, 0))?;
    class.define_method("closed?", method!(RubySql::is_closed, 0))?;
    stream::init(ruby, clients)?;
    transaction::init(ruby, clients)
}
