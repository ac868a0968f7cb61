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
        reply = reply_to(index)
        return without_reply if reply.nil?

        value = Wire.load(reply)
        value.is_a?(Failure) ? [:failed, nil, value.to_exception(@peer.address)] : [:returned, value, nil]
      end

      private

      # Outcome, cause and the parts of the reply.
      def collect
        @collected = @links.collect(@wait) || CLOSED
        @fate = @collected[0]
        now = Concurrency.now
        case @fate
        when :replied then @peer.limiter.replied(now)
        when :pending then now >= @sent_at + @seconds ? @peer.limiter.late(@sent_at, now) : @peer.limiter.ended
        else @peer.limiter.ended
        end
      end

      # A single reply is the whole payload; of several, each has its index before it.
      def reply_to(index)
        return @collected[2] if @count == 1

        @replies ||= @collected.drop(2).flat_map { |part| Wire.load(part) }.each_slice(2).to_h
        @replies[index]
      end

      def without_reply
        case @fate
        when :pending then [:late, nil, DeadlineExceeded.new("#{worker} did not reply within #{@seconds.round(6)} s.")]
        when :not_run then [:failed, nil, PeerUnavailable.new("#{worker} cannot be reached: #{@collected[1]}.")]
        when :lost
          [:failed, nil, PeerUnavailable.new("#{worker} was lost before it replied: #{@collected[1]}.", may_have_run: true)]
        when :overloaded then [:failed, nil, Overloaded.new("#{worker} runs too many calls already.")]
        else [:failed, nil, Overloaded.new("#{worker} has dropped the reply: too many are unread.")]
        end
      end

      def worker = "The worker at #{@peer.address}"
    end
  end
end
