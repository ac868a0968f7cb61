# frozen_string_literal: true

module Elah
  class Sink
    # Brings a batch to a destination: tries again while the destination is to blame, and finds the events that are to blame by halving.
    class Attempts
      # The destination does not answer, or not in time: the same events will do later.
      PASSING = [Unavailable, Overloaded, DeadlineExceeded, Store::Full, Store::Failed, Store::Busy, Store::Conflict, Timeout::Error, IOError,
                 SystemCallError].freeze
      # What a destination may raise because of one event. Deep nesting ends in a SystemStackError.
      OF_AN_EVENT = [StandardError, ScriptError, SystemStackError].freeze
      private_constant :OF_AN_EVENT

      # @param destination [#deliver]
      # @param backoff [Backoff]
      # @param health [Health]
      # @param seconds [Numeric] how long one attempt may take
      # @param pause [#call] waits so many seconds
      def initialize(destination, backoff:, health:, seconds:, pause:)
        @destination = destination
        @backoff = backoff
        @health = health
        @seconds = seconds
        @pause = pause
      end

      # Returns when the destination has every event that it takes.
      #
      # @param events [Array<Event>]
      # @return [Array<Array(Event, String)>] the others, each with the reason
      def deliver(events)
        Elah.timeout(@seconds) { @destination.deliver(events) }
        @health.succeeded
        []
      rescue Rejected => e
        @health.succeeded
        events.filter_map { |event| [event, e.reasons[event.id]] if e.reasons.key?(event.id) }
      rescue Cancelled
        raise
      rescue *OF_AN_EVENT => e
        if passing?(e)
          wait_after(e)
          retry
        end
        return [[events.first, Text.of_exception(e)]] if events.one?

        events.each_slice((events.size + 1) / 2).flat_map { |half| deliver(half) }
      end

      private

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
