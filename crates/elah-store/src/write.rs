//! The changes of a caller, and their results.

use std::sync::Arc;

use super::batch::Batch;
use super::claim::Takeover;
use super::error::Error;
use super::layout::{check_key, check_value};
use super::range::Bounds;
use super::table::TableName;

/// One change. Those of one transaction are applied together or not at all.
#[derive(Clone, Debug)]
pub(super) enum Write {
    Put {
        table: Arc<TableName>,
        key: Vec<u8>,
        value: Vec<u8>,
        expires_at_ms: Option<u64>,
        only_new: bool,
    },
    Delete {
        table: Arc<TableName>,
        key: Vec<u8>,
    },
    Increment {
        counter: Arc<TableName>,
        key: Vec<u8>,
        by: i64,
        max: Option<i64>,
    },
    /// Gives a counter its id before it has an entry.
    Introduce {
        counter: Arc<TableName>,
    },
}

/// The result of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A put stored its value (`false`: a put of a new key found the key taken).
    Put(bool),
    /// A delete found its key.
    Deleted(bool),
    /// A counter's new value; `None` if the maximum prevented the change.
    Counted(Option<i64>),
    /// The counter has an id.
    Introduced,
    /// A shard has this epoch now.
    Claimed(u64),
}

/// Something that a transaction has read and that must be unchanged at the commit.
#[derive(Clone, Debug)]
pub(super) enum Read {
    Value { table: Arc<TableName>, key: Vec<u8>, seen: Option<Vec<u8>> },
    Range { table: Arc<TableName>, bounds: Bounds, seen: Vec<(Vec<u8>, Vec<u8>)> },
}

/// Work for the writer in a transaction.
#[derive(Debug)]
pub(super) enum Work {
    Changes(Changes),
    Batch(Batch),
    Claim(Takeover),
}

impl Work {
    /// A batch was checked while it was gathered.
    pub(super) fn check(&self) -> Result<(), Error> {
        if let Work::Changes(changes) = self { changes.check() } else { Ok(()) }
    }

    /// The approximate memory that it takes in the queue.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Work::Changes(changes) => changes.bytes(),
            Work::Batch(batch) => batch.bytes(),
            Work::Claim(takeover) => 2 * takeover.shards.len(),
        }
    }

    /// The writes of entities' calls, if it is a batch.
    pub(super) fn batch(&self) -> Option<&Batch> {
        if let Work::Batch(batch) = self { Some(batch) } else { None }
    }

    /// See [`Changes::touch_counters`].
    pub(super) fn touches_counters(&self) -> bool {
        matches!(self, Work::Changes(changes) if changes.touch_counters())
    }

    /// Whether the writer has kept the lock for it.
    pub(super) fn is_reserved(&self) -> bool {
        matches!(self, Work::Changes(Changes { is_reserved: true, .. }))
    }

    /// Records that nothing of it was stored, before anyone is notified.
    pub(super) fn fail(&self, error: &Error) {
        if let Work::Batch(batch) = self {
            batch.fail(error);
        }
    }
}

/// Reads to check, then writes to apply: all or nothing.
#[derive(Clone, Debug, Default)]
pub(super) struct Changes {
    pub(super) reads: Vec<Read>,
    pub(super) writes: Vec<Write>,
    /// The time at which the reads judged expiry.
    pub(super) read_at_ms: u64,
    /// The writer has kept the lock for these changes.
    pub(super) is_reserved: bool,
}

impl Changes {
    pub(super) fn one(write: Write) -> Self {
        Changes { writes: vec![write], ..Changes::default() }
    }

    pub(super) fn check(&self) -> Result<(), Error> {
        self.writes.iter().try_for_each(|write| match write {
            Write::Put { key, value, .. } => check_key(key).and_then(|()| check_value(value)),
            Write::Delete { key, .. } | Write::Increment { key, .. } => check_key(key),
            Write::Introduce { .. } => Ok(()),
        })
    }

    /// The approximate memory that they take in the queue.
    pub(super) fn bytes(&self) -> usize {
        let writes = self.writes.iter().map(|write| match write {
            Write::Put { key, value, .. } => key.len() + value.len(),
            Write::Delete { key, .. } | Write::Increment { key, .. } => key.len(),
            Write::Introduce { .. } => 0,
        });
        let reads = self.reads.iter().map(|read| match read {
            Read::Value { key, seen, .. } => key.len() + seen.as_ref().map_or(0, Vec::len),
            Read::Range { seen, .. } => seen.iter().map(|(key, value)| key.len() + value.len()).sum(),
        });
        64 * (self.writes.len() + self.reads.len()) + writes.chain(reads).sum::<usize>()
    }

    /// Whether these changes depend on a stored count, so that increments in memory must be folded first.
    pub(super) fn touch_counters(&self) -> bool {
        self.writes.iter().any(|write| match write {
            Write::Increment { .. } => true,
            Write::Delete { table, .. } => table.kind == super::layout::Kind::Counter,
            Write::Put { .. } | Write::Introduce { .. } => false,
        })
    }
}
