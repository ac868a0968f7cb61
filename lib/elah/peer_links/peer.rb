# frozen_string_literal: true

require_relative "limiter"
require_relative "scattered"

module Elah
  class PeerLinks
    # Another worker, from the side of who calls it. It carries the deferred calls of a gather: those that have a `message`.
    class Peer
      # What stands for a call that was not sent.
      NotSent = Struct.new(:kind, :error) do
        # Does not wait.
        def wait(_seconds = nil) = nil

        # @return [Array] outcome, answer and error
        def outcome(_index) = [kind, nil, error]

        # Does nothing.
        def cancel = nil

        # @raise [Exception] the error
        def value = raise(error)
      end
      private_constant :NotSent

      # @return [String] that it listens on
      attr_reader :path

      # @return [Limiter]
      attr_reader :limiter

      def initialize(event_loop, links, path)
        @loop = event_loop
        @links = links
        @path = path
        @limiter = Limiter.new
      end

      # Calls it, and suspends the fiber until the answer is there.
      #
      # @param message [Object]
      # @param seconds [Numeric] for the answer; less when the fiber has less left
      # @return [Object] the answer
      # @raise [Exception] what it raised there, with the backtrace of both sides; RemoteError when the class is not known here
      # @raise [Elah::DeadlineExceeded] when there is no answer in time
      # @raise [Elah::PeerUnavailable] when it is gone
      # @raise [Elah::PeerLimited] when it is not asked, as it does not answer in time at the moment
      # @raise [Elah::Overloaded] when too much waits for it already
      def call(message, seconds) = send_out(message, 1, seconds).value

      # Sends the messages of many calls in one frame; see {Elah::Gather} for what it gives.
      #
      # @param deferred_calls [Array<#message>]
      # @param seconds [Numeric, nil] nil: as long as the fiber has
      # @return [#wait, #outcome, #cancel]
      # @raise [TypeError] when a message cannot be written
      # @raise [Elah::PeerUnavailable, Elah::Overloaded, TooLong]
      def scatter(deferred_calls, seconds)
        messages = deferred_calls.map(&:message)
        send_out(messages.size == 1 ? messages[0] : messages, messages.size, seconds)
      end

      private

      # A single message travels without an Array around it.
      def send_out(message, count, seconds)
        seconds = bounded(seconds)
        payload = Wire.dump(message)
        return NotSent.new(:late, DeadlineExceeded.new("No time was left to call the worker at #{@path}.")) unless seconds.positive?

        now = Concurrency.now
        return NotSent.new(:limited, limited) unless @limiter.admit?(now)

        wait = @links.start(@path, payload, count, seconds)
        @limiter.admitted
        Scattered.new(@loop, @links, self, wait, count, now, seconds)
      end

      # No call outlives the fiber that makes it.
      def bounded(seconds)
        left = Concurrency.seconds_left_to(@loop.current_task)
        return seconds || Float::MAX unless left

        seconds && seconds < left ? seconds : left
      end

      def limited = PeerLimited.new("The worker at #{@path} is not asked: it did not answer in time.")
    end
  end
end
