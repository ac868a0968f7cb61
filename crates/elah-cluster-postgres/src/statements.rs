//! The statements of a writer's numbered sequence, and of what others do to it. Each is one statement in autocommit, so that a
//! client that is paused never holds a lock.

/// A new writer.
pub(crate) const REGISTER: &str =
    "INSERT INTO elah_writers (node, address, socket, version) VALUES ($1, $2, $3, $4) RETURNING writer";

/// Rows of a batch: `$4, $5` tables and keys to delete, `$6` to `$9` tables, keys, values and lifetimes in milliseconds to put.
/// No key occurs twice, and all are sorted.
pub(crate) const BATCH: &str = "
WITH fence AS (
  UPDATE elah_writers SET batch = $2 WHERE writer = $1 AND session = $3 AND batch = $2 - 1 AND NOT fenced RETURNING 1),
gone AS (
  DELETE FROM elah_rows r USING unnest($4::int[], $5::bytea[]) AS d(tbl, key)
  WHERE r.tbl = d.tbl AND r.key = d.key AND EXISTS (SELECT FROM fence)),
put AS (
  INSERT INTO elah_rows (tbl, key, value, expires_at)
  SELECT tbl, key, value, (extract(epoch FROM clock_timestamp()) * 1000)::bigint + lifetime
  FROM unnest($6::int[], $7::bytea[], $8::bytea[], $9::bigint[]) AS p(tbl, key, value, lifetime) WHERE EXISTS (SELECT FROM fence)
  ON CONFLICT (tbl, key) DO UPDATE SET value = EXCLUDED.value, expires_at = EXCLUDED.expires_at)
SELECT count(*) FROM fence";

/// A sign of life.
pub(crate) const BEAT: &str = "
WITH fence AS (UPDATE elah_writers SET beat = beat + 1 WHERE writer = $1 AND session = $2 AND NOT fenced RETURNING 1)
SELECT count(*) FROM fence";

/// Claims shards that have no writer, or a fenced one.
pub(crate) const CLAIM: &str = "
WITH fence AS (
  UPDATE elah_writers SET batch = $2, ready = true
  WHERE writer = $1 AND session = $3 AND batch = $2 - 1 AND NOT fenced RETURNING 1),
taken AS (
  UPDATE elah_shards s SET writer = $1, epoch = epoch + 1
  WHERE shard = ANY ($4::int[]) AND EXISTS (SELECT FROM fence)
  AND (writer IS NULL OR EXISTS (SELECT FROM elah_writers w WHERE w.writer = s.writer AND w.fenced)) RETURNING shard, epoch)
SELECT (SELECT count(*) FROM fence), (SELECT array_agg(shard) FROM taken), (SELECT array_agg(epoch) FROM taken)";

/// Gives shards up.
pub(crate) const RELEASE: &str = "
WITH fence AS (
  UPDATE elah_writers SET batch = $2 WHERE writer = $1 AND session = $3 AND batch = $2 - 1 AND NOT fenced RETURNING 1),
freed AS (
  UPDATE elah_shards SET writer = NULL, epoch = epoch + 1
  WHERE shard = ANY ($4::int[]) AND writer = $1 AND EXISTS (SELECT FROM fence))
SELECT count(*) FROM fence";

/// Ends every statement of an earlier connection of the writer: none of them is stored after this.
pub(crate) const NEW_SESSION: &str =
    "UPDATE elah_writers SET session = session + 1 WHERE writer = $1 AND NOT fenced RETURNING batch, session";

/// The shards of a writer.
pub(crate) const OWN_SHARDS: &str = "SELECT shard, epoch FROM elah_shards WHERE writer = $1";

/// Declares a writer dead that has shown no sign of life.
pub(crate) const FENCE: &str = "
WITH dead AS (
  UPDATE elah_writers SET fenced = true WHERE writer = $1 AND batch = $2 AND beat = $3 AND NOT fenced RETURNING 1)
SELECT count(*) FROM dead";

/// Ends a writer for good, when its process ends or is known to have ended.
pub(crate) const END: &str = "UPDATE elah_writers SET fenced = true WHERE writer = $1 AND NOT fenced";

/// Grows whenever a shard has another owner, or none.
pub(crate) const SHARDS_VERSION: &str = "SELECT coalesce(sum(epoch), 0)::bigint FROM elah_shards";

/// All owners.
pub(crate) const SHARDS: &str = "SELECT shard, epoch, writer FROM elah_shards ORDER BY shard";

/// The writers that are not fenced, and those that own shards still.
pub(crate) const WRITERS: &str = "
SELECT writer, node, address, socket, version, ready, batch, beat, fenced FROM elah_writers w
WHERE NOT fenced OR EXISTS (SELECT FROM elah_shards s WHERE s.writer = w.writer) ORDER BY writer";

/// Forgets writers that are fenced, own nothing and are an hour old.
pub(crate) const SWEEP_WRITERS: &str = "
DELETE FROM elah_writers w WHERE fenced AND started < now() - interval '1 hour'
AND NOT EXISTS (SELECT FROM elah_shards s WHERE s.writer = w.writer)";

/// Removes up to 1,000 expired rows; several processes may do so at once.
pub(crate) const SWEEP_ROWS: &str = "
DELETE FROM elah_rows WHERE (tbl, key) IN (
  SELECT tbl, key FROM elah_rows WHERE expires_at <= (extract(epoch FROM clock_timestamp()) * 1000)::bigint
  LIMIT 1000 FOR UPDATE SKIP LOCKED)";

/// A table's number, made at its first use.
pub(crate) const TABLE: &str = "
WITH made AS (INSERT INTO elah_tables (name) VALUES ($1) ON CONFLICT DO NOTHING RETURNING tbl)
SELECT tbl FROM made UNION ALL SELECT tbl FROM elah_tables WHERE name = $1 LIMIT 1";

/// A range of live rows: up to `$4` of the table `$1` from `$2` on, which is part of it if `$3`; with `has_end` up to `$5`, which
/// is part of it if `$6`.
pub(crate) fn range(has_end: bool, is_reverse: bool) -> String {
    let end = if has_end { "AND key <= $5 AND ($6 OR key <> $5)" } else { "" };
    let direction = if is_reverse { "DESC" } else { "ASC" };
    format!(
        "SELECT key, value FROM elah_rows WHERE tbl = $1 AND key >= $2 AND ($3 OR key <> $2) {end}
         AND (expires_at IS NULL OR expires_at > (extract(epoch FROM clock_timestamp()) * 1000)::bigint)
         ORDER BY key {direction} LIMIT $4"
    )
}
