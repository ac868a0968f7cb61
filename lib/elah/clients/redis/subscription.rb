# frozen_string_literal: true

module Elah
  class Redis < Clients::Redis
    # A published message.
    #
    # @attr_reader [String] channel
    # @attr_reader [String, nil] pattern the pattern that the channel matched; nil for a channel subscribed to by name
    # @attr_reader [String] payload
    Message = Struct.new(:channel, :pattern, :payload)

    # The messages of some channels, on a separate connection. After a lost connection it subscribes to the same channels again. Messages published
    # meanwhile are lost, because Redis keeps none. With a slow reader, the server keeps unread messages up to its own limit.
    class Subscription
      include Enumerable

      # @api private
      def initialize(native)
        @native = native
      end

      # Reads messages until the subscription is closed. Only this fiber waits.
      #
      # @overload each(&block)
      #   @yieldparam message [Message]
      #   @return [void]
      # @overload each
      #   @return [Enumerator<Message>]
      def each
        return enum_for(:each) unless block_given?

        while (message = next_message)
          yield message
        end
      end

      # @param seconds [Numeric, nil] maximum wait; nil waits without a limit
      # @return [Message, nil] nil after a timeout, or when the subscription is closed
      def next_message(seconds = nil)
        fields = @native.next(seconds&.to_f)
        fields ? Message.new(*fields) : nil
      end

      # @return [Integer] how often the connection was lost, and with it perhaps messages
      def losses = @native.losses

      # Ends the subscription; a fiber that waits for a message gets nil.
      #
      # @return [nil]
      def close = @native.close
    end
  end
end
