# frozen_string_literal: true

require_relative "../board"
require_relative "../placement"
require_relative "shard_map"

module Elah
  class Supervisor
    # The supervisor's pen on the board: who sits where, who owns what. Nobody else writes these cells.
    class Table
      # Two for each slot: while a worker is replaced, both are there.
      SEATS = Board::SLOTS_MAX * 2

      # What outlives a worker on the board: the sums that the metrics show, by the cell of the seat.
      RETIRED = %i[turns connections_accepted requests refused].freeze

      # @return [Elah::Board]
      attr_reader :board

      # @param run_dir [RunDir]
      # @param shards [Integer]
      # @return [Table] on a new board
      def self.create(run_dir, shards)
        board = Board.create(run_dir.board_path, Board::SLOTS_MAX, SEATS, shards)
        board.set_server(:next_incarnation, Placement.first_incarnation)
        board.set_server(:started_ms, Board.now_ms)
        new(board)
      end

      # @param board [Elah::Board]
      def initialize(board)
        Board.current = @board = board
        board.set_server(:supervisor_pid, Process.pid)
        board.set_server(:generation, board.server_value(:generation) + 1)
      end

      # @return [Integer] larger than all before
      def next_incarnation = @board.server_value(:next_incarnation).tap { |number| @board.set_server(:next_incarnation, number + 1) }

      # @param slot [Integer]
      # @return [Integer, nil] a free seat, taken for a worker that boots; nil when all are taken
      def take_seat(slot, incarnation)
        seat = @board.seats.find { |number| @board.state(number) == :gone } or return
        @board.clear_seat(seat)
        { slot: slot, incarnation: incarnation, started_ms: Board.now_ms, heartbeat_ms: Board.now_ms }
          .each { |cell, value| @board.set_seat(seat, cell, value) }
        @board.set_state(seat, :booting)
        @board.set_server(:seats_used, [@board.server_value(:seats_used), seat + 1].max)
        seat
      end

      # Empties the seat of a worker that has ended, and its slot if it had that.
      #
      # @param child [Child]
      def leave(child)
        RETIRED.each { |cell| count(:"retired_#{cell}", @board.seat_value(child.seat, cell)) }
        @board.clear_seat(child.seat)
        @board.set_server(:seats_used, (@board.seats.reverse_each.find { |seat| @board.state(seat) != :gone } || -1) + 1)
        return unless @board.slot_value(child.slot, :incarnation) == child.incarnation

        @board.set_slot(child.slot, :incarnation, 0)
        changed
      end

      # Gives a slot, with its shards, to a worker.
      #
      # @param child [Child]
      def enter(child)
        @board.set_slot(child.slot, :seat, child.seat)
        @board.set_slot(child.slot, :incarnation, child.incarnation)
        changed
      end

      # Counts a replacement by its reason, a cell of the slot.
      #
      # @param slot [Integer]
      # @param reason [Symbol]
      def replaced(slot, reason) = @board.set_slot(slot, reason, @board.slot_value(slot, reason) + 1)

      # @param slots [Integer] how many there are to be
      # @return [Hash{Integer=>Integer}] the new owner of every shard that has to move
      def moves(slots) = ShardMap.moves(@board.shards.map { |shard| @board.owner_of(shard) }, slots)

      # Divides the shards of a new board among the slots.
      #
      # @param slots [Integer]
      def divide(slots)
        @board.shards.each { |shard| @board.assign(shard, shard % slots) }
        self.slots = slots
      end

      # Moves shards to their new owners.
      #
      # @param moves [Hash{Integer=>Integer}]
      def move(moves)
        moves.each { |shard, slot| @board.assign(shard, slot) }
        changed
      end

      # @param slot [Integer]
      # @return [Array<Integer>]
      def shards_of(slot) = @board.shards.select { |shard| @board.owner_of(shard) == slot }

      # @return [Integer]
      def slots = @board.server_value(:slots)

      # @param number [Integer]
      def slots=(number)
        @board.set_server(:slots, number)
        changed
      end

      private

      def changed = count(:map_version, 1)

      def count(cell, increment) = @board.set_server(cell, @board.server_value(cell) + increment)
    end
  end
end
