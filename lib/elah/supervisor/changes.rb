# frozen_string_literal: true

require_relative "handover"

module Elah
  class Supervisor
    # What the supervisor does in several steps, with waits between them: one change at a time, each in a fiber, so that it reads from
    # top to bottom. The supervisor resumes it whenever something may have happened.
    class Changes
      include Handover

      # @param crew [Crew]
      # @param table [Table]
      # @param config [Elah::Config]
      # @param log [Elah::Log]
      def initialize(crew, table, config, log)
        @crew = crew
        @table = table
        @config = config
        @log = log
        @waiting = {}
        @starts = []
        @resizes = 0
      end

      # Does the block when those before it are done.
      #
      # @param name [Object] a change that waits already is not added again
      def add(name, &block) = @waiting[name] ||= block

      # Forgets what waits and what goes on.
      def clear
        @waiting.clear
        @fiber = nil
        @starts.clear
      end

      # Goes on as far as can be.
      def advance
        while (@fiber ||= next_fiber)
          @fiber.resume
          return if @fiber.alive? && @starts.empty?

          @fiber = nil unless @fiber.alive?
          @starts.shift.call until @starts.empty?
        end
      end

      # Waits, in a change.
      #
      # @param seconds [Numeric]
      # @return [Boolean] whether the block said yes in time
      def wait(seconds)
        give_up_at = Concurrency.now + seconds
        until yield
          return false if Concurrency.now > give_up_at

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

      # A fork is made in the main stack.
      def start(slot)
        started = failure = nil
        @starts << lambda do
          started = @crew.start(slot)
        rescue StandardError => e
          failure = e
        end
        Fiber.yield until started || failure
        started || raise(failure)
      end
    end
  end
end
