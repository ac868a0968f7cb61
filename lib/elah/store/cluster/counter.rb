# frozen_string_literal: true

module Elah
  class Store
    class Cluster
      # Counters of a cluster. Their methods are those of {Elah::Store::Counter}; each waits for the database, which stores every increment at once,
      # whatever the durability.
      class Counter
        GET = "SELECT count FROM elah_counts WHERE tbl = (SELECT tbl FROM elah_counters WHERE name = $1) AND key = $2"
        HELD = format(Schema::HELD, "elah_counters").freeze
        # No row without the name.
        SUM = " SELECT (SELECT count FROM sum) FROM held"
        INCREMENT = "#{HELD}, sum AS (INSERT INTO elah_counts AS c (tbl, key, count) SELECT tbl, $2::bytea, $3::bigint FROM held ON CONFLICT " \
                    "(tbl, key) DO UPDATE SET count = c.count + EXCLUDED.count WHERE c.count + EXCLUDED.count <= $4 RETURNING count)#{SUM}".freeze
        # A key that has no value stays without one.
        INCREMENT_OLD = "#{HELD}, sum AS (UPDATE elah_counts c SET count = c.count + $3 FROM held " \
                        "WHERE c.tbl = held.tbl AND key = $2 AND c.count + $3 <= $4 RETURNING count)#{SUM}".freeze
        DELETE = "#{HELD} DELETE FROM elah_counts c USING held WHERE c.tbl = held.tbl AND key = $2".freeze
        HIGHEST = Limits::INTEGERS.max
        private_constant :GET, :HELD, :SUM, :INCREMENT, :INCREMENT_OLD, :DELETE, :HIGHEST

        # @return [String]
        attr_reader :name

        # @return [Symbol] `:disk` or `:memory`, which are the same on a cluster
        attr_reader :durability

        # @return [Elah::Store::Cluster]
        # @api private
        attr_reader :store

        # @api private
        def initialize(store, name, durability)
          @store = store
          @name = name
          @durability = durability
        end

        # (see Elah::Store::Counter#get)
        def get(key)
          key = Limits.key(key)
          @store.database.read { |sql| count(sql, key) } || 0
        end

        # (see Elah::Store::Counter#increment)
        def increment(key, by: 1, max: nil, durability: nil)
          key = Limits.key(key)
          by = Limits.integer("by", by)
          check_durability(durability, max)
          max = max ? Limits.integer("max", max) : HIGHEST
          increment = by <= max ? INCREMENT : INCREMENT_OLD
          @store.counters.naming(@name) { @store.database.write { |sql| sql.rows(increment, @name, key, by, max).first } }.first
        rescue SQL::Error
          raise overflow(key, by)
        end

        # (see Elah::Store::Counter#delete)
        def delete(key)
          key = Limits.key(key)
          @store.database.write { |sql| sql.execute(DELETE, @name, key) }.affected_rows == 1
        end

        # @return [Integer] its number; it is created if it is missing
        # @api private
        def id = @id ||= @store.counters.create(@name)

        # Makes {#id} look for the number again.
        # @api private
        def forget = @id = nil

        # @param sql [Elah::SQL::Statements]
        # @return [Integer, nil]
        # @api private
        def count(sql, key)
          sql.value(GET, @name, key)
        end

        # @return [Overflow]
        # @api private
        def overflow(key, by, value = get(key))
          Overflow.new("A counter at #{value} cannot be changed by #{by}: the sum does not fit into 64 bits.")
        end

        private

        def check_durability(durability, max)
          unless [nil, :disk, :memory].include?(durability)
            raise TypeError, "no implicit conversion of #{durability.class} into Symbol" unless durability.is_a?(Symbol) || durability.is_a?(String)

            raise ArgumentError, "durability: must be :disk or :memory, not #{durability.to_s.inspect}"
          end
          return unless durability == :memory && max

          raise ArgumentError, "max: needs durability: :disk, because only the writer knows what other processes have counted"
        end
      end
    end
  end
end
