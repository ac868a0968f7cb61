# frozen_string_literal: true

require "socket"

module Elah
  class Sink
    # Attempts to deliver a batch: retries while the destination fails, and halves the batch to find rejected events.
    class Attempts
      # Errors of a destination that does not respond in time: retrying the same events can succeed.
      PASSING = [Unavailable, Overloaded, DeadlineExceeded, Store::Unavailable, CannotOpen, Timeout::Error, IOError, SystemCallError,
                 SocketError].freeze
      private_constant :PASSING

      # @param error [Exception]
      # @return [Boolean] whether a server that does not respond caused it, and not an event
      def self.passing?(error)
        return true if PASSING.any? { |passing| passing === error } || Adapters::ErrorMapping.of(error)

        # Most apps do not load OpenSSL.
        defined?(::OpenSSL::SSL::SSLError) ? error.is_a?(::OpenSSL::SSL::SSLError) : false
      end

      # @param destination [#deliver]
      # @param backoff [Backoff]
      # @param health [Health] told of each outcome
      # @param seconds [Numeric] time limit of one attempt
      # @param pause [#call] waits for the given number of seconds
      # @param lock [Mutex] held during each call of `deliver`
      def initialize(destination, backoff:, health:, seconds:, pause:, lock:)
        @destination = destination
        @backoff = backoff
        @health = health
        @seconds = seconds
        @pause = pause
        @lock = lock
      end

      # Returns when the destination has accepted or rejected every event. Each attempt gets an Array of its own, and the data as it was pushed.
      #
      # @param events [Array<Event>]
      # @return [Array<Array(Event, String)>] the rejected events, each with the reason
      def deliver(events)
        @lock.synchronize { Elah.timeout(@seconds) { @destination.deliver(events.dup) } }
        @health.succeeded
        []
      rescue EventLoop::Fatal
        raise
      rescue Exception => e # -- an event may cause any: SystemStackError, NoMemoryError, `exit`, the Cancelled of another fiber
        return rejected(events, e) if verdict?(events, e)
        raise if over?

        events.each(&:reset)
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
        event_loop.nil? || event_loop.closing?
      end

      # Whether the destination names events of this batch and has processed all others. {PushRejected} has ended the block before it did.
      def verdict?(events, error)
        error.is_a?(Rejected) && !error.is_a?(PushRejected) && (error.reasons.keys - events.map(&:id)).empty?
      end

      def rejected(events, error)
        @health.succeeded
        events.filter_map { |event| [event, error.reasons[event.id]] if error.reasons.key?(event.id) }
      end

      def refused(event, error)
        @health.refused(error, event)
        [[event, Text.of_exception(error)]]
      end

      def passing?(error)
        Attempts.passing?(error) || (@destination.respond_to?(:passing?) && @destination.passing?(error))
      end

      def wait_after(error)
        @health.failed(error)
        @pause.call(@backoff.seconds(@health.failures))
      end
    end
  end
end
