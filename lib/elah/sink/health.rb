# frozen_string_literal: true

module Elah
  class Sink
    # Health of a sink's destination, as this process knows it.
    class Health
      # @return [Integer] failed attempts since the last successful one
      attr_reader :failures

      # @return [String, nil] the error of the last attempt
      attr_reader :error

      # @param notices [Notices] logs the changes
      # @api private
      def initialize(notices)
        @notices = notices
        forget
      end

      # @return [void]
      # @api private
      def succeeded
        return if ok? || stuck?

        @notices.succeeded(failing_seconds)
        forget
      end

      # @param error [Exception]
      # @return [void]
      # @api private
      def failed(error)
        @failures += 1
        @failing_since ||= Concurrency.now
        @error = Text.of_exception(error)
        @notices.failed(@error, error)
      end

      # Reports an exception of the destination that no retry helps against; its event becomes a dead letter.
      #
      # @param error [Exception]
      # @param event [Event]
      # @return [void]
      def refused(error, event) = @notices.refused(error, event.id)

      # Records that the delivery itself has failed, or that there is no room for a dead letter. Nothing leaves the journal until it succeeds.
      #
      # @param error [Exception]
      # @return [void]
      # @api private
      def stuck(error)
        @is_stuck = true
        failed(error)
      end

      # Records that a batch is delivered and settled in the ledger.
      #
      # @return [void]
      # @api private
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
