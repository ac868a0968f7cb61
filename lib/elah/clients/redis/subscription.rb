# frozen_string_literal: true

module Elah
  class Redis < Clients::Redis
    # A published message.
    #
    # @attr_reader [String] channel
    # @attr_reader [String, nil] pattern the pattern that the channel matched; nil for a channel subscribed to by name
    # @attr_reader [String] payload
    Message = Struct.new(:channel, :pattern, :payload)

    # The messages of some channels, on a separate connection. After a lost connection, and in a fork, it subscribes to the same channels again.
    # Messages published meanwhile are lost, because Redis keeps none. With a slow reader, the server keeps unread messages up to its own limit.
    class Subscription
      include Enumerable

      # @yieldreturn [Clients::Redis::Subscription]
      # @api private
      def initialize(&subscribe)
        @subscribe = subscribe
        @losses = 0
        @native = subscribe.call
        @process_id = Process.pid
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
        unless @process_id == Process.pid
          return if @is_closed

          follow_fork
        end
        fields = @native.next(seconds&.to_f)
        fields ? Message.new(*fields) : nil
      end

      # @return [Integer] how often the connection was lost, and with it perhaps messages
      def losses = @losses + @native.losses

      # Ends the subscription; a fiber that waits for a message gets nil.
      #
      # @return [nil]
      def close
        @is_closed = true
        @native.close if @process_id == Process.pid
      end

      private

      # The connection is that of the parent, which gets its messages.
      def follow_fork
        native = @subscribe.call
        @losses = losses + 1
        @native = native
        @process_id = Process.pid
      end
    end
  end
end
