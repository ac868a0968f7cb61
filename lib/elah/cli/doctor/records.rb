# frozen_string_literal: true

module Elah
  module CLI
    module Doctor
      # ActiveRecord's pools against the limits of the server, and who owns a connection.
      class Records
        PAGE = "docs/databases.md#pool-sizes"

        # Fewer connections are what a server of a few threads needs.
        POOL_MIN = 10
        private_constant :PAGE, :POOL_MIN

        # @param config [Elah::Config]
        # @param app [#call, nil]
        def initialize(config, app)
          @config = config
          @app = app
        end

        # @return [Array<Finding>]
        def findings
          found = Doctor.attempt(:isolation) { isolation }
          defined?(::ActiveRecord::Base) ? found + Doctor.attempt(:records) { pools } : found
        end

        private

        def pools
          pools = list
          pools.map { |pool| size(pool) } + gates(pools)
        end

        # Of all roles and shards; 7.1 has another method for them than those before it.
        def list
          handler = ::ActiveRecord::Base.connection_handler
          pools = handler.respond_to?(:all_connection_pools) ? handler.all_connection_pools : handler.connection_pool_list(:all)
          pools.uniq
        end

        def size(pool)
          name = pool.db_config.name
          message = "The pool #{name} has #{pool.size} connections in each worker for up to #{@config.fibers_max} requests at once"
          if pool.size >= POOL_MIN
            return Finding.new(level: :ok, check: :records, message: "#{message}; others wait up to #{pool.checkout_timeout} s")
          end

          Finding.new(level: :warning, check: :records, page: PAGE, message: message,
                      remedy: "set `pool` in config/database.yml to what the server handles well, such as 10 to 50; others wait up to " \
                              "#{pool.checkout_timeout} s and then fail")
        end

        # Requests beyond the connections wait in the pool, and fail there; before a gate they wait without a fiber.
        def gates(pools)
          largest = pools.map(&:size).max or return []
          bounded = @app.respond_to?(:gates) ? @app.gates.keys : []
          bounded.select { |gate| gate.running_max > largest * Framework::Gate::PER_CONNECTION }.map do |gate|
            Finding.new(level: :warning, check: :records, page: PAGE,
                        message: "`behind` admits #{gate.running_max} requests at once, and the largest pool has #{largest} connections",
                        remedy: "set its max: to at most #{largest * Framework::Gate::PER_CONNECTION}")
          end
        end

        def isolation
          level = Adapters.isolation_level or return
          return Finding.new(level: :ok, check: :isolation, message: "Rails keeps the state of a request by fiber") if level == :fiber
          if @config.adapters?
            return Finding.new(level: :ok, check: :isolation, message: "`elah serve` makes Rails keep the state of a request by fiber")
          end

          Finding.new(level: :warning, check: :isolation, page: "docs/databases.md#which-drivers-work",
                      message: "isolation_level is :#{level} and the adapters are off, so all requests share CurrentAttributes and connections",
                      remedy: "set config.active_support.isolation_level = :fiber, or remove --no-adapters")
        end
      end
    end
  end
end
