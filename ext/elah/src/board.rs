//! `Elah::Board`: the mapped counters of a server, by name.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use elah_core::board::{Area, Board, Seat, Sizes, now_ms};
use magnus::{Error, Module, Object, RHash, RModule, Ruby, Symbol, function, method};

use crate::errors;
use crate::native_class;

#[magnus::wrap(class = "Elah::Board", free_immediately)]
pub(crate) struct RubyBoard {
    board: Arc<Board>,
}

impl RubyBoard {
    fn create(ruby: &Ruby, path: String, slots_max: usize, seats: usize, shards: usize) -> Result<Self, Error> {
        RubyBoard::made(ruby, "made", &path, Board::create(Path::new(&path), Sizes { slots_max, seats, shards }))
    }

    fn open(ruby: &Ruby, path: String) -> Result<Self, Error> {
        RubyBoard::made(ruby, "opened", &path, Board::open(Path::new(&path)))
    }

    fn made(ruby: &Ruby, how: &str, path: &str, board: io::Result<Board>) -> Result<Self, Error> {
        board.map(|board| RubyBoard { board: Arc::new(board) }).map_err(|cause| {
            Error::new(errors::class(ruby, "RunDirError"), format!("The board {path} cannot be {how}: {cause}."))
        })
    }

    /// The seat of that number, for a loop to write to.
    pub(crate) fn seat(&self, number: usize) -> Option<Seat> {
        Seat::new(Arc::clone(&self.board), number)
    }

    fn sizes(&self) -> (usize, usize, usize) {
        let Sizes { slots_max, seats, shards } = self.board.sizes();
        (slots_max, seats, shards)
    }

    fn cell(&self, ruby: &Ruby, area: Area, name: Symbol) -> Result<&AtomicU64, Error> {
        let name = name.name()?;
        self.board
            .cell(area, &name)
            .ok_or_else(|| Error::new(ruby.exception_index_error(), format!("The board has no {name} of {area:?}.")))
    }

    fn server_value(ruby: &Ruby, board: &Self, name: Symbol) -> Result<u64, Error> {
        Ok(board.cell(ruby, Area::Server, name)?.load(Ordering::Relaxed))
    }

    fn set_server(ruby: &Ruby, board: &Self, name: Symbol, value: u64) -> Result<(), Error> {
        board.cell(ruby, Area::Server, name)?.store(value, Ordering::Release);
        Ok(())
    }

    fn slot_value(ruby: &Ruby, board: &Self, slot: usize, name: Symbol) -> Result<u64, Error> {
        Ok(board.cell(ruby, Area::Slot(slot), name)?.load(Ordering::Acquire))
    }

    fn set_slot(ruby: &Ruby, board: &Self, slot: usize, name: Symbol, value: u64) -> Result<(), Error> {
        board.cell(ruby, Area::Slot(slot), name)?.store(value, Ordering::Release);
        Ok(())
    }

    fn seat_value(ruby: &Ruby, board: &Self, seat: usize, name: Symbol) -> Result<u64, Error> {
        Ok(board.cell(ruby, Area::Seat(seat), name)?.load(Ordering::Relaxed))
    }

    fn set_seat(ruby: &Ruby, board: &Self, seat: usize, name: Symbol, value: u64) -> Result<(), Error> {
        board.cell(ruby, Area::Seat(seat), name)?.store(value, Ordering::Relaxed);
        Ok(())
    }

    fn server(ruby: &Ruby, board: &Self) -> Result<RHash, Error> {
        board.values(ruby, Area::Server)
    }

    fn slot(ruby: &Ruby, board: &Self, slot: usize) -> Result<RHash, Error> {
        board.values(ruby, Area::Slot(slot))
    }

    fn seat_values(ruby: &Ruby, board: &Self, seat: usize) -> Result<RHash, Error> {
        board.values(ruby, Area::Seat(seat))
    }

    fn peer(ruby: &Ruby, board: &Self, seat: usize, slot: usize) -> Result<RHash, Error> {
        board.values(ruby, Area::Peer(seat, slot))
    }

    fn set_peer(ruby: &Ruby, board: &Self, seat: usize, slot: usize, name: Symbol, value: u64) -> Result<(), Error> {
        board.cell(ruby, Area::Peer(seat, slot), name)?.store(value, Ordering::Relaxed);
        Ok(())
    }

    /// Asked for by every call of an entity, so it looks up no name.
    fn map_version(&self) -> u64 {
        self.board.map_version()
    }

    fn values(&self, ruby: &Ruby, area: Area) -> Result<RHash, Error> {
        let values = ruby.hash_new();
        for name in area.names() {
            values.aset(ruby.to_symbol(name), self.cell(ruby, area, ruby.to_symbol(name))?.load(Ordering::Relaxed))?;
        }
        Ok(values)
    }

    fn extras(ruby: &Ruby, board: &Self, seat: usize) -> Result<RHash, Error> {
        let extras = ruby.hash_new();
        for (name, value) in board.board.extras(seat) {
            extras.aset(name, value)?;
        }
        Ok(extras)
    }

    fn publish(&self, seat: usize, name: String, value: u64) -> bool {
        self.board.publish(seat, &name, value)
    }

    fn clear_seat(&self, seat: usize) {
        self.board.clear_seat(seat);
    }

    fn owner_of(ruby: &Ruby, board: &Self, shard: usize) -> Result<u64, Error> {
        board.board.owner_of(shard).ok_or_else(|| no_shard(ruby, shard))
    }

    fn assign(ruby: &Ruby, board: &Self, shard: usize, slot: u64) -> Result<(), Error> {
        if board.board.assign(shard, slot) { Ok(()) } else { Err(no_shard(ruby, shard)) }
    }
}

fn no_shard(ruby: &Ruby, shard: usize) -> Error {
    Error::new(ruby.exception_index_error(), format!("The board has no shard {shard}."))
}

pub(crate) fn init(ruby: &Ruby, elah: RModule) -> Result<(), Error> {
    let class = native_class::define::<RubyBoard>(ruby, elah, "Board")?;
    class.define_singleton_method("create", function!(RubyBoard::create, 4))?;
    class.define_singleton_method("open", function!(RubyBoard::open, 1))?;
    class.define_singleton_method("now_ms", function!(now_ms, 0))?;
    class.define_method("sizes", method!(RubyBoard::sizes, 0))?;
    class.define_method("server_value", method!(RubyBoard::server_value, 1))?;
    class.define_method("set_server", method!(RubyBoard::set_server, 2))?;
    class.define_method("slot_value", method!(RubyBoard::slot_value, 2))?;
    class.define_method("set_slot", method!(RubyBoard::set_slot, 3))?;
    class.define_method("seat_value", method!(RubyBoard::seat_value, 2))?;
    class.define_method("set_seat", method!(RubyBoard::set_seat, 3))?;
    class.define_method("server", method!(RubyBoard::server, 0))?;
    class.define_method("slot", method!(RubyBoard::slot, 1))?;
    class.define_method("seat", method!(RubyBoard::seat_values, 1))?;
    class.define_method("peer", method!(RubyBoard::peer, 2))?;
    class.define_method("set_peer", method!(RubyBoard::set_peer, 4))?;
    class.define_method("map_version", method!(RubyBoard::map_version, 0))?;
    class.define_method("extras", method!(RubyBoard::extras, 1))?;
    class.define_method("publish", method!(RubyBoard::publish, 3))?;
    class.define_method("clear_seat", method!(RubyBoard::clear_seat, 1))?;
    class.define_method("owner_of", method!(RubyBoard::owner_of, 1))?;
    class.define_method("assign", method!(RubyBoard::assign, 2))?;
    Ok(())
}
