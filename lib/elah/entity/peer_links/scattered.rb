# frozen_string_literal: true

require_relative "failure"
require_relative "wire"

module Elah
  class PeerLinks
    # Open messages to a peer that were sent in one call.
    class Scattered
      # The outcome of calls when this worker closes its links.
      CLOSED = [:lost, "the links of this worker were closed"].freeze
      private_constant :CLOSED

      # @param wait [Integer] of the call, from `PeerLinks#start`
      # @param count [Integer] of messages
      # @param sent_at [Float] in seconds of the monotonic clock
      # @param seconds [Numeric] time limit for the replies
      def initialize(event_loop, links, peer, wait, count, sent_at, seconds)
        @loop = event_loop
        @links = links
        @peer = peer
        @wait = wait
        @count = count
        @sent_at = sent_at
        @seconds = seconds
        @collected = @fate = @replies = nil
      end

      # Suspends the fiber until each message has a reply or an error.
      #
      # @param _seconds [Numeric, nil] unused: the limit was set when the messages were sent
      def wait(_seconds = nil)
        return if @fate

        @loop.park(@wait) unless @links.settled?(@wait) || Concurrency.now >= @sent_at + @seconds
        collect
      end

      # Waits for the reply to a single message that was just sent.
      #
      # @return [Object]
      # @raise [Exception] see {Peer#call}
      def value
        @loop.park(@wait)
        collect
        reply = @collected[2] or raise(without_reply[2])
        value = Wire.load(reply)
        value.is_a?(Failure) ? raise(value.to_exception(@peer.address)) : value
      ensure
        @fate || collect
      end

      # Cancels the messages without a reply.
      def cancel = @fate || collect

      # @param index [Integer]
      # @return [Array] :returned, :failed or :late, and the reply or the error
      def outcome(index)
        value = replies.fetch(index) { return without_reply }
        value = Wire.load(value[0]) if value.is_a?(Array)
        value.is_a?(Failure) ? [:failed, nil, value.to_exception(@peer.address)] : [:returned, value, nil]
      rescue StandardError => e # of a class that is not known here, or whose own code cannot load it
        [:failed, nil, e]
      end

      private

      # Outcome, cause and the parts of the reply.
      def collect
        @collected = @links.collect(@wait) || CLOSED
        @fate = @collected[0]
        now = Concurrency.now
        case @fate
        when :replied then @peer.limiter.replied(now)
        when :pending
          return @peer.limiter.replied(now) if @collected.size > 2 # some replies are here: it is the others that are slow

          now >= @sent_at + @seconds ? @peer.limiter.late(@sent_at, now) : @peer.limiter.ended
        else @peer.limiter.ended
        end
      end

      # A single reply is the whole payload; of several, each has its index before it. What was written before is in an Array.
      #
      # @return [Hash{Integer=>Object}]
      def replies
        @replies ||= begin
          parts = @collected.drop(2)
          @count == 1 ? parts.to_h { |part| [0, [part]] } : parts.flat_map { |part| Wire.load(part) }.each_slice(2).to_h
        end
      end

      def without_reply
        case @fate
        when :pending then [:late, nil, Late.new("#{worker} did not reply within #{@seconds.round(6)} s.")]
        when :not_run then [:failed, nil, PeerUnavailable.new("#{worker} cannot be reached: #{@collected[1]}.")]
        when :lost
          [:failed, nil, PeerUnavailable.new("#{worker} was lost before it replied: #{@collected[1]}.", may_have_run: true)]
        when :overloaded then [:failed, nil, Busy.new("#{worker} runs too many calls already.")]
        when :long_call
          [:failed, nil, TooLong.new("#{worker} has not run the call, which is too long for it: its link_payload_bytes_max is lower.")]
        when :long_reply
          [:failed, nil, TooLong.new("#{worker} has run the call, but its reply is too long here: link_payload_bytes_max is lower.")]
        else [:failed, nil, Busy.new("#{worker} has run the call, and dropped its reply: too many are unread.")]
        end
      end

      def worker = "The worker at #{@peer.address}"
    end
  end
end
