# frozen_string_literal: true

# The errors of sinks. An error that refuses an event has the HTTP status for the client.
module Elah
  class Sink
    # Root of all errors that belong to sinks.
    class Error < Elah::Error; end

    # The journal has reached its bound, or the disk is full: the event was not accepted. The sink accepts events again once some are delivered.
    class Full < Overloaded; end

    # A sync of the disk failed, so the state of the disk is unknown. The journal accepts no events until the process restarts. A readiness check
    # raises it also while the delivery itself fails.
    class Failed < Unavailable; end

    # An event, or the name of its stream, is too large: it was not accepted.
    class TooLarge < BadRequest
      # @param message [String]
      def initialize(message) = super(message, 413, "event_too_large")
    end

    # A file of the journal is damaged. The next opening sets it aside and continues.
    class Damaged < Error; end

    # No descriptor or no memory to read the journal. The delivery continues once there is.
    class Unreadable < Error; end

    # The sink's journal was closed.
    class Closed < Error; end

    # The sink's folder cannot be used.
    class CannotOpen < Error; end

    # The destination permanently rejects some events of a batch and has accepted the others. A caller that waits for the delivery of such an event
    # receives it too; the event is a dead letter then.
    class Rejected < BadRequest
      # @return [Hash{String=>String}] the reasons, by the ID of each rejected event
      attr_reader :reasons

      # @param reasons [Hash{String=>String}]
      def initialize(reasons)
        @reasons = reasons
        super("The destination rejected #{reasons.one? ? 'the event' : "#{reasons.size} events"}.", 422, "event_rejected")
      end
    end

    # The {Rejected} of a caller that waits for a delivery. If that caller is the block of another sink, it says nothing about the block's own batch.
    # @api private
    class PushRejected < Rejected; end
  end
end
