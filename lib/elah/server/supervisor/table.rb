# frozen_string_literal: true

require_relative "../scoreboard"
require_relative "../placement"
require_relative "shard_map"

module Elah
  class Supervisor
    # The supervisor's cells of the scoreboard: the worker of each row and the owner of each shard. Only the supervisor writes them.
    class Table
      # Two per slot, because the old and the new worker run together during a replacement.
      ROWS = Scoreboard::SLOTS_MAX * 2

      # Cells of a row whose sums the metrics keep after the worker has exited.
      RETIRED = %i[iterations connections_accepted requests refused].freeze

      # @return [Elah::Scoreboard]
      attr_reader :scoreboard

      # @param run_dir [RunDir]
      # @param shards [Integer]
      # @return [Table] on a new scoreboard
      def self.create(run_dir, shards)
        scoreboard = Scoreboard.create(run_dir.scoreboard_path, Scoreboard::SLOTS_MAX, ROWS, shards)
        scoreboard.set_server(:next_worker_generation, Placement.first_generation)
        scoreboard.set_server(:started_ms, Scoreboard.now_ms)
        new(scoreboard)
      end

      # @param scoreboard [Elah::Scoreboard]
      def initialize(scoreboard)
        Scoreboard.current = @scoreboard = scoreboard
        scoreboard.set_server(:supervisor_pid, Process.pid)
        scoreboard.set_server(:generation, scoreboard.server_value(:generation) + 1)
      end

      # @return [Integer] larger than all earlier ones
      def next_worker_generation
        @scoreboard.server_value(:next_worker_generation).tap { |number| @scoreboard.set_server(:next_worker_generation, number + 1) }
      end

      # @param slot [Integer]
      # @return [Integer, nil] a row for a worker that boots; nil when none is free
      def take_row(slot, generation)
        row = @scoreboard.rows.find { |number| @scoreboard.state(number) == :gone } or return
        @scoreboard.clear_row(row)
        { slot: slot, generation: generation, started_ms: Scoreboard.now_ms, heartbeat_ms: Scoreboard.now_ms }
          .each { |cell, value| @scoreboard.set_row(row, cell, value) }
        @scoreboard.set_state(row, :booting)
        @scoreboard.set_server(:rows_used, [@scoreboard.server_value(:rows_used), row + 1].max)
        row
      end

      # Clears the row of a worker that has exited, and its slot if it had one.
      #
      # @param child [Child]
      def leave(child)
        RETIRED.each { |cell| count(:"retired_#{cell}", @scoreboard.row_value(child.row, cell)) }
        @scoreboard.clear_row(child.row)
        @scoreboard.set_server(:rows_used, (@scoreboard.rows.reverse_each.find { |row| @scoreboard.state(row) != :gone } || -1) + 1)
        return unless @scoreboard.slot_value(child.slot, :generation) == child.generation

        @scoreboard.set_slot(child.slot, :generation, 0)
        changed
      end

      # Assigns a slot, with its shards, to a worker.
      #
      # @param child [Child]
      def enter(child)
        @scoreboard.set_slot(child.slot, :row, child.row)
        @scoreboard.set_slot(child.slot, :generation, child.generation)
        changed
      end

      # Counts a replacement in the cell of its reason.
      #
      # @param slot [Integer]
      # @param reason [Symbol]
      def replaced(slot, reason) = @scoreboard.set_slot(slot, reason, @scoreboard.slot_value(slot, reason) + 1)

      # @param slots [Integer] their new number
      # @return [Hash{Integer=>Integer}] the new owner of every shard that has to move
      def moves(slots) = ShardMap.moves(@scoreboard.shards.map { |shard| @scoreboard.owner_of(shard) }, slots)

      # Divides the shards of a new scoreboard among the slots.
      #
      # @param slots [Integer]
      def divide(slots)
        @scoreboard.shards.each { |shard| @scoreboard.assign(shard, shard % slots) }
        self.slots = slots
      end

      # Moves shards to their new owners.
      #
      # @param moves [Hash{Integer=>Integer}]
      def move(moves)
        moves.each { |shard, slot| @scoreboard.assign(shard, slot) }
        changed
      end

      # @param slot [Integer]
      # @return [Array<Integer>]
      def shards_of(slot) = @scoreboard.shards.select { |shard| @scoreboard.owner_of(shard) == slot }

      # @return [Integer]
      def slots = @scoreboard.server_value(:slots)

      # @param number [Integer]
      def slots=(number)
        @scoreboard.set_server(:slots, number)
        changed
      end

      private

      def changed = count(:map_version, 1)

      def count(cell, increment) = @scoreboard.set_server(cell, @scoreboard.server_value(cell) + increment)
    end
  end
end
