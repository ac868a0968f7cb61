# frozen_string_literal: true

require_relative "../policies"
require_relative "changes"
require_relative "expiry"
require_relative "lease"
require_relative "rows"
require_relative "slot_queues"
require_relative "terms"
require_relative "traffic"

module RingPools
  module Pools
    # Owns which of a pool's numbers is whose, and when it may be given again.
    #
    # A number has a slot, and a slot is free, held, or in quarantine; one whose number is to leave the pool goes when it would be free.
    # Held slots stand in a queue in the order in which their holds end, and so do those in quarantine: with one hold time for all, the one
    # that joins last ends last. When the terms change, the old queues are kept beside new ones until they are empty. So whatever a pool is
    # asked, it looks at the heads of some queues, and neither its size nor how full it is makes a difference.
    #
    # Times are microseconds since 1970. No two steps have the same, and none an earlier one than the step before: where the caller's
    # clock says otherwise, a step comes a microsecond after the one before. Each is told to the journal, from which the pool can be made
    # again (see {Rows} and History).
    class Pool
      include Changes
      include Expiry
      include Rows

      FREE, HELD, QUARANTINED, HELD_BEFORE, QUARANTINED_BEFORE = (0..4).to_a
      QUEUES = 5
      NEVER = 1 << 61

      # @return [Terms]
      attr_reader :terms
      # @return [Integer] how many allocations got a number since the pool began
      attr_reader :grant
      # @return [Integer] how many got none
      attr_reader :overflows
      # @return [Integer] when the last step was
      attr_reader :now
      # @return [Traffic]
      attr_reader :traffic
      # @return [#allocated, #renewed, #released]
      attr_writer :journal

      # @param terms [Terms]
      # @param journal [#allocated, #renewed, #released]
      def initialize(terms, journal)
        @journal = journal
        @queues = SlotQueues.new(QUEUES)
        @free = Policies::BY_NAME.fetch(terms.policy).new(@queues, FREE)
        @numbers = Array.new(QUEUES)
        @states = Array.new(QUEUES)
        @dues = Array.new(QUEUES)
        @grants = Array.new(QUEUES)
        @begins = Array.new(QUEUES)
        @sessions = Array.new(QUEUES)
        @slots = {}
        @by_session = {}
        @leaving = {}
        @vacant = []
        @traffic = Traffic.new
        @next_due = 0
        @now = @grant = @overflows = @free_size = @held_size = 0
        @has_more_queues = @is_lazy = false
        adopt(terms)
      end

      # Gives a number. A session that holds one gets the same again.
      #
      # @param now [Integer]
      # @param session [String, nil]
      # @param parameters [String] as they came, kept for whoever asks
      # @return [Lease]
      def allocate(now, session, parameters)
        grant = @grant
        slot = take(now, session, parameters)
        slot ? lease(@grant == grant ? :same : :new, slot) : overflow
      end

      # The short form of {#allocate}.
      #
      # @param (see #allocate)
      # @return [Integer, nil] the slot of the number, see {#number}; nil for an overflow, see {#reason}
      def take(now, session, parameters)
        now = @now + 1 unless now > @now
        @now = now
        expire if now >= @next_due
        held = @by_session[session] if session
        return held if held && @dues[held] > now

        due = now + @hold
        slot = @is_lazy ? @queues.move_first(FREE, HELD) || next_ended : next_free(session, due)
        unless slot
          @overflows += 1
          return
        end
        @free_size -= 1
        @held_size += 1
        @states[slot] = HELD
        @dues[slot] = due
        @grants[slot] = grant = @grant += 1
        @begins[slot] = now
        @by_session[session] = slot if session
        @sessions[slot] = session
        @journal.allocated(now, @numbers[slot], @hold, grant, session, parameters)
        slot
      end

      # @param slot [Integer]
      # @return [Integer]
      def number(slot) = @numbers[slot]

      # @return [String] why there was an overflow
      def reason = @draining ? "draining" : "exhausted"

      # Lets a hold begin anew. That of a number that leaves the pool stays as it is.
      #
      # @param now [Integer]
      # @param number [Integer]
      # @param grant [Integer] of the lease
      # @return [Lease, nil] nil when the hold is over
      def renew(now, number, grant)
        slot = current(now, number, grant) or return
        return lease(:same, slot) if @leaving.key?(number) || @now + @hold <= @dues[slot]

        prolong(slot, @now + @hold)
        @journal.renewed(@now, number, @hold, grant)
        lease(:renewed, slot)
      end

      # Ends a hold before its time.
      #
      # @param (see #renew)
      # @return [Lease, nil] nil when it was over
      def release(now, number, grant)
        slot = current(now, number, grant) or return
        ended = lease(:released, slot)
        ended.due = @now
        let_go(slot)
        @journal.released(@now, number, grant)
        ended
      end

      # @param (see #renew)
      # @return [Lease, nil] nil when the hold is over
      def find(now, number, grant)
        slot = current(now, number, grant)
        slot && lease(:same, slot)
      end

      # Does what the time has brought: holds and quarantines that have ended.
      #
      # @param now [Integer]
      def advance(now)
        @now = now if now > @now
        expire if @now >= @next_due
      end

      # @return [Integer] numbers, without those that leave
      def size = @slots.size - @leaving.size

      # @return [Hash{Symbol=>Integer}] how many numbers are in which state
      def occupancy
        expire
        { numbers: size, free: @free_size, held: @held_size, quarantined: @slots.size - @free_size - @held_size, leaving: @leaving.size }
      end

      # @return [Integer, nil] when a number is free; nil when there is none
      def next_free_at
        expire
        return @now if @free_size.positive?

        dues = [[HELD, @terms.quarantine], [HELD_BEFORE, @terms.quarantine], [QUARANTINED, 0], [QUARANTINED_BEFORE, 0]]
        dues.filter_map { |queue, more| (slot = @queues.first(queue)) && (@dues[slot] + more) }.min
      end

      private

      def step(now)
        now = @now + 1 unless now > @now
        @now = now
        expire
      end

      def adopt(terms)
        @terms = terms
        @hold = terms.hold
        @draining = terms.draining
        @has_more_queues ||= terms.quarantine.positive?
        plan_expiry
      end

      # For a lazy pool that has no free slots.
      #
      # @return [Integer, nil] a slot whose hold had ended; it is in the queue of the held ones again
      def next_ended
        held = @queues.first(HELD)
        return unless held && @dues[held] <= @now

        end_all_holds
        @queues.move_first(FREE, HELD)
      end

      def next_free(session, due)
        slot = @free.take(session) unless @draining
        return unless slot

        @next_due = due if due < @next_due
        @queues.append(slot, HELD)
        slot
      end

      def lease(kind, slot) = Lease.new(kind, @numbers[slot], @grants[slot], @begins[slot], @dues[slot], @sessions[slot])

      def overflow
        number = @terms.overflow
        Lease.new(number ? :overflow : :refused, number, nil, nil, nil, nil, reason)
      end

      def current(now, number, grant)
        step(now)
        slot = @slots[number]
        slot if slot && @states[slot] == HELD && @grants[slot] == grant
      end

      def let_go(slot)
        @queues.remove(slot)
        end_hold(slot, @now)
      end

      def free(slot)
        return forget(slot) if !@leaving.empty? && @leaving.key?(@numbers[slot])

        @states[slot] = FREE
        @free_size += 1
        @free.put(slot, @sessions[slot])
      end

      def forget(slot)
        number = @numbers[slot]
        @leaving.delete(number)
        @slots.delete(number)
        @numbers[slot] = @states[slot] = @sessions[slot] = nil
        @vacant << slot
      end

      def prolong(slot, due)
        @queues.remove(slot)
        @queues.append(slot, HELD)
        @dues[slot] = due
        @next_due = due if due < @next_due
      end
    end
  end
end
