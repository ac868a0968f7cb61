# frozen_string_literal: true

module Elah
  class Store
    class Cluster
      # The tables of a cluster in its database. They are created once, by the first process that opens it. A later version of Elah that needs other
      # tables raises {FORMAT}. The row of `elah_cluster` also has the version of the protocol by which all processes work: see {Membership::VERSION}.
      module Schema
        # Of these tables and functions.
        FORMAT = 1
        # Advisory lock of the creation. Those of tables follow it: see {LOCK}.
        CREATION = "x'656c6168'::bigint"
        # Advisory lock of a table or counter as a whole, by its number `%s`.
        LOCK = "(x'656c6168'::bigint << 32) + %s"
        # Advisory lock of a key, from the number of its table and its bytes.
        KEY_LOCK = "hashtextextended(encode(%<key>s, 'hex'), %<table>s)"
        # The time, in milliseconds since 1970.
        NOW = "(extract(epoch from %s) * 1000)::bigint"
        # An entry that has not expired. The clock is read once, after the statement's snapshot was taken: by the time before it, an entry and the one
        # that has replaced it would both be there.
        LIVE = "(expires_at IS NULL OR expires_at > (SELECT #{format(NOW, 'clock_timestamp()')}))".freeze

        # The first statement of a transaction that reads: the snapshot is taken, then the time by which all its statements read.
        TAKE_TIME = "SELECT set_config('elah.now', #{format(NOW, 'clock_timestamp()')}::text, true)".freeze
        # An entry that had not expired then.
        WAS_LIVE = "(expires_at IS NULL OR expires_at > current_setting('elah.now')::bigint)"

        # What each write of the key `$2` in the table with the name `$1` begins with: nobody else's transaction that has read it commits at the same
        # time. Without a row the table has no number: that of an earlier statement may be another's, as a failover may lose it.
        HELD = "WITH held AS MATERIALIZED (SELECT tbl, pg_advisory_xact_lock_shared(#{format(LOCK, 'tbl')}), " \
               "pg_advisory_xact_lock(#{format(KEY_LOCK, key: '$2::bytea', table: 'tbl')}) FROM %s WHERE name = $1)".freeze

        TABLES = <<~SQL
          CREATE TABLE elah_cluster (
            format int NOT NULL,
            name text NOT NULL,
            shards int NOT NULL,
            version int NOT NULL,
            identity text,
            place text,
            the_only_row bool PRIMARY KEY DEFAULT true CHECK (the_only_row)
          );
          CREATE TABLE elah_tables (
            tbl int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            name text NOT NULL UNIQUE
          );
          CREATE TABLE elah_counters (
            tbl int PRIMARY KEY DEFAULT nextval(pg_get_serial_sequence('elah_tables', 'tbl')),
            name text NOT NULL UNIQUE
          );
          CREATE TABLE elah_writers (
            writer bigint PRIMARY KEY,
            node text NOT NULL,
            address text NOT NULL,
            socket text NOT NULL,
            version int NOT NULL,
            lease_ms bigint NOT NULL,
            serves bool NOT NULL DEFAULT false,
            ready bool NOT NULL DEFAULT false,
            draining bool NOT NULL DEFAULT false,
            sequence bigint NOT NULL DEFAULT 0,
            session bigint NOT NULL DEFAULT 0,
            fenced bool NOT NULL DEFAULT false,
            fenced_at timestamptz,
            started timestamptz NOT NULL DEFAULT now()
          ) WITH (fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
          CREATE TABLE elah_figures (
            writer bigint PRIMARY KEY REFERENCES elah_writers ON DELETE CASCADE,
            lag_ms bigint NOT NULL,
            losses bigint NOT NULL,
            restores bigint NOT NULL,
            drops bigint NOT NULL,
            moves bigint NOT NULL
          );
          CREATE TABLE elah_shards (
            shard int PRIMARY KEY,
            epoch bigint NOT NULL DEFAULT 0,
            writer bigint
          );
          CREATE TABLE elah_rows (
            tbl int,
            key bytea,
            value bytea NOT NULL,
            expires_at bigint,
            PRIMARY KEY (tbl, key)
          );
          CREATE INDEX elah_rows_expires_at ON elah_rows (expires_at) WHERE expires_at IS NOT NULL;
          CREATE TABLE elah_counts (
            tbl int,
            key bytea,
            count bigint NOT NULL,
            PRIMARY KEY (tbl, key)
          );
        SQL

        # Commits a transaction in one statement, so that a paused process holds no lock. True if all that it has read is unchanged. A read is a range
        # `from` (included) to `til` (excluded), and the digest of its entries. Locks are taken in one order, so that commits never wait for each
        # other in a circle; the checks come after them, each with a snapshot of its own, as READ COMMITTED has it.
        COMMIT = <<~SQL.freeze
          CREATE FUNCTION elah_commit_1(
            whole int[], parts int[], lock_tbl int[], lock_key bytea[], lock_written bool[],
            read_tbl int[], read_from bytea[], read_til bytea[], read_digest bytea[],
            seen_tbl int[], seen_key bytea[], seen_count bigint[],
            gone_tbl int[], gone_key bytea[],
            put_tbl int[], put_key bytea[], put_value bytea[], put_ttl bigint[],
            reset_tbl int[], reset_key bytea[],
            add_tbl int[], add_key bytea[], add_by bigint[]
          ) RETURNS bool LANGUAGE plpgsql AS $$
          DECLARE
            held record;
            now_ms bigint;
          BEGIN
            IF current_setting('transaction_isolation') <> 'read committed' THEN
              RAISE EXCEPTION 'the isolation level must be read committed';
            END IF;
            FOR held IN
              SELECT t, true AS alone FROM unnest(whole) t UNION ALL SELECT t, false FROM unnest(parts) t ORDER BY 1
            LOOP
              IF held.alone THEN
                PERFORM pg_advisory_xact_lock(#{format(LOCK, 'held.t')});
              ELSE
                PERFORM pg_advisory_xact_lock_shared(#{format(LOCK, 'held.t')});
              END IF;
            END LOOP;
            FOR held IN
              SELECT #{format(KEY_LOCK, key: 'l.key', table: 'l.tbl')} AS id, bool_or(l.written) AS alone
              FROM unnest(lock_tbl, lock_key, lock_written) l(tbl, key, written) GROUP BY 1 ORDER BY 1
            LOOP
              IF held.alone THEN
                PERFORM pg_advisory_xact_lock(held.id);
              ELSE
                PERFORM pg_advisory_xact_lock_shared(held.id);
              END IF;
            END LOOP;

            now_ms := #{format(NOW, 'clock_timestamp()')};
            IF cardinality(read_tbl) > 0 AND EXISTS (
              SELECT FROM unnest(read_tbl, read_from, read_til, read_digest) r(tbl, lowest, til, digest)
              CROSS JOIN LATERAL (
                SELECT sha256(coalesce(string_agg(
                  int4send(length(e.key)) || e.key || int4send(length(e.value)) || e.value, '' ORDER BY e.key
                ), '')) AS digest
                FROM elah_rows e
                WHERE e.tbl = r.tbl AND e.key >= r.lowest AND e.key < r.til AND (e.expires_at IS NULL OR e.expires_at > now_ms)
              ) stored
              WHERE stored.digest <> r.digest
            ) THEN
              RETURN false;
            END IF;
            IF cardinality(seen_tbl) > 0 AND EXISTS (
              SELECT FROM unnest(seen_tbl, seen_key, seen_count) s(tbl, key, count)
              LEFT JOIN elah_counts c ON c.tbl = s.tbl AND c.key = s.key
              WHERE c.count IS DISTINCT FROM s.count
            ) THEN
              RETURN false;
            END IF;

            IF cardinality(gone_tbl) > 0 THEN
              DELETE FROM elah_rows e USING unnest(gone_tbl, gone_key) g(tbl, key) WHERE e.tbl = g.tbl AND e.key = g.key;
            END IF;
            IF cardinality(put_tbl) > 0 THEN
              INSERT INTO elah_rows (tbl, key, value, expires_at)
                SELECT p.tbl, p.key, p.value, now_ms + p.ttl FROM unnest(put_tbl, put_key, put_value, put_ttl) p(tbl, key, value, ttl)
                ORDER BY 1, 2
                ON CONFLICT (tbl, key) DO UPDATE SET value = EXCLUDED.value, expires_at = EXCLUDED.expires_at;
            END IF;
            IF cardinality(reset_tbl) > 0 THEN
              -- A statement that has waited for the lock of a key updates the row that it saw before, and no other.
              UPDATE elah_counts c SET count = 0
                FROM (SELECT * FROM unnest(reset_tbl, reset_key) INTERSECT SELECT * FROM unnest(add_tbl, add_key)) g(tbl, key)
                WHERE c.tbl = g.tbl AND c.key = g.key;
              DELETE FROM elah_counts c
                USING (SELECT * FROM unnest(reset_tbl, reset_key) EXCEPT SELECT * FROM unnest(add_tbl, add_key)) g(tbl, key)
                WHERE c.tbl = g.tbl AND c.key = g.key;
            END IF;
            IF cardinality(add_tbl) > 0 THEN
              INSERT INTO elah_counts AS c (tbl, key, count)
                SELECT a.tbl, a.key, a.by FROM unnest(add_tbl, add_key, add_by) a(tbl, key, by) ORDER BY 1, 2
                ON CONFLICT (tbl, key) DO UPDATE SET count = c.count + EXCLUDED.count;
            END IF;
            RETURN true;
          END
          $$;
        SQL

        # A look at pg_class sees what was committed while the transaction waited for the lock; to_regclass may not.
        EXISTS = "SELECT EXISTS (SELECT FROM pg_class WHERE relname = 'elah_cluster' AND pg_table_is_visible(oid))"
        SETTINGS = "SELECT current_setting('server_version_num')::int, current_setting('default_transaction_isolation'), " \
                   "current_setting('server_encoding'), current_setting('array_nulls')"
        # The server, the database and the table. Those of a restored dump, or of another copy of the database, are others.
        HERE = "((SELECT system_identifier FROM pg_control_system()) || '/' || (SELECT oid FROM pg_database WHERE datname = current_database()) " \
               "|| '/' || 'elah_cluster'::regclass::oid)"
        MAY_ASK = "SELECT has_function_privilege('pg_control_system()', 'execute')"
        # The row of a cluster of before has no place.
        READ = "SELECT format, name, shards, version, coalesce(identity, name) AS identity, to_jsonb(c)->>'place' <> %s AS is_copy " \
               "FROM elah_cluster c"
        # What makes a copy a cluster of its own: the processes in its rows are those of the original.
        SETTLE = "UPDATE elah_cluster SET place = %1$s WHERE place <> %1$s"
        FENCE = "UPDATE elah_writers SET fenced = true, fenced_at = now() WHERE NOT fenced"
        private_constant :EXISTS, :SETTINGS, :HERE, :MAY_ASK, :READ, :SETTLE

        class << self
          # Creates the tables unless they are there.
          #
          # @param sql [Elah::SQL]
          # @param shards [Integer] of the entities
          # @return [Array(String, String)] the name of the cluster, and what its entities are told apart by from those of other stores
          # @raise [OtherShards]
          # @raise [CannotOpen] when the tables or the protocol are of a later version, or the database's settings do not fit
          def create(sql, shards)
            check_server(sql)
            found = read(sql) || sql.transaction(isolation: :read_committed) { |tx| read_or_write(tx, shards) }
            found = sql.transaction(isolation: :read_committed) { |tx| separate(tx) } if found["is_copy"]
            check(found, shards, sql.server)
            found.values_at("name", "identity")
          end

          # As {create}, in the transaction of the block. Nobody else creates the tables meanwhile.
          #
          # @param (see create)
          # @yieldparam transaction [Elah::SQL::Transaction]
          # @return [Object] the block's value
          # @raise (see create)
          def create_alone(sql, shards)
            check_server(sql)
            sql.transaction(isolation: :read_committed) do |tx|
              check(read_or_write(tx, shards), shards, sql.server)
              yield tx
            end
          end

          private

          def read(sql) = sql.value(EXISTS) ? sql.first(format(READ, here(sql))) : nil

          # A role that may not ask does not tell copies apart.
          def here(sql) = sql.value(MAY_ASK) ? HERE : "NULL::text"

          # A call would run in the original, and change the original's database. Living processes whose database has moved go on as other writers.
          def separate(transaction)
            transaction.execute(FENCE) if transaction.execute(format(SETTLE, here(transaction))).affected_rows.positive?
            read(transaction)
          end

          def read_or_write(transaction, shards)
            transaction.execute("SELECT pg_advisory_xact_lock(#{CREATION})")
            read(transaction) || write(transaction, shards)
          end

          def write(sql, shards)
            [*TABLES.split(";\n"), COMMIT].each { |statement| sql.execute(statement) }
            sql.execute("INSERT INTO elah_shards (shard) SELECT generate_series(0, $1::int - 1)", shards)
            sql.execute("INSERT INTO elah_cluster (format, name, shards, version, place) VALUES ($1, gen_random_uuid(), $2, $3, #{here(sql)})",
                        FORMAT, shards, Membership::VERSION)
            read(sql)
          end

          def check_server(sql)
            raise CannotOpen, "A cluster needs PostgreSQL 15 or later, and #{sql.server} is MySQL or MariaDB." unless sql.postgres?

            version, isolation, encoding, array_nulls = sql.rows(SETTINGS).first
            raise CannotOpen, "A cluster needs PostgreSQL 15 or later, and #{sql.server} is #{version / 10_000}." if version < 150_000

            unless isolation == "read committed"
              raise CannotOpen, "default_transaction_isolation of #{sql.server} is #{isolation}; a cluster needs read committed, the default."
            end
            raise CannotOpen, "The encoding of #{sql.server} is #{encoding}; a cluster needs UTF8." unless encoding == "UTF8"
            raise CannotOpen, "array_nulls of #{sql.server} is #{array_nulls}; a cluster needs on, the default." unless array_nulls == "on"
          end

          def check(found, shards, server)
            if found["format"] > FORMAT
              raise CannotOpen, "The tables of the cluster in #{server} have format #{found['format']}, and this version of Elah knows formats up " \
                                "to #{FORMAT}: install the version that the other nodes have."
            end
            if found["version"] > Membership::VERSION
              raise CannotOpen, "The cluster in #{server} works by version #{found['version']} of its protocol, and this version of Elah speaks up " \
                                "to #{Membership::VERSION}: install the version that the other nodes have."
            end
            return if found["shards"] == shards

            raise OtherShards, "The cluster in #{server} is divided into #{found['shards']} shards for good, and cannot be used with #{shards}."
          end
        end
      end

      private_constant :Schema
    end
  end
end
