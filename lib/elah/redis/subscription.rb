# frozen_string_literal: true

module Elah
  class Redis < Clients::Redis
    # What somebody published. `pattern` is the one that the channel matched, nil for a channel subscribed to by its name.
    Message = Struct.new(:channel, :pattern, :payload)

    # The messages of some channels, on a connection of its own. When that is lost it comes back by itself with the same channels;
    # what was published meanwhile is missed, as Redis keeps no messages. A reader that is slow makes the server keep what it
    # has not read, up to the server's own bound.
    class Subscription
      include Enumerable

      # @api private
      def initialize(native)
        @native = native
      end

      # Reads messages until the subscription is closed. Only this fiber waits.
      #
      # @yieldparam message [Message]
      # @return [Enumerator] without a block
      def each
        return enum_for(:each) unless block_given?

        while (message = next_message)
          yield message
        end
      end

      # @param seconds [Numeric, nil] how long to wait; nil waits for as long as it takes
      # @return [Message, nil] nil when none came in time, or the subscription is closed
      def next_message(seconds = nil)
        fields = @native.next(seconds&.to_f)
        fields ? Message.new(*fields) : nil
      end

      # @return [Integer] how often the connection was lost, and with it perhaps messages
      def losses = @native.losses

      # Ends the subscription; who waits for a message gets nil.
      #
      # @return [nil]
      def close = @native.close
    end
  end
end
