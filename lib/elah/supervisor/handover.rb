# frozen_string_literal: true

module Elah
  class Supervisor
    # The changes themselves: a worker is replaced, one is added, one taken away. Shards move when their owner has handed them over, or has had
    # the time to.
    module Handover
      # Replaces the worker of a slot: the new one serves before the old one stops.
      #
      # @param slot [Slot]
      # @param old [Child] if another one has the slot when it comes to that, nothing is done
      # @param reason [Symbol] a counter of the slot on the board
      # @return [Boolean] false when it was to be replaced already
      def replace(slot, old, reason)
        return false if old.leaving?

        old.leave
        add([:replace, old.pid]) { replace_child(slot, old, reason) if slot.child.equal?(old) }
        true
      end

      # Changes how many slots there are, one by one.
      #
      # @param by [Integer] 1 or -1
      def resize(by)
        add([:resize, @resizes += 1]) { by.positive? ? grow : shrink }
      end

      private

      def replace_child(slot, old, reason)
        slot.successor = successor = start_successor(slot, old)
        wait(@config.boot_seconds) { successor.ready? || successor.gone? }
        unless successor.ready? && !successor.gone?
          successor.kill(:KILL)
          slot.successor = nil
          old.stay
          return @log.error("#{successor} did not come up; #{old} stays")
        end
        release(old, @table.shards_of(slot.number))
        take_over(slot, successor)
        @table.replaced(slot.number, reason)
        retire(old)
      end

      def start_successor(slot, old)
        start(slot)
      rescue StandardError
        old.stay
        raise
      end

      # The supervisor has done that already where the old worker died meanwhile.
      def take_over(slot, successor)
        slot.successor = nil
        slot.child = successor
        @table.enter(successor)
      end

      def release(child, shards)
        return if child.gone? || shards.empty?

        child.release(shards)
        wait(@config.handover_seconds) { child.released? || child.gone? } or
          @log.warn("#{child} did not hand over within #{@config.handover_seconds} s: its shards are taken from it")
      end

      # It ends in its own time; meanwhile the next change goes on.
      def retire(child)
        return if child.gone?

        @table.board.set_state(child.seat, :draining)
        child.control.say("drain")
        @log.info("#{child} drains")
      end

      def grow
        number = @crew.slots.size
        return @log.warn("There are #{number} workers; more have no place") if number >= Board::SLOTS_MAX

        @crew.slots = number + 1
        slot = @crew.slots.last
        # It is started like one that is missing.
        return forget(slot) unless wait(@config.boot_seconds) { slot.child&.ready? }

        @table.slots = number + 1
        hand_over(@table.moves(number + 1))
        @log.info("There are #{number + 1} workers")
      end

      def forget(slot)
        @crew.slots = slot.number
        slot.child&.kill(:KILL)
        @log.error("Worker #{slot.number} did not come up: there are still #{slot.number} workers")
      end

      def shrink
        number = @crew.slots.size
        return @log.warn("There is one worker; it stays") if number == 1

        slot = @crew.slots.last
        child = slot.child
        hand_over(@table.moves(number - 1))
        @crew.slots = number - 1
        @table.slots = number - 1
        retire(child) if child
        @log.info("There are #{number - 1} workers")
      end

      def hand_over(moves)
        owners = moves.keys.group_by { |shard| @table.board.owner_of(shard) }
        owners.each do |owner, shards|
          child = @crew.slots[owner]&.child
          release(child, shards) if child
        end
        @table.move(moves)
      end
    end
  end
end
