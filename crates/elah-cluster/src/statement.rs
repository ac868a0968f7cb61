//! The statements of a writer's connection, and the database's replies.

/// A shard together with the term under which its memory was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Held {
    pub shard: u32,
    pub term: u64,
}

/// A shard together with the epoch under which a writer has claimed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Claimed {
    pub shard: u32,
    pub epoch: u64,
}

/// A statement of the writer's connection. `$writer` is the machine's, `$serial` stands in [`Action::Send`](crate::Action::Send).
///
/// All but [`Statement::Open`] are *numbered*: they begin with the fence
///
/// ```sql
/// WITH fence AS (UPDATE elah_writers SET sequence = $serial
///                WHERE writer = $writer AND session = $session AND sequence = $after AND NOT fenced RETURNING 1)
/// ```
///
/// and change nothing when it finds no row.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Statement {
    /// Begins a session, which ends those before. It is several statements, each in autocommit, sent one after the other:
    ///
    /// 1. if `register`: `INSERT INTO elah_writers (writer, ..., sequence, session, fenced) VALUES ($writer, ..., 0, 0, false) ON
    ///    CONFLICT DO NOTHING`, not ready, with the version of the [`Config`](crate::Config)
    /// 2. `UPDATE elah_writers SET session = $serial WHERE writer = $writer AND session < $serial AND NOT fenced RETURNING sequence`
    /// 3. if that returned a row, `SELECT shard, epoch FROM elah_shards WHERE writer = $writer`, in a statement of its own, because
    ///    one that waited for a lock still reads what there was before; the reply is [`Opened::Session`]
    /// 4. otherwise `SELECT sequence, fenced FROM elah_writers WHERE writer = $writer`: [`Opened::Fenced`] or [`Opened::Missing`]; a
    ///    row that is not fenced means that somebody else uses the number, and is [`Opened::Missing`] too
    Open { register: bool },
    /// Stores the rows of the batch `id`: `put` and `gone` of the protocol. The reply is [`Reply::Done`].
    Batch { session: u64, after: u64, id: u64 },
    /// A sign of life, which also sets `ready`. The reply is [`Reply::Done`].
    Beat { session: u64, after: u64, ready: bool },
    /// Claims what is free of these shards. The reply is [`Reply::Claims`].
    ///
    /// ```sql
    /// claimed AS (UPDATE elah_shards s SET writer = $writer, epoch = epoch + 1
    ///             WHERE shard = ANY ($shards) AND EXISTS (SELECT FROM fence)
    ///               AND NOT EXISTS (SELECT FROM elah_writers w WHERE w.writer = s.writer AND NOT w.fenced)
    ///             RETURNING shard, epoch)
    /// ```
    Claim { session: u64, after: u64, shards: Vec<u32> },
    /// Frees these shards. The reply is [`Reply::Done`].
    ///
    /// ```sql
    /// released AS (UPDATE elah_shards SET writer = NULL
    ///              WHERE shard = ANY ($shards) AND writer = $writer AND EXISTS (SELECT FROM fence))
    /// ```
    Release { session: u64, after: u64, shards: Vec<u32> },
}

impl Statement {
    /// Whether writers or owners have changed for other processes, if this was the reply.
    pub fn changes_board(&self, reply: &Reply) -> bool {
        match reply {
            Reply::Claims(claims) => claims.as_ref().is_some_and(|claims| !claims.is_empty()),
            Reply::Opened(_) | Reply::Done(_) => matches!(self, Statement::Open { .. } | Statement::Release { .. }),
        }
    }
}

/// The database's reply to a statement.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Reply {
    /// To [`Statement::Open`].
    Opened(Opened),
    /// To the others, but for claims: whether the fence found its row.
    Done(bool),
    /// To [`Statement::Claim`]: the shards that the writer has got, `None` if the fence found no row.
    Claims(Option<Vec<Claimed>>),
}

/// What a writer learns when it opens a session.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Opened {
    /// The session is open. The statements of earlier sessions up to `sequence` are stored, and no other ever will be.
    Session { sequence: u64, shards: Vec<Claimed> },
    /// The writer is fenced. Its statements up to `sequence` are stored, and no other ever will be.
    Fenced { sequence: u64 },
    /// There is no such writer: the database has lost it.
    Missing,
}

/// The signs of life that an observer has read of a writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Seen {
    pub sequence: u64,
    pub session: u64,
}
