# frozen_string_literal: true

require_relative "handover"
require_relative "stopwatch"

module Elah
  class Supervisor
    # Changes of the workers that take several steps with waits between them: one at a time, each in a fiber that reads from top to
    # bottom. The supervisor resumes it whenever something may have happened.
    class Changes
      include Handover

      # @param workers [WorkerSet]
      # @param table [Table]
      # @param config [Elah::Config]
      # @param log [Elah::Log]
      def initialize(workers, table, config, log)
        @workers = workers
        @table = table
        @config = config
        @log = log
        @waiting = {}
        @starts = []
        @resizes = 0
        @releasing = []
      end

      # Runs the block after earlier changes.
      #
      # @param name [Object] a waiting change of this name is not added again
      def add(name, &block) = @waiting[name] ||= block

      # Discards waiting and running changes.
      def clear
        @waiting.clear
        @fiber = nil
        @starts.clear
        renew(@releasing)
      end

      # Runs changes until one has to wait.
      def advance
        while (@fiber ||= next_fiber)
          @fiber.resume
          return if @fiber.alive? && @starts.empty?

          @fiber = nil unless @fiber.alive?
          @starts.shift.call until @starts.empty?
        end
      end

      # Waits inside a change until the block is true.
      #
      # @param seconds [Numeric]
      # @return [Boolean] whether that was in time
      def wait(seconds)
        waited = Stopwatch.new(Concurrency.now)
        until yield
          return false if waited.seconds(Concurrency.now) > seconds

          Fiber.yield
        end
        true
      end

      private

      def next_fiber
        name, block = @waiting.first
        return unless name

        @waiting.delete(name)
        Fiber.new do
          block.call
        rescue StandardError => e
          @log.exception(e, "A change of the workers failed")
        end
      end

      # Forks in the main stack, because a fork continues in the fiber that called it.
      def start(slot)
        started = failure = nil
        @starts << lambda do
          started = @workers.start(slot)
        rescue StandardError => e
          failure = e
        end
        Fiber.yield until started || failure
        started || raise(failure)
      end
    end
  end
end
