# frozen_string_literal: true

# Owns the errors of sinks. One that keeps an event from being accepted says by its status what the client can do.
module Elah
  class Sink
    # The root of what concerns sinks alone.
    class Error < Elah::Error; end

    # The journal has reached its bound, or the disk has no room: the event was not accepted. It works again when events are delivered.
    class Full < Overloaded; end

    # The disk failed a sync, so what it holds is unknown: the journal accepts no more events until the process is started again. A readiness check
    # raises it also while the delivery itself fails.
    class Failed < Unavailable; end

    # An event, or the name of its stream, is over its bound: it was not accepted.
    class TooLarge < BadRequest
      # @param message [String]
      def initialize(message) = super(message, 413, "event_too_large")
    end

    # A file of the journal is not as it was written. The next opening sets it aside and goes on.
    class Damaged < Error; end

    # There is no descriptor, or no memory, to read the journal with. The delivery goes on when there is.
    class Unreadable < Error; end

    # The sink's journal was closed.
    class Closed < Error; end

    # The sink's folder cannot be used.
    class CannotOpen < Error; end

    # A destination does not take some events of a batch, and never will; it has taken the others. To whoever waits for the delivery of an
    # event it says that it is a dead letter now.
    class Rejected < BadRequest
      # @return [Hash{String=>String}] why, by the id of each event that it does not take
      attr_reader :reasons

      # @param reasons [Hash{String=>String}]
      def initialize(reasons)
        @reasons = reasons
        super("The destination does not take #{reasons.one? ? 'the event' : "#{reasons.size} events"}.", 422, "event_rejected")
      end
    end
  end
end
