# frozen_string_literal: true

module Elah
  class Supervisor
    # The place of one worker. It keeps its shards when the process changes.
    class WorkerSlot
      # A worker that exits sooner after it was ready counts as a repeated failure.
      SETTLED_SECONDS = 1.0

      # A worker that exceeds `worker_bytes_max` sooner after it was ready is not helped by its replacement.
      HELPED_SECONDS = 60.0

      # Backoff by failures in a row: the first restart is immediate.
      BACK_OFF_SECONDS = [0.0, 0.0, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0].freeze

      # @return [Integer]
      attr_reader :number

      # @return [Child, nil] the worker that has its shards, or will have them when it is ready
      attr_accessor :child

      # @return [Child, nil] the replacement that is booting
      attr_accessor :successor

      # @return [Integer] failures in a row
      attr_reader :failures

      # @param number [Integer]
      def initialize(number)
        @number = number
        @failures = @vain_replacements = 0
        @not_before = @replace_not_before = 0.0
      end

      # Records that its worker exited unexpectedly, or could not be started.
      #
      # @param child [Child, nil]
      # @param now [Float]
      # @return [Float] seconds until the next is started
      def failed(child, now)
        @failures = settled?(child, now) ? 1 : @failures + 1
        wait = backoff(@failures)
        @not_before = now + wait
        wait
      end

      # Records that its worker exceeds `worker_bytes_max`.
      #
      # @param child [Child]
      # @param now [Float]
      # @return [Float, nil] seconds until it may be replaced; nil when this is known
      def outgrown(child, now)
        return if @large.equal?(child)

        @large = child
        @vain_replacements = 0 if now - child.ready_at >= HELPED_SECONDS
        delay_replacement(now)
      end

      # Records that the worker's replacement could not be started, or did not boot.
      #
      # @param now [Float]
      # @return [Float] seconds until the next may be started
      def delay_replacement(now)
        wait = backoff(@vain_replacements += 1)
        @replace_not_before = now + wait
        wait
      end

      # @param now [Float]
      # @return [Boolean] whether a worker that is too large may be replaced
      def replaceable?(now) = now >= @replace_not_before

      # A killed worker did not fail by itself.
      def settled?(child, now)
        child&.ready? && (now - child.ready_at >= SETTLED_SECONDS || child.status&.termsig == Signal.list["KILL"])
      end

      def backoff(failures) = BACK_OFF_SECONDS.fetch(failures, BACK_OFF_SECONDS.last)
      private :settled?, :backoff

      # @param now [Float]
      # @return [Boolean] whether a worker is missing and may be started
      def due?(now) = @child.nil? && @successor.nil? && now >= @not_before
    end
  end
end
