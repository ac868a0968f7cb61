# frozen_string_literal: true

module Elah
  class Sink
    # What this process knows of a sink's destination.
    class Health
      # @return [Integer] attempts that have failed since the last that did not
      attr_reader :failures

      # @return [String, nil] what the last attempt failed with
      attr_reader :error

      # @param notices [Notices] told of it
      def initialize(notices)
        @notices = notices
        forget
      end

      # @return [void]
      def succeeded
        return if ok? || stuck?

        @notices.succeeded(failing_seconds)
        forget
      end

      # @param error [Exception]
      # @return [void]
      def failed(error)
        @failures += 1
        @failing_since ||= Concurrency.now
        @error = Text.of_exception(error)
        @notices.failed(@error)
      end

      # The delivery itself has failed, and neither the destination nor an event is to blame. Nothing leaves the journal until it succeeds.
      #
      # @param error [Exception]
      # @return [void]
      def stuck(error)
        @is_stuck = true
        failed(error)
      end

      # A batch is done: the destination has it, and the ledger knows.
      #
      # @return [void]
      def settled
        return unless stuck?

        @is_stuck = false
        succeeded
      end

      # @return [Boolean] whether the delivery itself fails, so that waiting for the destination does not help
      def stuck? = @is_stuck

      # @return [Boolean]
      def ok? = @failures.zero?

      # @return [Float, nil] seconds since the first of the {#failures}
      def failing_seconds = @failing_since && (Concurrency.now - @failing_since).round(3)

      # @return [Hash{String=>Object}] for the report
      def to_h = { "ok" => ok?, "failures" => @failures, "failing_seconds" => failing_seconds, "error" => @error }

      private

      def forget
        @failures = 0
        @error = nil
        @failing_since = nil
        @is_stuck = false
      end
    end
  end
end
