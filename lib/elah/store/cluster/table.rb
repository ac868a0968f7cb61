# frozen_string_literal: true

module Elah
  class Store
    class Cluster
      # A table of a cluster. Its methods are those of {Elah::Store::Table}; each waits for the database.
      class Table
        include Interface::Table

        GET = "SELECT value FROM elah_rows WHERE tbl = $1 AND key = $2 AND #{Schema::LIVE}".freeze
        SIZE = "SELECT count(*) FROM elah_rows WHERE tbl = $1"
        LAST = "SELECT key FROM elah_rows WHERE tbl = $1 ORDER BY key DESC LIMIT 1"
        AT = "SELECT (#{LAST}), (#{GET})".freeze
        RANGE = "SELECT key, value FROM elah_rows WHERE tbl = $1 AND key >= $2 AND key < $3 AND %s ORDER BY key %s LIMIT $4"
        RANGES = [Schema::LIVE, Schema::WAS_LIVE].product(%w[ASC DESC]).to_h { |parts| [parts, format(RANGE, *parts)] }.freeze

        EXPIRY = "#{format(Schema::NOW, 'now()')} + $4::bigint".freeze
        PUT = "#{Schema::HELD} INSERT INTO elah_rows AS r (tbl, key, value, expires_at) SELECT $1::int, $2::bytea, $3::bytea, #{EXPIRY} FROM held " \
              "ON CONFLICT (tbl, key) DO UPDATE SET value = EXCLUDED.value, expires_at = EXCLUDED.expires_at".freeze
        PUT_NEW = "#{PUT} WHERE r.expires_at <= #{format(Schema::NOW, 'now()')}".freeze
        DELETE = "#{Schema::HELD}, gone AS (DELETE FROM elah_rows r USING held WHERE tbl = $1 AND key = $2 RETURNING #{Schema::LIVE} AS live) " \
                 "SELECT live FROM gone".freeze
        private_constant :GET, :SIZE, :LAST, :AT, :RANGE, :RANGES, :EXPIRY, :PUT, :PUT_NEW, :DELETE

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
          read { |sql, id| sql.value(GET, id, key) }
        end

        # (see Elah::Store::Table#size)
        def size = read { |sql, id| sql.value(SIZE, id) } || 0

        # (see Elah::Store::Table#at)
        def at(position)
          key = [Limits.integer("position", position, Limits::POSITIONS)].pack("Q>")
          last, value = read { |sql, id| sql.rows(AT, id, key).first }
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
          @store.database.write { |sql| sql.value(DELETE, id, key) } || false
        end

        # @return [Integer] its number; it is created if it is missing
        # @api private
        def id = @id ||= @store.tables.create(@name)

        # @api private
        # @param sql [Elah::SQL::Statements]
        # @param span [Span]
        # @param live [String] which entries have not expired, of {Schema}
        # @return [Array<Array(String, String)>]
        def read_span(sql, span, limit, is_reverse, live = Schema::LIVE)
          known_id(sql) ? sql.rows(RANGES.fetch([live, is_reverse ? "DESC" : "ASC"]), @id, span.from, span.til, limit) : []
        end

        # @api private
        # @param sql [Elah::SQL::Statements]
        # @return [Integer, nil] its number; nil while it has no entry
        def known_id(sql) = @id ||= @store.tables.find(sql, @name)

        private

        # The block's value; nil while the table has no entry.
        def read = @store.database.read { |sql| known_id(sql) && yield(sql, @id) }

        def read_range(conditions, limit, is_reverse)
          span = Span.of(conditions, is_reverse)
          return [] if span.empty? || limit.zero?

          @store.database.read { |sql| read_span(sql, span, limit, is_reverse) }
        end

        def write_entry(key, value, ttl_ms, only_new)
          key = Limits.key(key)
          value = Limits.value(value)
          @store.database.write { |sql| sql.execute(only_new ? PUT_NEW : PUT, id, key, value, ttl_ms) }.affected_rows == 1
        end
      end
    end
  end
end
