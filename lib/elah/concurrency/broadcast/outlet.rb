# frozen_string_literal: true

module Elah
  class Broadcast
    # The queue of events for another worker, or for another machine, where one worker forwards them to the others. One message is sent at a
    # time. Later events wait for the next message, up to a limit; beyond it the oldest are dropped.
    class Outlet
      # Maximum number of events that wait.
      EVENTS_MAX = 1024
      # Maximum number of their bytes, at most half of `link_payload_bytes_max`.
      BYTES_MAX = 512 * 1024
      # Time for the reply of the other worker.
      SECONDS = 2

      # @param event_loop [Elah::EventLoop]
      # @param peers [Entity::Peers]
      # @param passes_on [Boolean] whether the receiver sends the events to the other workers of its machine
      def initialize(event_loop, peers, passes_on)
        @loop = event_loop
        @peers = peers
        @passes_on = passes_on
        @bytes_max = [BYTES_MAX, Elah.config.link_payload_bytes_max / 2].min
        @slots = []
        @is_sending = false
        clear
      end

      # Sets the workers that may receive the events; they are tried in this order.
      #
      # @param slots [Array<Integer>]
      def to(slots)
        @slots = (@slots & slots) | slots
        self
      end

      # Sends an event after the message that is being sent.
      #
      # @param broadcast [Broadcast]
      # @param frame [String]
      # @return [void]
      def push(broadcast, frame)
        @waiting << [broadcast, frame]
        @bytes += frame.bytesize
        drop_oldest while @waiting.size > EVENTS_MAX || @bytes > @bytes_max
        start unless @is_sending || @waiting.empty?
      end

      private

      def clear
        @waiting = []
        @bytes = 0
      end

      def drop_oldest
        broadcast, frame = @waiting.shift
        @bytes -= frame.bytesize
        broadcast.note_unsent
      end

      # In the next iteration, with all events of this one.
      def start
        @is_sending = true
        @loop.post do
          @loop.spawn(Task.service) { send_all }
        rescue Overloaded # there is no fiber: the next event tries again
          @is_sending = false
        end
      end

      def send_all
        until @waiting.empty?
          events = @waiting
          clear
          events.each { |broadcast, _| broadcast.note_unsent } unless sent?(events)
        end
      ensure
        @is_sending = false
      end

      # A message that may have arrived is not sent to another worker.
      def sent?(events)
        message = [nil, @passes_on, events.map { |broadcast, frame| [broadcast.name, frame] }]
        @slots.any? { |slot| taken?(@peers.owner(slot), message) }
      rescue Cancelled
        raise
      rescue Error
        @slots.rotate! # the next events to another one
        false
      end

      def taken?(peer, message)
        peer&.call(message, SECONDS)
        !peer.nil?
      rescue PeerUnavailable => e
        raise if e.may_have_run?
      rescue PeerLimited, Overloaded
        false
      end
    end

    private_constant :Outlet
  end
end
