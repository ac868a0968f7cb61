# frozen_string_literal: true

require_relative "../policies"

module RingPools
  module Pools
    # Owns the end of holds and quarantines of a {Pool}.
    #
    # A pool whose free numbers are a queue too, and where nothing comes between the end of a hold and the next one, is *lazy*: it looks for
    # holds that have ended only when no number is left among the free ones, or when somebody asks for more than a number. The numbers are
    # given in the same order then, and all change their queue at once.
    module Expiry
      private

      # Decides when {#take} looks for holds that have ended: first the next time.
      def plan_expiry
        @is_lazy = @free.instance_of?(Policies::LongestIdle) && !@has_more_queues && !@draining
        @next_due = 0
      end

      # Ends all holds and quarantines whose time is over, and counts the traffic when a minute of it is.
      def expire
        counts_next_at = @traffic.counts_next_at
        counts_next_at = @traffic.count(@now, @grant, @overflows) if @now >= counts_next_at
        return expire_lazily(counts_next_at) if @is_lazy

        slot = end_holds(Pool::HELD)
        due = slot ? @dues[slot] : Pool::NEVER
        @next_due = due < counts_next_at ? due : counts_next_at
        expire_more if @has_more_queues
      end

      def expire_lazily(counts_next_at)
        end_all_holds
        @next_due = counts_next_at
      end

      # Most pools have neither a quarantine nor queues of former terms.
      def expire_more
        slots = [end_holds(Pool::HELD_BEFORE), end_quarantines(Pool::QUARANTINED_BEFORE), end_quarantines(Pool::QUARANTINED)].compact
        @next_due = slots.map { |slot| @dues[slot] }.push(@next_due).min
      end

      # @return [Integer, nil] the slot whose hold ends next
      def end_holds(queue)
        while (slot = @queues.first(queue))
          due = @dues[slot]
          return slot if due > @now

          @queues.remove(slot)
          end_hold(slot, due)
        end
      end

      # As {#end_holds} with one move for all, unless there is more to do for each.
      def end_all_holds
        return end_holds(Pool::HELD) unless @leaving.empty? && @by_session.empty?

        after = @queues.after
        slot = after[Pool::HELD]
        last = nil
        ended = 0
        while slot >= Pool::QUEUES && @dues[slot] <= @now
          @states[slot] = Pool::FREE
          ended += 1
          last = slot
          slot = after[slot]
        end
        @held_size -= ended
        @free_size += ended
        @queues.move_until(Pool::HELD, last, Pool::FREE) if last
      end

      # @return [Integer, nil] the slot whose quarantine ends next
      def end_quarantines(queue)
        while (slot = @queues.first(queue))
          return slot if @dues[slot] > @now

          @queues.remove(slot)
          free(slot)
        end
      end

      def end_hold(slot, at)
        @held_size -= 1
        session = @sessions[slot]
        @by_session.delete(session) if session && @by_session[session] == slot
        return free(slot) unless @has_more_queues && at + @terms.quarantine > @now

        @states[slot] = Pool::QUARANTINED
        @dues[slot] = due = at + @terms.quarantine
        @queues.append(slot, Pool::QUARANTINED)
        @next_due = due if due < @next_due
      end
    end
  end
end
