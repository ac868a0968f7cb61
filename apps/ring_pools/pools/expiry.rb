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
        counts_next_at = @traffic.count(now, grant, @overflows) if now >= counts_next_at
        return expire_lazily(counts_next_at) if @is_lazy

        due = end_holds(Pool::HELD) || Pool::NEVER
        @next_due = due < counts_next_at ? due : counts_next_at
        expire_more if @has_more_queues
      end

      def expire_lazily(counts_next_at)
        end_all_holds
        @next_due = counts_next_at
      end

      # Most pools have neither a quarantine nor queues of former terms.
      def expire_more
        dues = [end_holds(Pool::HELD_BEFORE), end_quarantines(Pool::QUARANTINED_BEFORE), end_quarantines(Pool::QUARANTINED)].compact
        @next_due = dues.push(@next_due).min
      end

      # @return [Integer, nil] when the next hold ends
      def end_holds(queue)
        while (slot = @queues.first(queue))
          due = @queues.due(slot)
          return due if due > now

          @queues.remove(slot)
          end_hold(slot, due)
        end
      end

      # As {#end_holds} with one move for all, unless there is more to do for each.
      def end_all_holds
        return end_holds(Pool::HELD) unless @leaving.empty? && @by_session.empty?

        @queues.move_due(Pool::HELD, now, Pool::FREE)
      end

      # @return [Integer, nil] when the next quarantine ends
      def end_quarantines(queue)
        while (slot = @queues.first(queue))
          due = @queues.due(slot)
          return due if due > now

          @queues.remove(slot)
          free(slot)
        end
      end

      def end_hold(slot, at)
        session = @sessions[slot]
        @by_session.delete(session) if session && @by_session[session] == slot
        return free(slot) unless @has_more_queues && at + @terms.quarantine > now

        due = at + @terms.quarantine
        @queues.append(slot, Pool::QUARANTINED)
        @queues.set_due(slot, due)
        @next_due = due if due < @next_due
      end
    end
  end
end
