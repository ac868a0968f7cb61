# frozen_string_literal: true

module Elah
  class API
    # A bound that endpoints share, because what stands behind them serves only so many requests at once. The rest wait in line,
    # without a fiber, for a bounded time.
    class Gate
      # How many requests are let through for each connection of a pool: one that uses it, and one that comes or goes.
      PER_CONNECTION = 2

      # @return [Integer] requests that run at once, in each worker
      attr_reader :running_max
      # @return [Integer, nil] requests that may wait; nil is the option `queue_max`
      attr_reader :queue_max
      # @return [Numeric, nil] seconds that one may wait; nil is the option `queue_seconds`
      attr_reader :queue_seconds

      # @param pool [#connections_max, nil] what stands behind the endpoints
      # @param max [Integer, nil] requests at once; nil is what the pool can serve
      # @param queue_max [Integer, nil]
      # @param queue_seconds [Numeric, nil]
      # @raise [ArgumentError]
      def initialize(pool, max:, queue_max:, queue_seconds:)
        raise ArgumentError, "behind takes a pool with connections_max, or max:" unless max || pool.respond_to?(:connections_max)

        @running_max = max || pool.connections_max * PER_CONNECTION
        @queue_max = queue_max
        @queue_seconds = queue_seconds
        check(:max, @running_max, Integer, 1)
        check(:queue_max, queue_max, Integer, 0) if queue_max
        check(:queue_seconds, queue_seconds, Numeric, 0) if queue_seconds
      end

      private

      def check(name, value, type, min)
        return if value.is_a?(type) && value >= min

        raise ArgumentError, "#{name}: is #{type == Integer ? 'a whole number' : 'a number'} of #{min} or more, not #{value.inspect}"
      end
    end
  end
end
