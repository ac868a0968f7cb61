# frozen_string_literal: true

module Elah
  class Sink
    # Attempts to deliver a batch: retries while the destination fails, and halves the batch to find rejected events.
    class Attempts
      # Errors of a destination that does not respond in time: retrying the same events can succeed.
      PASSING = [Unavailable, Overloaded, DeadlineExceeded, Store::Full, Store::Failed, Store::Busy, Store::Conflict, Timeout::Error, IOError,
                 SystemCallError].freeze

      # @param destination [#deliver]
      # @param backoff [Backoff]
      # @param health [Health] told of each outcome
      # @param seconds [Numeric] time limit of one attempt
      # @param pause [#call] waits for the given number of seconds
      def initialize(destination, backoff:, health:, seconds:, pause:)
        @destination = destination
        @backoff = backoff
        @health = health
        @seconds = seconds
        @pause = pause
      end

      # Returns when the destination has accepted or rejected every event.
      #
      # @param events [Array<Event>]
      # @return [Array<Array(Event, String)>] the rejected events, each with the reason
      def deliver(events)
        Elah.timeout(@seconds) { @destination.deliver(events) }
        @health.succeeded
        []
      rescue Rejected => e
        @health.succeeded
        events.filter_map { |event| [event, e.reasons[event.id]] if e.reasons.key?(event.id) }
      rescue EventLoop::Fatal
        raise
      rescue Exception => e # -- an event may cause any: SystemStackError, NoMemoryError, `exit`, the Cancelled of another fiber
        raise if over?

        if passing?(e)
          wait_after(e)
          retry
        end
        return refused(events.first, e) if events.one?

        events.each_slice((events.size + 1) / 2).flat_map { |half| deliver(half) }
      end

      private

      # Whether the loop ends, or this is a fork of the destination, which has none.
      def over?
        event_loop = Elah.current_loop
        event_loop.nil? || !event_loop.ending.nil?
      end

      def refused(event, error)
        @health.refused(error, event)
        [[event, Text.of_exception(error)]]
      end

      def passing?(error)
        PASSING.any? { |passing| passing === error } || (@destination.respond_to?(:passing?) && @destination.passing?(error))
      end

      def wait_after(error)
        @health.failed(error)
        @pause.call(@backoff.seconds(@health.failures))
      end
    end
  end
end
