# frozen_string_literal: true

require_relative "failure"
require_relative "wire"

module Elah
  class PeerLinks
    # One call of another worker: its messages and their replies. Replies that are ready at the same time are sent together.
    class IncomingCall
      # @return [Integer] its number in this worker
      attr_reader :key

      # @return [Float] time until which the caller waits, in seconds of the monotonic clock
      attr_reader :due

      # @param key [Integer]
      # @param payload [String]
      # @param count [Integer] of messages
      # @param due [Float]
      # @param reply_bytes_max [Integer]
      # @raise [StandardError] when the payload cannot be read
      def initialize(links, key, payload, count, due, reply_bytes_max)
        @links = links
        @key = key
        @due = due
        @reply_bytes_max = reply_bytes_max
        @count = @open = count
        @begun = 0
        @replies = nil
        @messages = Wire.load(payload)
      end

      # @return [Boolean] whether it has a message that was not taken
      def more? = @begun < @count

      # @return [Integer] the index of the message that {#take} returns next
      def next_index = @begun

      # @return [Object] the next message
      def take
        message = @count == 1 ? @messages : @messages[@begun]
        @begun += 1
        message
      end

      # The caller no longer waits: the remaining messages are dropped.
      def abandon = @begun = @count

      # Stores a reply in its current state; the object may change later.
      #
      # @param index [Integer] of the message
      # @param value [Object] or a Failure
      # @return [Boolean] true when it is the first one to send
      def reply(index, value)
        @open -= 1
        if @count == 1
          @links.reply(@key, 1, written(value))
          return false
        end
        (@replies ||= []) << index << kept(value)
        flush if @open.zero?
        @replies ? @replies.size == 2 : false
      end

      # Sends the replies that are ready.
      def flush
        return unless @replies

        size = @replies.size / 2
        bytes = Wire.dump(@replies)
        bytes = Wire.dump(too_long_replies(bytes)) if bytes.bytesize > @reply_bytes_max
        @replies = nil
        @links.reply(@key, size, bytes)
      end

      private

      # Most replies are written with the others. One that may change, or cannot be written, is written now, and comes in an Array.
      def kept(value)
        case value
        when Integer, Float, Symbol, nil, true, false then value
        else value.instance_of?(String) && value.bytesize < @reply_bytes_max ? value.dup : [written(value)]
        end
      end

      def written(value)
        bytes = Wire.dump(value)
        bytes.bytesize > @reply_bytes_max ? written(Failure.of(too_long(bytes))) : bytes
      rescue StandardError => e
        Wire.dump(Failure.of(e)) # such an object cannot be written
      end

      def too_long_replies(bytes)
        failure = [Wire.dump(Failure.of(too_long(bytes)))]
        @replies.each_slice(2).flat_map { |index, _| [index, failure] }
      end

      def too_long(bytes)
        TooLong.new("The call has run, but its reply has #{bytes.bytesize} bytes: link_payload_bytes_max allows #{@reply_bytes_max}.")
      end
    end
  end
end
