//! `Elah::Clients::Mongo`: the native half of `Elah::Mongo`, its subclass in `lib/elah/clients/mongo.rb`. Documents cross as
//! bytes.

mod cursor;
mod errors;
mod object_id;
mod reader;
mod writer;

use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use elah_clients::mongo::{self as core, Bulk, BulkKind, Change, Client, Plan, Settings};
use magnus::value::ReprValue;
use magnus::{Error, Module, Object, RArray, RClass, RHash, RModule, Ruby, Symbol, TryConvert, Value, function, method};

use crate::concurrency::future_wait::{Home, PerHome};
use crate::ruby::errors::class;
use crate::ruby::native_class;
use cursor::RubyCursor;
use errors::raised;

#[magnus::wrap(class = "Elah::Clients::Mongo", free_immediately)]
struct RubyMongo {
    plan: Arc<Plan>,
    clients: PerHome<Client>,
    is_closed: AtomicBool,
}

impl RubyMongo {
    /// An instance of `class`.
    fn open(ruby: &Ruby, class: RClass, url: String, options: RHash) -> Result<Value, Error> {
        fn option<T: TryConvert>(ruby: &Ruby, options: RHash, name: &str) -> Result<Option<T>, Error> {
            options.lookup(ruby.to_symbol(name))
        }
        let seconds = |name| option::<f64>(ruby, options, name).map(|seconds| seconds.map(duration));
        let file = |name| option::<String>(ruby, options, name).map(|path| path.map(PathBuf::from));
        let settings = Settings {
            url,
            database: option(ruby, options, "database")?,
            connections_max: option(ruby, options, "connections_max")?,
            waiters_max: option(ruby, options, "waiters_max")?,
            pool_wait: seconds("pool_seconds")?,
            connect: seconds("connect_seconds")?,
            query: seconds("query_seconds")?,
            tls: option(ruby, options, "tls")?,
            tls_ca_file: file("tls_ca_file")?,
            tls_certificate_key_file: file("tls_certificate_key_file")?,
        };
        let plan = Plan::new(settings).map_err(|error| raised(ruby, &error))?;
        let client = RubyMongo { plan: Arc::new(plan), clients: PerHome::new(), is_closed: AtomicBool::new(false) };
        Ok(ruby.obj_wrap_as(client, class).as_value())
    }

    /// Runs an operation on the caller's loop or in the background, and waits for it.
    fn run<T, F>(&self, ruby: &Ruby, operation: impl FnOnce(Arc<Client>) -> F) -> Result<(T, Home), Error>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, core::Error>> + Send + 'static,
    {
        if self.is_closed.load(Ordering::Relaxed) {
            return Err(Error::new(class(ruby, "Mongo::Closed"), format!("The client of {} is closed.", self.plan.servers)));
        }
        let home = Home::current(ruby)?;
        let client = self.clients.get(home, || Client::new(Arc::clone(&self.plan)));
        let done = home.wait_for(ruby, operation(client))?.map_err(|error| raised(ruby, &error))?;
        Ok((done, home))
    }

    fn find(ruby: &Ruby, mongo: &Self, collection: String, filter: RHash, options: RHash) -> Result<RubyCursor, Error> {
        let (filter, options) = (bytes(ruby, filter)?, bytes(ruby, options)?);
        let (cursor, home) = mongo.run(ruby, |client| client.find(collection, filter, options))?;
        Ok(RubyCursor::new(cursor, home))
    }

    fn find_one(ruby: &Ruby, mongo: &Self, collection: String, filter: RHash, options: RHash) -> Result<Option<Value>, Error> {
        let (filter, options) = (bytes(ruby, filter)?, bytes(ruby, options)?);
        let (batch, _) = mongo.run(ruby, |client| client.find_one(collection, filter, options))?;
        match batch {
            Some(batch) => reader::array(ruby, batch.array().unwrap_or_default())?.entry(0),
            None => Ok(None),
        }
    }

    fn aggregate(ruby: &Ruby, mongo: &Self, collection: String, pipeline: RArray, options: RHash) -> Result<RubyCursor, Error> {
        let (pipeline, options) = (writer::array(ruby, pipeline.as_value())?, bytes(ruby, options)?);
        let (cursor, home) = mongo.run(ruby, |client| client.aggregate(collection, pipeline, options))?;
        Ok(RubyCursor::new(cursor, home))
    }

    fn count(ruby: &Ruby, mongo: &Self, collection: String, filter: Option<RHash>, options: RHash) -> Result<u64, Error> {
        let filter = filter.map(|filter| bytes(ruby, filter)).transpose()?;
        let options = bytes(ruby, options)?;
        Ok(mongo.run(ruby, |client| async move { client.count(collection, filter, options).await })?.0)
    }

    /// Returns the IDs.
    fn insert(ruby: &Ruby, mongo: &Self, collection: String, documents: RArray, options: RHash) -> Result<RArray, Error> {
        let options = bytes(ruby, options)?;
        let ids = ruby.ary_new_capa(documents.len());
        let mut written = Vec::with_capacity(documents.len());
        for index in 0..documents.len() {
            let document: RHash = documents.entry(index as isize)?;
            let id = id_of(ruby, document)?;
            ids.push(id)?;
            written.push(writer::document_with_id(ruby, document.as_value(), id)?);
        }
        mongo.run(ruby, |client| async move { client.insert(collection, written, options).await })?;
        Ok(ids)
    }

    /// Returns `[matched, modified, id of an upserted document or nil]`. `kind` is :update_one, :update_many or :replace_one.
    fn update(
        ruby: &Ruby,
        mongo: &Self,
        kind: Symbol,
        collection: String,
        filter: RHash,
        update: Value,
        options: RHash,
    ) -> Result<(u64, u64, Option<Value>), Error> {
        let kind = kind.name()?.into_owned();
        let change = change(ruby, update, kind == "replace_one")?;
        let (filter, options) = (bytes(ruby, filter)?, bytes(ruby, options)?);
        let is_many = kind == "update_many";
        let (done, _) =
            mongo.run(ruby, |client| async move { client.update(collection, is_many, filter, change, options).await })?;
        let upserted = match done.upserted {
            Some(upserted) => RHash::try_convert(reader::document(ruby, &upserted)?)?.lookup("_id")?,
            None => None,
        };
        Ok((done.matched, done.modified, upserted))
    }

    fn delete(ruby: &Ruby, mongo: &Self, collection: String, is_many: bool, filter: RHash, options: RHash) -> Result<u64, Error> {
        let (filter, options) = (bytes(ruby, filter)?, bytes(ruby, options)?);
        Ok(mongo.run(ruby, |client| async move { client.delete(collection, is_many, filter, options).await })?.0)
    }

    /// `kind` is :update, :replace, or :delete, which needs no `update`.
    fn find_one_and(
        ruby: &Ruby,
        mongo: &Self,
        collection: String,
        filter: RHash,
        kind: Symbol,
        update: Value,
        options: RHash,
    ) -> Result<Option<Value>, Error> {
        let change = match &*kind.name()? {
            "delete" => Change::Delete,
            kind => change(ruby, update, kind == "replace")?,
        };
        let (filter, options) = (bytes(ruby, filter)?, bytes(ruby, options)?);
        let (found, _) =
            mongo.run(ruby, |client| async move { client.find_one_and(collection, filter, change, options).await })?;
        found.map(|found| reader::document(ruby, &found)).transpose()
    }

    /// Accepts pairs of keys and options, and returns names.
    fn create_indexes(ruby: &Ruby, mongo: &Self, collection: String, indexes: RArray) -> Result<Vec<String>, Error> {
        let mut models = Vec::with_capacity(indexes.len());
        for index in 0..indexes.len() {
            let (keys, options): (RHash, RHash) = indexes.entry(index as isize)?;
            models.push((bytes(ruby, keys)?, bytes(ruby, options)?));
        }
        Ok(mongo.run(ruby, |client| async move { client.create_indexes(collection, models).await })?.0)
    }

    fn drop_collection(ruby: &Ruby, mongo: &Self, collection: String) -> Result<(), Error> {
        mongo.run(ruby, |client| async move { client.drop_collection(collection).await }).map(|_| ())
    }

    /// Accepts pairs of :insert, :update, :replace or :delete and a Hash; returns the five counts.
    fn bulk_write(
        ruby: &Ruby,
        mongo: &Self,
        collection: String,
        writes: RArray,
        is_ordered: bool,
    ) -> Result<(u64, u64, u64, u64, u64), Error> {
        let mut bulk = Vec::with_capacity(writes.len());
        for index in 0..writes.len() {
            let (kind, statement): (Symbol, RHash) = writes.entry(index as isize)?;
            bulk.push(match &*kind.name()? {
                "insert" => {
                    let id = id_of(ruby, statement)?;
                    Bulk { kind: BulkKind::Insert, statement: writer::document_with_id(ruby, statement.as_value(), id)? }
                }
                "update" => Bulk { kind: BulkKind::Update, statement: bytes(ruby, statement)? },
                "replace" => Bulk { kind: BulkKind::Replace, statement: bytes(ruby, statement)? },
                _ => Bulk { kind: BulkKind::Delete, statement: bytes(ruby, statement)? },
            });
        }
        let (done, _) = mongo.run(ruby, |client| async move { client.bulk_write(collection, bulk, is_ordered).await })?;
        Ok((done.inserted, done.matched, done.modified, done.deleted, done.upserted))
    }

    fn run_command(ruby: &Ruby, mongo: &Self, command: RHash) -> Result<Value, Error> {
        let command = bytes(ruby, command)?;
        let (reply, _) = mongo.run(ruby, |client| async move { client.run_command(command).await })?;
        reader::document(ruby, &reply)
    }

    fn servers(&self) -> &str {
        &self.plan.servers
    }

    fn database(&self) -> &str {
        &self.plan.database
    }

    fn connections_max(&self) -> u32 {
        self.plan.connections_max
    }

    /// Running and waiting operations on the caller's loop.
    fn load(ruby: &Ruby, mongo: &Self) -> Result<(usize, usize), Error> {
        let client = mongo.clients.get(Home::current(ruby)?, || Client::new(Arc::clone(&mongo.plan)));
        Ok(client.load())
    }

    fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
        self.clients.close();
    }

    fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Relaxed)
    }
}

fn duration(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
}

fn bytes(ruby: &Ruby, hash: RHash) -> Result<Vec<u8>, Error> {
    writer::document(ruby, hash.as_value())
}

/// The `_id` of a document, or a new one.
fn id_of(ruby: &Ruby, document: RHash) -> Result<Value, Error> {
    if let Some(id) = document.lookup::<_, Option<Value>>("_id")?.or(document.lookup(ruby.to_symbol("_id"))?) {
        return Ok(id);
    }
    object_id::generate()
}

fn change(ruby: &Ruby, update: Value, is_replacement: bool) -> Result<Change, Error> {
    if let (Some(stages), false) = (RArray::from_value(update), is_replacement) {
        return Ok(Change::Pipeline(writer::array(ruby, stages.as_value())?));
    }
    let document = bytes(ruby, RHash::try_convert(update)?)?;
    Ok(if is_replacement { Change::Replace(document) } else { Change::Update(document) })
}

/// `Elah::Mongo.bson(hash)`: the bytes of a document.
fn to_bson(ruby: &Ruby, hash: RHash) -> Result<Value, Error> {
    Ok(ruby.str_from_slice(&bytes(ruby, hash)?).as_value())
}

/// `Elah::Mongo.from_bson(bytes)`: the Hash of a document's bytes.
fn from_bson(ruby: &Ruby, string: magnus::RString) -> Result<Value, Error> {
    // SAFETY: the bytes are copied before Ruby runs again.
    let bytes = unsafe { string.as_slice() }.to_vec();
    reader::document(ruby, &bytes)
}

/// `Elah::Mongo.register_object_id(class)`
fn register_object_id(ruby: &Ruby, _: RClass, class: RClass) -> Result<(), Error> {
    object_id::register(ruby, class)
}

pub(crate) fn init(ruby: &Ruby, elah: RModule) -> Result<(), Error> {
    let clients = elah.define_module("Clients")?;
    let class = native_class::define::<RubyMongo>(ruby, clients, "Mongo")?;
    class.define_singleton_method("open_native", method!(RubyMongo::open, 2))?;
    class.define_singleton_method("register_object_id", method!(register_object_id, 1))?;
    class.define_singleton_method("generate_object_id", function!(object_id::generate, 0))?;
    class.define_singleton_method("to_bson", function!(to_bson, 1))?;
    class.define_singleton_method("from_bson", function!(from_bson, 1))?;
    class.define_method("find_native", method!(RubyMongo::find, 3))?;
    class.define_method("find_one_native", method!(RubyMongo::find_one, 3))?;
    class.define_method("aggregate_native", method!(RubyMongo::aggregate, 3))?;
    class.define_method("count_native", method!(RubyMongo::count, 3))?;
    class.define_method("insert_native", method!(RubyMongo::insert, 3))?;
    class.define_method("update_native", method!(RubyMongo::update, 5))?;
    class.define_method("delete_native", method!(RubyMongo::delete, 4))?;
    class.define_method("find_one_and_native", method!(RubyMongo::find_one_and, 5))?;
    class.define_method("create_indexes_native", method!(RubyMongo::create_indexes, 2))?;
    class.define_method("drop_native", method!(RubyMongo::drop_collection, 1))?;
    class.define_method("bulk_write_native", method!(RubyMongo::bulk_write, 3))?;
    class.define_method("run_command", method!(RubyMongo::run_command, 1))?;
    class.define_method("servers", method!(RubyMongo::servers, 0))?;
    class.define_method("database", method!(RubyMongo::database, 0))?;
    class.define_method("connections_max", method!(RubyMongo::connections_max, 0))?;
    class.define_method("load_native", method!(RubyMongo::load, 0))?;
    class.define_method("close", method!(RubyMongo::close, 0))?;
    class.define_method("closed?", method!(RubyMongo::is_closed, 0))?;
    cursor::init(ruby, clients)
}
