//! The Ruby binding of the crates: one Ruby class per file, each registered by its `init`. It decides nothing by itself.

#[cfg(any(feature = "redis", feature = "sql", feature = "mongo"))]
mod clients;
mod codecs;
mod collections;
mod concurrency;
mod entity;
mod rack;
mod ruby;
mod server;
mod sink;
mod store;

use magnus::{Error, Module, Ruby};
use mimalloc::MiMalloc;

/// An iteration allocates for tens of requests and then frees for all of them. mimalloc needs fewer instructions for that than
/// glibc's malloc.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

#[magnus::init]
fn init(ruby: &Ruby) -> Result<(), Error> {
    let elah = ruby.define_module("Elah")?;
    concurrency::audience::init(ruby, elah)?;
    server::scoreboard::init(ruby, elah)?;
    concurrency::event_loop::init(ruby, elah)?;
    codecs::form::init(elah)?;
    server::header_set::init(ruby, elah)?;
    codecs::json_parser::init(elah)?;
    codecs::json_pluck::init(elah)?;
    codecs::json_writer::init(elah)?;
    collections::lease_pool::init(ruby, elah)?;
    server::listening_socket::init(ruby, elah)?;
    server::media_types::init(ruby, elah)?;
    ruby::memory::init(elah)?;
    #[cfg(feature = "mongo")]
    clients::mongo::init(ruby, elah)?;
    codecs::multipart::init(elah)?;
    #[cfg(feature = "parquet")]
    sink::parquet::init(ruby, elah)?;
    entity::peer_links::init(ruby, elah)?;
    codecs::permutation::init(ruby, elah)?;
    #[cfg(feature = "redis")]
    clients::redis::init(ruby, elah)?;
    collections::ranked_set::init(ruby, elah)?;
    server::request::init(ruby, elah)?;
    server::response_stream::init(ruby, elah)?;
    server::router::init(ruby, elah)?;
    sink::journal::init(ruby, elah)?;
    sink::name_counts::init(ruby, elah)?;
    #[cfg(feature = "sql")]
    clients::sql::init(ruby, elah)?;
    store::init(ruby, elah)?;
    #[cfg(feature = "sql")]
    entity::cluster::init(ruby, elah)?;
    entity::shards::init(ruby, elah)?;
    server::pipe_room::init(elah)?;
    server::stop_signals::init(elah)?;
    server::shutdown_watchdog::init(elah)?;
    let rack = elah.define_module("Rack")?;
    rack::env::init(ruby, elah, rack)?;
    rack::response::init(elah)?;
    Ok(())
}
