# frozen_string_literal: true

require_relative "../board"

module Elah
  class Entity
    # Shows on the board what entities this worker has, and how calls between it and the others go. A timer of the loop writes; calls count
    # nothing for it.
    class Gauges
      # Between two looks, as often as the loop itself writes to the board.
      PERIOD_SECONDS = 0.25

      class << self
        # Begins to write, unless that loop does already, or this process has no seat on a board.
        #
        # @param event_loop [Elah::EventLoop]
        def show(event_loop)
          return if Board.own_seat.nil? || @event_loop.equal?(event_loop)

          @event_loop = event_loop
          new(event_loop, Board.current, Board.own_seat).expect
        end
      end

      # @param event_loop [Elah::EventLoop]
      # @param board [Elah::Board]
      # @param seat [Integer]
      def initialize(event_loop, board, seat)
        @event_loop = event_loop
        @board = board
        @seat = seat
        @shown_slots = []
      end

      # Has the loop write in a while, again and again.
      def expect
        wait = @event_loop.new_wait
        @event_loop.after_wait(wait) do
          write
          expect
        end
        @event_loop.start_timer(wait, PERIOD_SECONDS)
      end

      private

      def write
        set(:entities, Region.entities_in_memory)
        set(:shards_claimed, Epochs.claimed)
        peers = Peers.current
        limiters = peers ? peers.limiters : {}
        set(:calls_received, peers ? peers.calls_received : 0)
        set(:calls_sent, limiters.sum { |_, limiter| limiter.in_flight })
        (@shown_slots | limiters.keys).each { |slot| @board.show_peer(@seat, slot, limiters[slot]&.to_h) }
        @shown_slots = limiters.keys
      end

      def set(cell, value) = @board.set_seat(@seat, cell, value)
    end
  end
end
