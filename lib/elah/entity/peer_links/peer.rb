# frozen_string_literal: true

require_relative "limiter"
require_relative "scattered"

module Elah
  class PeerLinks
    # Another worker, as a caller sees it. It is the route of the deferred calls of a gather that have a `message`.
    class Peer
      # The outcome of a call that was not sent.
      NotSent = Struct.new(:kind, :error) do
        # Does not wait.
        def wait(_seconds = nil) = nil

        # @return [Array] outcome, result and error
        def outcome(_index) = [kind, nil, error]

        # Does nothing.
        def cancel = nil

        # @raise [Exception] the error
        def value = raise(error)
      end
      private_constant :NotSent

      # @return [String] path of its socket, or its address on TCP
      attr_reader :address

      # @return [Limiter]
      attr_reader :limiter

      def initialize(event_loop, links, address)
        @loop = event_loop
        @links = links
        @address = address
        @limiter = Limiter.new
      end

      # Calls it, and suspends the fiber until the reply arrives.
      #
      # @param message [Object]
      # @param seconds [Numeric] time limit; less when the fiber's deadline is earlier
      # @return [Object] the reply
      # @raise [Exception] the exception raised there, with the backtrace of both sides; RemoteError when the class is not known here
      # @raise [Elah::DeadlineExceeded] when there is no reply in time
      # @raise [Elah::PeerUnavailable] when the worker is lost
      # @raise [Elah::PeerLimited] when the call is not sent, because the worker does not reply in time at the moment
      # @raise [Elah::Overloaded] when too many calls wait for it
      def call(message, seconds) = send_out(message, 1, seconds).value

      # Sends the messages of many calls in one frame; {Elah::Gather} describes the result.
      #
      # @param deferred_calls [Array<#message>]
      # @param seconds [Numeric, nil] nil: the fiber's remaining time, or that of a request
      # @return [#wait, #outcome, #cancel]
      # @raise [TypeError] when a message cannot be written
      # @raise [Elah::Overloaded, TooLong]
      def scatter(deferred_calls, seconds) = scatter_messages(deferred_calls.map(&:message), seconds)

      # As {#scatter}.
      #
      # @param messages [Array<Object>]
      def scatter_messages(messages, seconds)
        send_out(messages.size == 1 ? messages[0] : messages, messages.size, seconds)
      end

      private

      # A single message is sent without an Array around it.
      def send_out(message, count, seconds)
        seconds = bounded(seconds)
        payload = Wire.dump(message)
        return NotSent.new(:late, Late.new("No time was left to call the worker at #{@address}.")) unless seconds.positive?

        now = Concurrency.now
        return NotSent.new(:limited, limited) unless @limiter.admit?(now)

        wait = @links.start(@address, payload, count, seconds)
        @limiter.admitted
        Scattered.new(@loop, @links, self, wait, count, now, seconds)
      rescue PeerUnavailable => e
        NotSent.new(:failed, e)
      end

      # No call outlives the fiber that makes it. Where no deadline ends the fiber, as in a shield, in an `ensure` block after a deadline, or in the
      # background, it has the time of a request.
      def bounded(seconds)
        task = @loop.current_task
        left = Concurrency.seconds_left_to(task)
        seconds ||= Elah.config.request_seconds if left.nil? || task.apart?
        [seconds, left].compact.min
      end

      def limited = PeerLimited.new("The worker at #{@address} is not called: it did not reply in time.")
    end
  end
end
