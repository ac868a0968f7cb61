//! The Ruby binding of `elah-core`: one Ruby class per file, each registered by its `init`. It holds no policy.

mod audience;
mod board;
mod errors;
mod event_loop;
mod form;
#[cfg(any(feature = "redis", feature = "sql", feature = "mongo"))]
mod future_wait;
mod gvl;
mod hash_walk;
mod header_set;
mod json_items;
mod json_members;
mod json_parser;
mod json_rows;
mod json_scan;
mod json_writer;
mod listening_socket;
mod memory;
#[cfg(feature = "mongo")]
mod mongo;
mod multipart;
mod name_counts;
mod native_class;
mod params_text;
#[cfg(feature = "parquet")]
mod parquet;
mod peer_links;
mod permutation;
mod rack_env;
mod rack_header_keys;
mod rack_response;
mod ranked_set;
mod raw_objects;
mod receiver;
#[cfg(feature = "redis")]
mod redis;
mod request;
mod request_text;
mod responders;
mod response_stream;
mod router;
mod shards;
mod shutdown_watchdog;
mod sink_intake;
mod sink_journal;
mod sink_responder;
mod slot_queues;
#[cfg(feature = "sql")]
mod sql;
mod stall;
mod store;
mod utf8;
mod wait;

use magnus::{Error, Module, Ruby};
use mimalloc::MiMalloc;

/// A turn allocates for tens of requests and then frees for all of them, which takes it fewer instructions than glibc's malloc.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

#[magnus::init]
fn init(ruby: &Ruby) -> Result<(), Error> {
    let elah = ruby.define_module("Elah")?;
    audience::init(ruby, elah)?;
    board::init(ruby, elah)?;
    event_loop::init(ruby, elah)?;
    form::init(elah)?;
    header_set::init(ruby, elah)?;
    json_members::init(ruby, elah)?;
    json_parser::init(elah)?;
    json_rows::init(ruby, elah)?;
    json_writer::init(elah)?;
    listening_socket::init(ruby, elah)?;
    memory::init(elah)?;
    #[cfg(feature = "mongo")]
    mongo::init(ruby, elah)?;
    multipart::init(elah)?;
    #[cfg(feature = "parquet")]
    parquet::init(ruby, elah)?;
    peer_links::init(ruby, elah)?;
    permutation::init(ruby, elah)?;
    #[cfg(feature = "redis")]
    redis::init(ruby, elah)?;
    ranked_set::init(ruby, elah)?;
    request::init(ruby, elah)?;
    response_stream::init(ruby, elah)?;
    router::init(ruby, elah)?;
    sink_journal::init(ruby, elah)?;
    name_counts::init(ruby, elah)?;
    sink_intake::init(ruby, elah)?;
    sink_responder::init(ruby, elah)?;
    #[cfg(feature = "sql")]
    sql::init(ruby, elah)?;
    slot_queues::init(ruby, elah)?;
    store::init(ruby, elah)?;
    shards::init(ruby, elah)?;
    shutdown_watchdog::init(elah)?;
    let rack = elah.define_module("Rack")?;
    rack_env::init(ruby, elah, rack)?;
    rack_response::init(elah)?;
    Ok(())
}
