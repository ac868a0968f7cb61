# frozen_string_literal: true

module Elah
  class Gather
    # The calls of a gather that share a route and are sent together.
    class ScatteredCalls
      # One of these calls.
      Call = Struct.new(:calls, :index) do
        # @return [Array] outcome, result and error
        def outcome = calls.outcome(index)
      end

      def initialize(route)
        @route = route
        @deferred_calls = []
      end

      # @param deferred [#route] the call to add
      # @return [Call]
      def add(deferred)
        @deferred_calls << deferred
        Call.new(self, @deferred_calls.size - 1)
      end

      # Sends them all.
      #
      # @param seconds [Numeric, nil]
      def start(seconds)
        @scattered = @route.scatter(@deferred_calls, seconds)
      rescue StandardError => e
        @failure = e
      end

      # Waits until all have ended, with a time limit.
      #
      # @param seconds [Numeric, nil]
      def wait(seconds) = @scattered&.wait(seconds)

      # @param index [Integer]
      # @return [Array] outcome, result and error
      def outcome(index)
        return @scattered.outcome(index) if @scattered

        @failure ? [:failed, nil, @failure] : [:late, nil, nil]
      end

      # Cancels the calls without a result.
      def cancel = @scattered&.cancel
    end
  end
end
