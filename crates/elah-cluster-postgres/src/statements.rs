//! The statements of a writer, and of what others do to it. Each is one statement in autocommit, so that a client that is paused never
//! holds a lock. `elah-cluster` has the reasons.

/// Makes the writer's row, once, unless the cluster works by a later version. It waits while somebody raises that version, so that one of
/// the two sees the other.
pub(crate) const REGISTER: &str = "
WITH cluster AS MATERIALIZED (SELECT version FROM elah_cluster FOR SHARE)
INSERT INTO elah_writers (writer, node, address, socket, version, lease_ms)
SELECT $1::bigint, $2::text, $3::text, $4::text, $5::int, $6::bigint FROM cluster WHERE version <= $5::int ON CONFLICT DO NOTHING";

/// When this server was started, in microseconds: another one, or the same after a restart, has another time.
pub(crate) const SERVER: &str = "SELECT (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint";

/// The version of the protocol by which all work.
pub(crate) const SPOKEN: &str = "SELECT version FROM elah_cluster";

/// Raises the version by which all work, unless a writer speaks only an earlier one. The block takes each of its statements by itself, so
/// that the second one sees who has registered before the first one had the lock.
pub(crate) fn raise(version: u32) -> String {
    format!(
        "DO $$ BEGIN
           PERFORM FROM elah_cluster FOR UPDATE;
           UPDATE elah_cluster SET version = {version} WHERE version < {version}
             AND NOT EXISTS (SELECT FROM elah_writers WHERE NOT fenced AND version < {version});
         END $$"
    )
}

/// Whether the process of the writer `$1` is a worker of a server, and where other machines call it.
pub(crate) const SHOW: &str = "UPDATE elah_writers SET serves = $2, address = $3 WHERE writer = $1";

/// What the process of the writer `$1` has counted.
pub(crate) const FIGURES: &str = "
INSERT INTO elah_figures (writer, lag_ms, losses, restores, drops, moves) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (writer) DO UPDATE SET lag_ms = EXCLUDED.lag_ms, losses = EXCLUDED.losses, restores = EXCLUDED.restores,
  drops = EXCLUDED.drops, moves = EXCLUDED.moves";

/// Ends every statement of an earlier session of the writer: none of them is stored after this.
pub(crate) const OPEN: &str = "
UPDATE elah_writers SET session = $2 WHERE writer = $1 AND session < $2 AND NOT fenced RETURNING sequence";

/// The shards of a writer.
pub(crate) const OWN_SHARDS: &str = "SELECT shard, epoch FROM elah_shards WHERE writer = $1";

/// What became of a writer that cannot open a session.
pub(crate) const FATE: &str = "SELECT sequence, fenced, session FROM elah_writers WHERE writer = $1";

/// What each numbered statement begins with: of the writer `$1` the statement `$2` of the session `$3`, after the statement `$4`.
macro_rules! fenced {
    ($changes:literal, $($rest:tt)*) => {
        concat!(
            "WITH fence AS (UPDATE elah_writers SET sequence = $2",
            $changes,
            " WHERE writer = $1 AND session = $3 AND sequence = $4 AND NOT fenced RETURNING 1)",
            $($rest)*
        )
    };
}

macro_rules! put {
    () => {
        ",
put AS (
  INSERT INTO elah_rows (tbl, key, value, expires_at)
  SELECT tbl, key, value,
    CASE WHEN lifetime IS NOT NULL THEN (extract(epoch FROM clock_timestamp()) * 1000)::bigint + lifetime END
  FROM unnest($5::int[], $6::bytea[], $7::bytea[], $8::bigint[]) AS p(tbl, key, value, lifetime)
  WHERE EXISTS (SELECT FROM fence)
  ON CONFLICT (tbl, key) DO UPDATE SET value = EXCLUDED.value, expires_at = EXCLUDED.expires_at)"
    };
}

/// A batch without rows.
pub(crate) const BATCH_EMPTY: &str = fenced!("", " SELECT count(*) FROM fence");

/// Rows to put: `$5` to `$8` are their tables, keys, values and lifetimes in milliseconds. No key occurs twice, and all are sorted.
pub(crate) const BATCH_PUT: &str = fenced!("", put!(), " SELECT count(*) FROM fence");

/// The same, and rows to delete: `$9, $10` are their tables and keys.
pub(crate) const BATCH: &str = fenced!(
    "",
    ",
gone AS (
  DELETE FROM elah_rows r USING unnest($9::int[], $10::bytea[]) AS d(tbl, key)
  WHERE r.tbl = d.tbl AND r.key = d.key AND EXISTS (SELECT FROM fence))",
    put!(),
    " SELECT count(*) FROM fence"
);

/// A sign of life, and whether the writer wants shards.
pub(crate) const BEAT: &str = fenced!(", ready = $5", " SELECT count(*) FROM fence");

/// Claims those of the shards `$5` that no living writer owns.
///
/// An update that has waited for another one compares only the row's own columns again: what a sub-query found, it takes as found. So the
/// epoch tells whether another writer has claimed the shard meanwhile.
pub(crate) const CLAIM: &str = fenced!(
    "",
    ",
free AS MATERIALIZED (
  SELECT shard, epoch FROM elah_shards s
  WHERE shard = ANY ($5::int[]) AND NOT EXISTS (SELECT FROM elah_writers w WHERE w.writer = s.writer AND NOT w.fenced)),
claimed AS (
  UPDATE elah_shards s SET writer = $1, epoch = s.epoch + 1 FROM free f
  WHERE s.shard = f.shard AND s.epoch = f.epoch AND EXISTS (SELECT FROM fence) RETURNING s.shard, s.epoch)
SELECT (SELECT count(*) FROM fence), (SELECT array_agg(shard) FROM claimed), (SELECT array_agg(epoch) FROM claimed)"
);

/// Gives the shards `$5` up. The epoch grows too, so that the sum of all tells of every change.
pub(crate) const RELEASE: &str = fenced!(
    "",
    ",
released AS (
  UPDATE elah_shards SET writer = NULL, epoch = epoch + 1
  WHERE shard = ANY ($5::int[]) AND writer = $1 AND EXISTS (SELECT FROM fence))
SELECT count(*) FROM fence"
);

/// Declares a writer dead that has shown no sign of life since `$2` and `$3` were read.
pub(crate) const FENCE_SEEN: &str = "
WITH dead AS (
  UPDATE elah_writers SET fenced = true, fenced_at = now() WHERE writer = $1 AND sequence = $2 AND session = $3 AND NOT fenced RETURNING 1)
SELECT count(*) FROM dead";

/// Declares a writer dead whose process has ended.
pub(crate) const FENCE: &str = "
WITH dead AS (UPDATE elah_writers SET fenced = true, fenced_at = now() WHERE writer = $1 AND NOT fenced RETURNING 1) SELECT count(*) FROM dead";

/// The sum grows whenever a shard has another owner, or none. After a failover that has lost claims it comes to the same numbers again,
/// but from another server. With it comes the version by which all work.
pub(crate) const SHARDS_VERSION: &str = "
SELECT coalesce(sum(epoch), 0)::bigint, (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint,
  (SELECT version FROM elah_cluster) FROM elah_shards";

/// All owners.
pub(crate) const SHARDS: &str = "SELECT shard, epoch, writer FROM elah_shards ORDER BY shard";

/// The writers that are not fenced, and those that own shards still. One that is told to drain counts as not ready at once, not at its next
/// beat: of two that drain, neither hands over to the other.
pub(crate) const WRITERS: &str = "
SELECT writer, node, address, socket, version, ready AND NOT draining, sequence, session, fenced, draining, lease_ms, serves
FROM elah_writers w
WHERE NOT fenced OR EXISTS (SELECT FROM elah_shards s WHERE s.writer = w.writer) ORDER BY writer";

/// Listens to what [`ANNOUNCE`] says.
pub(crate) const LISTEN: &str = "LISTEN elah_owners";

/// Tells all processes that look at the board to look at once. Those of other clusters of the same database look too, and see no change.
pub(crate) const ANNOUNCE: &str = "NOTIFY elah_owners";

/// Forgets writers that were fenced a day ago and own nothing. Until then a writer that comes back learns what became of its batches.
pub(crate) const SWEEP_WRITERS: &str = "
DELETE FROM elah_writers w WHERE fenced AND fenced_at < now() - interval '1 day'
AND NOT EXISTS (SELECT FROM elah_shards s WHERE s.writer = w.writer)";

/// A table's number, made at its first use.
pub(crate) const TABLE: &str = "
WITH made AS (INSERT INTO elah_tables (name) VALUES ($1) ON CONFLICT DO NOTHING RETURNING tbl)
SELECT tbl FROM made UNION ALL SELECT tbl FROM elah_tables WHERE name = $1 LIMIT 1";

/// A range of live rows for the owner of their shard: whether the database knows the session `$2` of the writer `$1` and its statement
/// `$3`, and up to `$7` rows of the table named `$4` from `$5` on, which is part of it if `$6`; with `has_end` up to `$8`, which is part of
/// it if `$9`. Without rows there is one of nulls.
pub(crate) fn range(has_end: bool, is_reverse: bool) -> String {
    let end = if has_end { "AND key <= $8 AND ($9 OR key <> $8)" } else { "" };
    let direction = if is_reverse { "DESC" } else { "ASC" };
    format!(
        "SELECT s.stands, r.key, r.value
         FROM (SELECT EXISTS (
           SELECT FROM elah_writers WHERE writer = $1 AND session = $2 AND sequence >= $3) AS stands) s
         LEFT JOIN LATERAL (
           SELECT key, value FROM elah_rows WHERE tbl = (SELECT tbl FROM elah_tables WHERE name = $4) AND key >= $5 AND ($6 OR key <> $5) {end}
           AND (expires_at IS NULL OR expires_at > (extract(epoch FROM clock_timestamp()) * 1000)::bigint)
           ORDER BY key {direction} LIMIT $7) r ON true"
    )
}
