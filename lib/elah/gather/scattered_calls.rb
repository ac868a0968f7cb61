# frozen_string_literal: true

module Elah
  class Gather
    # The calls of a gather that one carrier sends together.
    class ScatteredCalls
      # One of them, among the others.
      Call = Struct.new(:calls, :index) do
        # @return [Array] outcome, answer and error
        def outcome = calls.outcome(index)
      end

      def initialize(carrier)
        @carrier = carrier
        @deferred_calls = []
      end

      # @param deferred [#carrier] one call more
      # @return [Call]
      def add(deferred)
        @deferred_calls << deferred
        Call.new(self, @deferred_calls.size - 1)
      end

      # Sends them all.
      #
      # @param seconds [Numeric, nil]
      def start(seconds)
        @scattered = @carrier.scatter(@deferred_calls, seconds)
      rescue StandardError => e
        @failure = e
      end

      # Waits until all have ended, or the time is over.
      #
      # @param seconds [Numeric, nil]
      def wait(seconds) = @scattered&.wait(seconds)

      # @param index [Integer]
      # @return [Array] outcome, answer and error
      def outcome(index)
        return @scattered.outcome(index) if @scattered

        @failure ? [:failed, nil, @failure] : [:late, nil, nil]
      end

      # Gives up those that have no answer yet.
      def cancel = @scattered&.cancel
    end
  end
end
