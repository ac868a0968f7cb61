# frozen_string_literal: true

module Elah
  class Store
    class Cluster
      # A table of a cluster. Its methods are those of {Elah::Store::Table}; each waits for the database.
      class Table
        include Interface::Table

        ID = "(SELECT tbl FROM elah_tables WHERE name = $1)"
        GET = "SELECT value FROM elah_rows WHERE tbl = #{ID} AND key = $2 AND #{Schema::LIVE}".freeze
        # By its number, as the planner would count through the rows of all tables to find those of an unknown one. No row when another has it.
        SIZE = "SELECT count(*) FROM elah_rows WHERE tbl = $2 HAVING EXISTS (SELECT FROM elah_tables WHERE name = $1 AND tbl = $2)"
        LAST = "SELECT key FROM elah_rows WHERE tbl = #{ID} ORDER BY key DESC LIMIT 1".freeze
        AT = "SELECT (#{LAST}), (#{GET})".freeze
        RANGE = "SELECT key, value FROM elah_rows WHERE tbl = #{ID} AND key >= $2 AND key < $3 AND %s ORDER BY key %s LIMIT $4".freeze
        RANGES = [Schema::LIVE, Schema::WAS_LIVE].product(%w[ASC DESC]).to_h { |parts| [parts, format(RANGE, *parts)] }.freeze

        HELD = format(Schema::HELD, "elah_tables").freeze
        EXPIRY = "#{format(Schema::NOW, 'now()')} + $4::bigint".freeze
        # The number of rows that are written; no row without the name.
        STORED = "#{HELD}, stored AS (INSERT INTO elah_rows AS r (tbl, key, value, expires_at) " \
                 "SELECT tbl, $2::bytea, $3::bytea, #{EXPIRY} FROM held ON CONFLICT (tbl, key) DO UPDATE " \
                 "SET value = EXCLUDED.value, expires_at = EXCLUDED.expires_at%s RETURNING 1) SELECT (SELECT count(*) FROM stored) FROM held".freeze
        PUT = format(STORED, "").freeze
        # Over an entry that has expired.
        PUT_NEW = format(STORED, " WHERE r.expires_at <= #{format(Schema::NOW, 'now()')}").freeze
        DELETE = "#{HELD}, gone AS (DELETE FROM elah_rows r USING held WHERE r.tbl = held.tbl AND key = $2 RETURNING #{Schema::LIVE} AS live) " \
                 "SELECT live FROM gone".freeze
        private_constant :ID, :HELD, :STORED, :GET, :SIZE, :LAST, :AT, :RANGE, :RANGES, :EXPIRY, :PUT, :PUT_NEW, :DELETE

        # @return [String]
        attr_reader :name

        # @return [Elah::Store::Cluster]
        # @api private
        attr_reader :store

        # @api private
        def initialize(store, name)
          @store = store
          @name = name
        end

        # (see Elah::Store::Table#get)
        def get(key)
          key = Limits.key(key)
          read { |sql| sql.value(GET, @name, key) }
        end

        # (see Elah::Store::Table#size)
        def size = @store.tables.numbered(@name) { |number| read { |sql| sql.value(SIZE, @name, number) } } || 0

        # (see Elah::Store::Table#at)
        def at(position)
          key = [Limits.integer("position", position, Limits::POSITIONS)].pack("Q>")
          last, value = read { |sql| sql.rows(AT, @name, key).first }
          [last ? last.unpack1("Q>") + 1 : 0, value]
        end

        # (see Elah::Store::Table#respond_at)
        def respond_at(request, status, headers, position, size)
          Limits.integer("size", size, Limits::POSITIONS)
          stored, value = at(position)
          request.respond(status, headers, value) if value && stored == size
        end

        # (see Elah::Store::Table#delete)
        def delete(key)
          key = Limits.key(key)
          @store.database.write { |sql| sql.value(DELETE, @name, key) } || false
        end

        # @return [Integer] its number, which is created if it is missing; a failover may lose it
        # @api private
        def id = @id ||= @store.tables.create(@name)

        # Makes {#id} look for the number again.
        # @api private
        def forget = @id = nil

        # @api private
        # @param sql [Elah::SQL::Statements]
        # @param span [Span]
        # @param live [String] which entries have not expired, of {Schema}
        # @return [Array<Array(String, String)>]
        def read_span(sql, span, limit, is_reverse, live = Schema::LIVE)
          sql.rows(RANGES.fetch([live, is_reverse ? "DESC" : "ASC"]), @name, span.from, span.til, limit)
        end

        private

        def read(&block) = @store.database.read(&block)

        def read_range(conditions, limit, is_reverse)
          span = Span.of(conditions, is_reverse)
          return [] if span.empty? || limit.zero?

          @store.database.read { |sql| read_span(sql, span, limit, is_reverse) }
        end

        def write_entry(key, value, ttl_ms, only_new)
          key = Limits.key(key)
          value = Limits.value(value)
          put = only_new ? PUT_NEW : PUT
          @store.tables.naming(@name) { @store.database.write { |sql| sql.value(put, @name, key, value, ttl_ms) } } == 1
        end
      end
    end
  end
end
