# frozen_string_literal: true

module Elah
  class Store
    # Says in the log when a store of this worker begins to take no writes, and when it takes them again.
    class Watch
      # Between two looks at what is known; a store that is full stays so for as long at least.
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

      # Has the loop look in a while, again and again.
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
        (troubles.keys - @known.keys).each { |dir| @log.error("The store in #{dir} takes no writes: #{troubles[dir]}") }
        (@known.keys - troubles.keys).each { |dir| @log.info("The store in #{dir} takes writes again") }
        @known = troubles
      end
    end
  end
end
