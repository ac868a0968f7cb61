# frozen_string_literal: true

module Elah
  class Store
    # Logs when a store of this worker begins to refuse writes, and when it accepts them again.
    class Watch
      # Interval of checks; a store that is full stays so at least this long.
      PERIOD_SECONDS = 0.5

      # @param event_loop [Elah::EventLoop]
      # @param log [Elah::Log]
      def self.start(event_loop, log) = new(event_loop, log).expect

      # @param event_loop [Elah::EventLoop]
      # @param log [Elah::Log]
      def initialize(event_loop, log)
        @event_loop = event_loop
        @log = log
        @known = {}
      end

      # Schedules the next check of the loop.
      def expect
        wait = @event_loop.new_wait
        @event_loop.after_wait(wait) do
          look
          expect
        end
        @event_loop.start_timer(wait, PERIOD_SECONDS)
      end

      private

      def look
        troubles = Store.troubles
        (troubles.keys - @known.keys).each { |dir| @log.error("The store in #{dir} accepts no writes: #{troubles[dir]}") }
        (@known.keys - troubles.keys).each { |dir| @log.info("The store in #{dir} accepts writes again") }
        @known = troubles
        Store.clusters.each { |cluster| cluster.notes.each { |note| @log.warn("#{note} (#{cluster.dir})") } }
      end
    end
  end
end
