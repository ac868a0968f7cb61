# frozen_string_literal: true

module Elah
  module Framework
    # A limit that endpoints share, because their database or service handles only so many requests at once. Other requests wait in line, without a
    # fiber, for a limited time.
    class Gate
      # Number of admitted requests per connection of a pool: one that uses it, and one that starts or ends.
      PER_CONNECTION = 2

      # @return [Integer] maximum number of running requests, in each worker
      attr_reader :running_max
      # @return [Integer, nil] maximum number of waiting requests; nil uses the option `queue_max`
      attr_reader :queue_max
      # @return [Numeric, nil] maximum wait in seconds; nil uses the option `queue_seconds`
      attr_reader :queue_seconds

      # @param pool [#connections_max, nil] the pool that the endpoints use
      # @param max [Integer, nil] maximum number of running requests; nil derives it from the pool
      # @param queue_max [Integer, nil]
      # @param queue_seconds [Numeric, nil]
      # @raise [ArgumentError]
      def initialize(pool, max:, queue_max:, queue_seconds:)
        raise ArgumentError, "behind accepts a pool with connections_max, or max:" unless max || pool.respond_to?(:connections_max)

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

        raise ArgumentError, "#{name}: must be #{type == Integer ? 'a whole number' : 'a number'} of #{min} or more, not #{value.inspect}"
      end
    end
  end
end
