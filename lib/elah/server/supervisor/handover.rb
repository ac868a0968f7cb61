# frozen_string_literal: true

module Elah
  class Supervisor
    # Changes of the workers: replaces, adds and removes one. Shards move when their owner has handed them over, or its time for that is over.
    module Handover
      # Replaces the worker of a slot: the new one serves before the old one stops.
      #
      # @param slot [WorkerSlot]
      # @param old [Child] its current worker; if the slot has another one by then, nothing happens
      # @param reason [Symbol] a counter of the slot on the scoreboard
      # @return [Boolean] false when it is being replaced already
      def replace(slot, old, reason)
        return false if old.leaving?

        old.leave
        add([:replace, old.pid]) { replace_child(slot, old, reason) if slot.child.equal?(old) }
        true
      end

      # Changes the number of slots by one.
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
          slot.successor = nil
          keep(slot, old)
          return @log.error("#{successor} did not boot#{why(successor)}; #{old} stays")
        end
        shards = @table.shards_of(slot.number)
        release({ old => shards }, heir: successor)
        return give_back(slot, old, successor, shards) if successor.gone?

        take_over(slot, successor)
        @table.replaced(slot.number, reason) unless old.gone? # its end was counted
        retire(old)
      end

      # Kills a worker that has not exited.
      def why(successor)
        return ": #{successor.ending}. See the log above for the reason" if successor.gone?

        successor.kill(:KILL)
        " within #{@config.boot_seconds} s"
      end

      def start_successor(slot, old)
        start(slot)
      rescue StandardError
        keep(slot, old)
        raise
      end

      def keep(slot, old)
        slot.delay_replacement(Concurrency.now)
        old.stay
      end

      # If the old worker died meanwhile, the supervisor has done this already.
      def take_over(slot, successor)
        slot.successor = nil
        slot.child = successor
        @table.enter(successor)
      end

      def give_back(slot, old, successor, shards)
        slot.successor = nil
        renew(shards)
        keep(slot, old)
        @log.error("#{successor} exited during the hand-over: #{successor.ending}#{"; #{old} stays" unless old.gone?}")
      end

      # Workers hand over side by side.
      def release(holders, heir: nil)
        holders = holders.reject { |child, shards| child.gone? || shards.empty? }
        holders.each { |child, shards| child.release(shards) }
        @releasing = holders.values.flatten
        is_released = ->(child) { child.released? || child.gone? || heir&.gone? }
        wait(@config.handover_seconds) { holders.each_key.all?(&is_released) }
        holders.each_key.reject(&is_released).each do |child|
          @log.warn("#{child} did not hand over within #{@config.handover_seconds} s: reassigning its shards")
        end
        @releasing = []
      end

      # Shards that their worker has released stay with it, in a new term: it serves them again.
      def renew(shards)
        @table.move(shards.to_h { |shard| [shard, @table.scoreboard.owner_of(shard)] })
      end

      # The worker exits when it has drained; the next change does not wait for it.
      def retire(child)
        return if child.gone?

        @table.scoreboard.set_state(child.row, :draining)
        child.control.say("drain")
        @log.info("#{child} is draining")
      end

      def grow
        number = @workers.slots.size
        return @log.warn("There are #{number} workers, which is the maximum: ignoring TTIN") if number >= Scoreboard::SLOTS_MAX

        @workers.slots = number + 1
        slot = @workers.slots.last
        # The supervisor starts it like any missing worker.
        return forget(slot) unless wait(@config.boot_seconds) { slot.child&.ready? }

        @table.slots = number + 1
        hand_over(@table.moves(number + 1))
        @log.info("The number of workers is #{number + 1}")
      end

      def forget(slot)
        @workers.slots = slot.number
        slot.child&.kill(:KILL)
        @log.error("Worker #{slot.number} did not boot: there are still #{slot.number} workers")
      end

      def shrink
        number = @workers.slots.size
        return @log.warn("There is only one worker: ignoring TTOU") if number == 1

        slot = @workers.slots.last
        return @log.warn("No other worker is ready: there are still #{number} workers") if slot.child&.ready? && alone?(slot)

        hand_over(@table.moves(number - 1))
        child = slot.child # a crashed one was started again meanwhile
        @workers.slots = number - 1
        @table.slots = number - 1
        retire(child) if child
        @log.info("The number of workers is #{number - 1}")
      end

      # Others may fail in their boot again and again.
      def alone?(slot) = (@workers.slots - [slot]).none? { |other| other.child&.ready? }

      def hand_over(moves)
        owners = moves.keys.group_by { |shard| @table.scoreboard.owner_of(shard) }
        release(owners.transform_keys { |owner| @workers.slots[owner]&.child }.except(nil))
        @table.move(moves)
      end
    end
  end
end
