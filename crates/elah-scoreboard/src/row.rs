//! A worker's own row on the scoreboard. Only its loop writes there, at its ticks, so that a stuck loop shows.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::names::{ROW_CELLS, place};
use super::{Area, Scoreboard, now_ms};

/// A worker whose loop has not written for longer does not count when connections are distributed.
const FRESH_MS: u64 = 600;

/// The state `ready`, see `ROW_CELLS`.
const READY: u64 = 2;

/// Connections by which a worker may exceed the least loaded one before it leaves new ones to the others; one eighth is added for
/// many.
const SURPLUS_MIN: u64 = 2;
const SURPLUS_SHARE: u64 = 8;

/// What a loop reports about itself.
#[derive(Debug, Default, Clone, Copy)]
pub struct Report {
    pub iterations: u64,
    pub connections_accepted: u64,
    pub requests: u64,
    pub responses: u64,
    pub refused: u64,
    pub open_requests: u64,
    pub waiting_requests: u64,
    pub fibers: u64,
    /// A request may start and has no fiber yet.
    pub has_ready: bool,
}

/// A row, with the lag of its loop since the last report.
#[derive(Debug)]
pub struct Row {
    scoreboard: Arc<Scoreboard>,
    number: usize,
    lag_ms: Cell<u64>,
    reports: Cell<u64>,
    unserved: Cell<Unserved>,
}

/// Since when a request could have got a fiber and none did, 0 for not at all; and how many had one by then.
#[derive(Debug, Default, Clone, Copy)]
struct Unserved {
    since_ms: u64,
    requests: u64,
}

impl Row {
    /// `None` if the scoreboard has no such row.
    pub fn new(scoreboard: Arc<Scoreboard>, number: usize) -> Option<Row> {
        (number < scoreboard.sizes().rows).then(|| Row {
            scoreboard,
            number,
            lag_ms: Cell::new(0),
            reports: Cell::new(0),
            unserved: Cell::new(Unserved::default()),
        })
    }

    fn set(&self, name: &str, value: u64) {
        if let Some(cell) = self.scoreboard.cell(Area::Row(self.number), name) {
            cell.store(value, Ordering::Relaxed);
        }
    }

    /// Records by how much a tick was late.
    pub fn note_lag(&self, lag_ms: u64) {
        self.lag_ms.set(self.lag_ms.get().max(lag_ms));
    }

    /// Connections are distributed by this number, so it is written at once.
    pub fn set_connections(&self, open: usize) {
        self.set("connections", open as u64);
    }

    pub fn publish(&self, report: &Report) {
        let lag = self.lag_ms.take();
        let lag_max = self.scoreboard.cell(Area::Row(self.number), "lag_ms_max").map_or(0, |cell| cell.load(Ordering::Relaxed));
        for (name, value) in [
            ("iterations", report.iterations),
            ("connections_accepted", report.connections_accepted),
            ("requests", report.requests),
            ("responses", report.responses),
            ("refused", report.refused),
            ("open_requests", report.open_requests),
            ("waiting_requests", report.waiting_requests),
            ("fibers", report.fibers),
            ("lag_ms", lag),
            ("lag_ms_max", lag_max.max(lag)),
            ("unserved_since_ms", self.unserved_since(report)),
            ("heartbeat_ms", now_ms()),
        ] {
            self.set(name, value);
        }
        // Reading it takes the kernel some microseconds.
        if self.reports.replace(self.reports.get() + 1).is_multiple_of(4) {
            let (resident, anonymous) = memory_bytes().unwrap_or((0, 0));
            self.set("rss_bytes", resident);
            self.set("anonymous_bytes", anonymous);
        }
    }

    fn unserved_since(&self, report: &Report) -> u64 {
        let known = self.unserved.get();
        let since_ms = match report.has_ready {
            false => 0,
            true if known.since_ms > 0 && known.requests == report.requests => known.since_ms,
            true => now_ms(),
        };
        self.unserved.set(Unserved { since_ms, requests: report.requests });
        since_ms
    }

    /// True if another worker has so many fewer connections that the next ones should be left to it.
    pub fn should_leave_connections(&self, open: usize) -> bool {
        const STATE: usize = place(ROW_CELLS, "state");
        const HEARTBEAT: usize = place(ROW_CELLS, "heartbeat_ms");
        const CONNECTIONS: usize = place(ROW_CELLS, "connections");
        let now = now_ms();
        let least = (0..self.scoreboard.rows_used()).filter(|row| *row != self.number).filter_map(|row| {
            let cell = |position| self.scoreboard.row_cell(row, position);
            let takes_connections = cell(STATE) == READY && now.saturating_sub(cell(HEARTBEAT)) < FRESH_MS;
            takes_connections.then(|| cell(CONNECTIONS))
        });
        least.min().is_some_and(|least| open as u64 >= least + SURPLUS_MIN.max(least / SURPLUS_SHARE))
    }
}

/// Resident memory of this process, and the part of it that is no page of a file, such as a store's: the system takes those back by
/// itself. `None` where the system does not report it.
fn memory_bytes() -> Option<(u64, u64)> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let mut pages = text.split(' ').skip(1).map(|number| number.parse::<u64>().ok());
    let (resident, shared) = (pages.next()??, pages.next()??);
    Some((resident * PAGE_BYTES, resident.saturating_sub(shared) * PAGE_BYTES))
}

/// The size of a page on the machines that Elah is built for.
const PAGE_BYTES: u64 = 4096;
