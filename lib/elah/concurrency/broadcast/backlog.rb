# frozen_string_literal: true

module Elah
  class Broadcast
    # The last events of a {Broadcast}, for listeners that wait in their own thread or fiber.
    class Backlog
      # @param size [Integer] number of kept events
      def initialize(size)
        @size = size
        @frames = []
        @count = 0
        @listeners = @missed = 0
        @is_closed = false
        @lock = Mutex.new
        @grown = ConditionVariable.new
      end

      # @return [Integer] listeners
      attr_reader :listeners

      # @return [Integer] events that listeners have missed
      attr_reader :missed

      # Counts a listener while the block runs.
      def listen
        @lock.synchronize { @listeners += 1 }
        begin
          yield
        ensure
          @lock.synchronize { @listeners -= 1 }
        end
      end

      # @return [Integer] position after the newest event
      def place = @count

      # @return [Boolean]
      def closed? = @is_closed

      # @param frame [String]
      # @return [void]
      def push(frame)
        @lock.synchronize do
          @frames << frame
          @frames.shift if @frames.size > @size
          @count += 1
          @grown.broadcast
        end
      end

      # @return [void]
      def close
        @lock.synchronize do
          @is_closed = true
          @grown.broadcast
        end
      end

      # Waits for events after `place`, with a time limit in seconds.
      #
      # @param place [Integer]
      # @param seconds [Numeric]
      # @return [Array(Integer, Array<String>)] the new position and the events; events that are no longer kept are missed
      def wait_after(place, seconds)
        @lock.synchronize do
          @grown.wait(@lock, seconds) if @count == place && !@is_closed
          unread = @count - place
          @missed += unread - @size if unread > @size
          [@count, @frames.last([unread, @size].min)]
        end
      end
    end
  end
end
