//! The names of a scoreboard's cells. A cell's place is its place in these lists, so append new names at the end.

/// Of the whole server. The `retired_` ones are the sums of workers that have exited.
pub const SERVER_CELLS: &[&str] = &[
    "supervisor_pid",
    "started_ms",
    "heartbeat_ms",
    "slots",
    "map_version",
    "next_worker_generation",
    "generation",
    "rows_used",
    "retired_iterations",
    "retired_connections_accepted",
    "retired_requests",
    "retired_refused",
];

/// Of a slot: the generation that owns its shards, the row in which its process writes, and the number of replacements by reason.
pub const SLOT_CELLS: &[&str] = &["generation", "row", "crashes", "hangs", "memory", "restarts", "boot_failures"];

/// Of a worker process. `state` is 0 for an unused row, then booting, ready, releasing and draining.
pub const ROW_CELLS: &[&str] = &[
    "pid",
    "slot",
    "generation",
    "state",
    "started_ms",
    "heartbeat_ms",
    "iterations",
    "connections_accepted",
    "requests",
    "responses",
    "refused",
    "open_requests",
    "waiting_requests",
    "connections",
    "fibers",
    "lag_ms",
    "lag_ms_max",
    "rss_bytes",
    "anonymous_bytes",
    "unserved_since_ms",
    "entities",
    "shards_claimed",
    "calls_received",
    "calls_sent",
];

/// Of a worker as seen by another one that calls it. `state` is 0 until the first call, then open, limited and probing;
/// `allowance` is 0 for no limit; `calls` are in flight.
pub const PEER_CELLS: &[&str] = &["state", "allowance", "calls", "late_calls", "limited_calls"];

/// The place of a name that is known at compile time.
pub(super) const fn place(names: &[&str], name: &str) -> usize {
    let mut position = 0;
    while !is_same(names[position].as_bytes(), name.as_bytes()) {
        position += 1;
    }
    position
}

const fn is_same(one: &[u8], other: &[u8]) -> bool {
    let mut position = 0;
    while position < one.len() && position < other.len() && one[position] == other[position] {
        position += 1;
    }
    one.len() == other.len() && position == one.len()
}

/// A part of the scoreboard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Area {
    Server,
    WorkerSlot(usize),
    Row(usize),
    /// What the worker in a row reports about the worker in a slot.
    Peer(usize, usize),
}

impl Area {
    /// The names of its cells.
    pub fn names(self) -> &'static [&'static str] {
        match self {
            Area::Server => SERVER_CELLS,
            Area::WorkerSlot(_) => SLOT_CELLS,
            Area::Row(_) => ROW_CELLS,
            Area::Peer(..) => PEER_CELLS,
        }
    }

    /// The cell's position in its area.
    pub(super) fn position(self, name: &str) -> Option<usize> {
        self.names().iter().position(|known| *known == name)
    }
}
