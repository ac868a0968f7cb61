# frozen_string_literal: true

module Elah
  class Supervisor
    # A place of one worker. It keeps its shards when the process in it is another.
    class Slot
      # A worker that lived for less after it was ready counts as one that failed again.
      SETTLED_SECONDS = 1.0

      # The first worker after a failure comes at once; then they wait longer each time, up to the last.
      BACK_OFF_SECONDS = [0.0, 0.0, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0].freeze

      # @return [Integer]
      attr_reader :number

      # @return [Child, nil] who has its shards, or will have them when it is ready
      attr_accessor :child

      # @return [Child, nil] who is to take its place
      attr_accessor :successor

      # @return [Integer] failures in a row
      attr_reader :failures

      # @param number [Integer]
      def initialize(number)
        @number = number
        @failures = 0
        @not_before = 0.0
      end

      # Notes that its worker has ended without being asked to, or could not be started.
      #
      # @param child [Child, nil]
      # @param now [Float]
      # @return [Float] seconds until the next is started
      def failed(child, now)
        @failures = settled?(child, now) ? 1 : @failures + 1
        wait = BACK_OFF_SECONDS.fetch(@failures, BACK_OFF_SECONDS.last)
        @not_before = now + wait
        wait
      end

      # A worker that somebody killed did not fail by itself.
      def settled?(child, now)
        child&.ready? && (now - child.ready_at >= SETTLED_SECONDS || child.status&.termsig == Signal.list["KILL"])
      end
      private :settled?

      # @param now [Float]
      # @return [Boolean] whether a worker is missing and may be started
      def due?(now) = @child.nil? && @successor.nil? && now >= @not_before
    end
  end
end
