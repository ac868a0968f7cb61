//! `Elah::Scoreboard`: the mapped counters of a server, by name.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use elah_scoreboard::{Area, Row, Scoreboard, Sizes, now_ms};
use magnus::{Error, Module, Object, RHash, RModule, Ruby, Symbol, function, method};

use crate::ruby::errors;
use crate::ruby::native_class;

#[magnus::wrap(class = "Elah::Scoreboard", free_immediately)]
pub(crate) struct RubyScoreboard {
    scoreboard: Arc<Scoreboard>,
}

impl RubyScoreboard {
    fn create(ruby: &Ruby, path: String, slots_max: usize, rows: usize, shards: usize) -> Result<Self, Error> {
        RubyScoreboard::made(ruby, "made", &path, Scoreboard::create(Path::new(&path), Sizes { slots_max, rows, shards }))
    }

    fn open(ruby: &Ruby, path: String) -> Result<Self, Error> {
        RubyScoreboard::made(ruby, "opened", &path, Scoreboard::open(Path::new(&path)))
    }

    fn made(ruby: &Ruby, how: &str, path: &str, scoreboard: io::Result<Scoreboard>) -> Result<Self, Error> {
        scoreboard.map(|scoreboard| RubyScoreboard { scoreboard: Arc::new(scoreboard) }).map_err(|cause| {
            Error::new(errors::class(ruby, "RunDirError"), format!("The scoreboard {path} cannot be {how}: {cause}."))
        })
    }

    /// The row with this number, for a loop.
    pub(crate) fn row(&self, number: usize) -> Option<Row> {
        Row::new(Arc::clone(&self.scoreboard), number)
    }

    fn sizes(&self) -> (usize, usize, usize) {
        let Sizes { slots_max, rows, shards } = self.scoreboard.sizes();
        (slots_max, rows, shards)
    }

    fn cell(&self, ruby: &Ruby, area: Area, name: Symbol) -> Result<&AtomicU64, Error> {
        let name = name.name()?;
        self.scoreboard
            .cell(area, &name)
            .ok_or_else(|| Error::new(ruby.exception_index_error(), format!("The scoreboard has no {name} of {area:?}.")))
    }

    fn server_value(ruby: &Ruby, scoreboard: &Self, name: Symbol) -> Result<u64, Error> {
        Ok(scoreboard.cell(ruby, Area::Server, name)?.load(Ordering::Relaxed))
    }

    fn set_server(ruby: &Ruby, scoreboard: &Self, name: Symbol, value: u64) -> Result<(), Error> {
        scoreboard.cell(ruby, Area::Server, name)?.store(value, Ordering::Release);
        Ok(())
    }

    fn slot_value(ruby: &Ruby, scoreboard: &Self, slot: usize, name: Symbol) -> Result<u64, Error> {
        Ok(scoreboard.cell(ruby, Area::WorkerSlot(slot), name)?.load(Ordering::Acquire))
    }

    fn set_slot(ruby: &Ruby, scoreboard: &Self, slot: usize, name: Symbol, value: u64) -> Result<(), Error> {
        scoreboard.cell(ruby, Area::WorkerSlot(slot), name)?.store(value, Ordering::Release);
        Ok(())
    }

    fn row_value(ruby: &Ruby, scoreboard: &Self, row: usize, name: Symbol) -> Result<u64, Error> {
        Ok(scoreboard.cell(ruby, Area::Row(row), name)?.load(Ordering::Relaxed))
    }

    fn set_row(ruby: &Ruby, scoreboard: &Self, row: usize, name: Symbol, value: u64) -> Result<(), Error> {
        scoreboard.cell(ruby, Area::Row(row), name)?.store(value, Ordering::Relaxed);
        Ok(())
    }

    fn server(ruby: &Ruby, scoreboard: &Self) -> Result<RHash, Error> {
        scoreboard.values(ruby, Area::Server)
    }

    fn slot(ruby: &Ruby, scoreboard: &Self, slot: usize) -> Result<RHash, Error> {
        scoreboard.values(ruby, Area::WorkerSlot(slot))
    }

    fn row_values(ruby: &Ruby, scoreboard: &Self, row: usize) -> Result<RHash, Error> {
        scoreboard.values(ruby, Area::Row(row))
    }

    fn peer(ruby: &Ruby, scoreboard: &Self, row: usize, slot: usize) -> Result<RHash, Error> {
        scoreboard.values(ruby, Area::Peer(row, slot))
    }

    fn set_peer(ruby: &Ruby, scoreboard: &Self, row: usize, slot: usize, name: Symbol, value: u64) -> Result<(), Error> {
        scoreboard.cell(ruby, Area::Peer(row, slot), name)?.store(value, Ordering::Relaxed);
        Ok(())
    }

    /// Every call of an entity uses it, so it looks up no name.
    fn map_version(&self) -> u64 {
        self.scoreboard.map_version()
    }

    fn values(&self, ruby: &Ruby, area: Area) -> Result<RHash, Error> {
        let values = ruby.hash_new();
        for name in area.names() {
            values.aset(ruby.to_symbol(name), self.cell(ruby, area, ruby.to_symbol(name))?.load(Ordering::Relaxed))?;
        }
        Ok(values)
    }

    fn extras(ruby: &Ruby, scoreboard: &Self, row: usize) -> Result<RHash, Error> {
        let extras = ruby.hash_new();
        for (name, value) in scoreboard.scoreboard.extras(row) {
            extras.aset(name, value)?;
        }
        Ok(extras)
    }

    fn publish(&self, row: usize, name: String, value: u64) -> bool {
        self.scoreboard.publish(row, &name, value)
    }

    fn publish_own(&self, row: usize, name: String, value: u64) -> bool {
        self.scoreboard.publish_own(row, &name, value)
    }

    fn clear_row(&self, row: usize) {
        self.scoreboard.clear_row(row);
    }

    fn owner_of(ruby: &Ruby, scoreboard: &Self, shard: usize) -> Result<u64, Error> {
        scoreboard.scoreboard.owner_of(shard).ok_or_else(|| no_shard(ruby, shard))
    }

    fn term_of(ruby: &Ruby, scoreboard: &Self, shard: usize) -> Result<u64, Error> {
        scoreboard.scoreboard.term_of(shard).ok_or_else(|| no_shard(ruby, shard))
    }

    fn assign(ruby: &Ruby, scoreboard: &Self, shard: usize, slot: u32) -> Result<(), Error> {
        if scoreboard.scoreboard.assign(shard, slot) { Ok(()) } else { Err(no_shard(ruby, shard)) }
    }
}

fn no_shard(ruby: &Ruby, shard: usize) -> Error {
    Error::new(ruby.exception_index_error(), format!("The scoreboard has no shard {shard}."))
}

pub(crate) fn init(ruby: &Ruby, elah: RModule) -> Result<(), Error> {
    let class = native_class::define::<RubyScoreboard>(ruby, elah, "Scoreboard")?;
    class.define_singleton_method("create", function!(RubyScoreboard::create, 4))?;
    class.define_singleton_method("open", function!(RubyScoreboard::open, 1))?;
    class.define_singleton_method("now_ms", function!(now_ms, 0))?;
    class.define_method("sizes", method!(RubyScoreboard::sizes, 0))?;
    class.define_method("server_value", method!(RubyScoreboard::server_value, 1))?;
    class.define_method("set_server", method!(RubyScoreboard::set_server, 2))?;
    class.define_method("slot_value", method!(RubyScoreboard::slot_value, 2))?;
    class.define_method("set_slot", method!(RubyScoreboard::set_slot, 3))?;
    class.define_method("row_value", method!(RubyScoreboard::row_value, 2))?;
    class.define_method("set_row", method!(RubyScoreboard::set_row, 3))?;
    class.define_method("server", method!(RubyScoreboard::server, 0))?;
    class.define_method("slot", method!(RubyScoreboard::slot, 1))?;
    class.define_method("row", method!(RubyScoreboard::row_values, 1))?;
    class.define_method("peer", method!(RubyScoreboard::peer, 2))?;
    class.define_method("set_peer", method!(RubyScoreboard::set_peer, 4))?;
    class.define_method("map_version", method!(RubyScoreboard::map_version, 0))?;
    class.define_method("extras", method!(RubyScoreboard::extras, 1))?;
    class.define_method("publish", method!(RubyScoreboard::publish, 3))?;
    class.define_method("publish_own", method!(RubyScoreboard::publish_own, 3))?;
    class.define_method("clear_row", method!(RubyScoreboard::clear_row, 1))?;
    class.define_method("owner_of", method!(RubyScoreboard::owner_of, 1))?;
    class.define_method("term_of", method!(RubyScoreboard::term_of, 1))?;
    class.define_method("assign", method!(RubyScoreboard::assign, 2))?;
    Ok(())
}
