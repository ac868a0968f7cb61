# frozen_string_literal: true

module RingPools
  module Pools
    # Owns how a {Pool} is written down and made again: as rows, and from the steps that its journal was told of.
    module Rows
      # Everything about the numbers, a row each, in the order in which {#restore} is to get them.
      #
      # @return [Array<Array>] number, "f"ree, "h"eld or "q"uarantined, due, grant, session, whether it leaves, when its hold began
      def rows
        expire
        held = queued("h", Pool::HELD_BEFORE, Pool::HELD)
        quarantined = queued("q", Pool::QUARANTINED_BEFORE, Pool::QUARANTINED)
        held + quarantined + @free.to_a.map { |slot| [@numbers[slot], "f", nil, nil, last_session(slot), false, nil] }
      end

      # The same of a {#plain?} pool as two columns, which are written far faster.
      #
      # @return [Array(Array<Integer>, Array<Integer>)] all numbers, those that are held first; when the hold of each of these began, its due and
      #   its grant
      def columns
        expire
        slots = @queues.slots(Pool::HELD) + @free.to_a
        [slots.map { |slot| @numbers[slot] }, @queues.loans(Pool::HELD)]
      end

      # @param (see #columns)
      # @return [Array<Array>] see {#rows}
      def self.of_columns(numbers, holds)
        numbers.each_with_index.map do |number, place|
          begun, due, grant = holds[place * 3, 3]
          due ? [number, "h", due, grant, nil, false, begun] : [number, "f", nil, nil, nil, false, nil]
        end
      end

      # @return [Boolean] whether its numbers are free or held, by nobody in particular, and none leaves
      def plain? = @is_lazy && !@has_sessions && @leaving.empty?

      # Sets a pool that has no numbers yet to what {#rows} said.
      #
      # @param now [Integer] when that was
      # @param rows [Array<Array>]
      # @param grant [Integer]
      # @param overflows [Integer]
      def restore(now, rows, grant:, overflows:)
        @queues.advance(now)
        @queues.last_serial = grant
        @overflows = overflows
        rows.each { |row| place(*row) }
        age_queues unless in_order?(rows)
        plan_expiry
      end

      # Does again what the journal says of an allocation.
      #
      # @param at [Integer]
      # @param number [Integer]
      # @param hold [Integer]
      # @param grant [Integer]
      # @param session [String, nil]
      def replay_allocated(at, number, hold, grant, session)
        step(at)
        slot = @slots.fetch(number)
        @free.take_again(slot)
        @queues.last_serial = grant
        hold(slot, at, at + hold, grant, session)
      end

      # Does again what the journal says of a renewal.
      #
      # @param (see #replay_allocated)
      def replay_renewed(at, number, hold)
        step(at)
        prolong(@slots.fetch(number), at + hold)
      end

      # Does again what the journal says of a release.
      #
      # @param at [Integer]
      # @param number [Integer]
      def replay_released(at, number)
        step(at)
        let_go(@slots.fetch(number))
      end

      private

      def queued(state, *queues)
        queues.flat_map { |queue| @queues.slots(queue) }.map do |slot|
          number = @numbers[slot]
          grant = @queues.serial(slot) if state == "h"
          [number, state, @queues.due(slot), grant, @sessions[slot], @leaving.key?(number), @queues.begun(slot)]
        end
      end

      # What a policy that sticks to sessions is to remember.
      def last_session(slot) = @free.respond_to?(:session) ? @free.session(slot) : nil

      def in_order?(rows)
        %w[h q].all? { |state| rows.filter_map { |row| row[2] if row[1] == state }.each_cons(2).all? { |one, other| one <= other } }
      end

      def hold(slot, begun, due, grant, session)
        @queues.lend(slot, Pool::HELD, begun, due, grant)
        @next_due = due if due < @next_due
        remember(session, slot)
      end

      def place(number, state, due, grant, session, leaving, begun)
        slot = @numbers.size
        @slots[number] = slot
        @numbers[slot] = number
        @leaving[number] = true if leaving
        return hold(slot, begun, due, grant, session) if state == "h"

        @sessions[slot] = session
        @has_sessions = true if session
        return free(slot) if state == "f"

        @has_more_queues = true
        @queues.lend(slot, Pool::QUARANTINED, begun || 0, due, grant || 0)
      end
    end
  end
end
