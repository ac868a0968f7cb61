# frozen_string_literal: true

require_relative "../policies"
require_relative "changes"
require_relative "expiry"
require_relative "lease"
require_relative "rows"
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
      # @return [Integer] how many got none
      attr_reader :overflows
      # @return [Traffic]
      attr_reader :traffic
      # @return [#allocated, #renewed, #released]
      attr_writer :journal

      # @param terms [Terms]
      # @param journal [#allocated, #renewed, #released]
      def initialize(terms, journal)
        @journal = journal
        @queues = Elah::SlotQueues.new(QUEUES)
        @free = Policies::BY_NAME.fetch(terms.policy).new(@queues, FREE)
        @numbers = Array.new(QUEUES)
        @sessions = Array.new(QUEUES)
        @slots = {}
        @by_session = {}
        @leaving = {}
        @vacant = []
        @traffic = Traffic.new
        @next_due = @overflows = 0
        @has_more_queues = @is_lazy = @has_sessions = false
        adopt(terms)
      end

      # @return [Integer] how many allocations got a number since the pool began
      def grant = @queues.last_serial

      # @return [Integer] when the last step was
      def now = @queues.now

      # Gives a number. A session that holds one gets the same again.
      #
      # @param now [Integer]
      # @param session [String, nil]
      # @param parameters [String] as they came, kept for whoever asks
      # @return [Lease]
      def allocate(now, session, parameters)
        before = grant
        slot = take(now, session, parameters)
        slot ? lease(grant == before ? :same : :new, slot) : overflow
      end

      # The short form of {#allocate}.
      #
      # @param (see #allocate)
      # @return [Integer, nil] the slot of the number, see {#number}; nil for an overflow, see {#reason}
      def take(now, session, parameters)
        now = @queues.step(now)
        expire if now >= @next_due
        held = @by_session[session] if session
        return held if held && @queues.due(held) > now

        due = now + @hold
        grant = @queues.last_serial + 1
        slot = @is_lazy ? @queues.lend_first(FREE, HELD, now, due, grant) || lend_ended(due, grant) : lend_free(session, due, grant)
        unless slot
          @overflows += 1
          return
        end
        @queues.last_serial = grant
        remember(session, slot)
        @journal.allocated(now, @numbers[slot], @hold, grant, session, parameters)
        slot
      end

      # @param slot [Integer]
      # @return [Integer]
      def number(slot) = @numbers[slot]

      # Until when {#take} lends the first of the free slots, whoever asks, or of those whose holds have ended, and does nothing else. What
      # does that instead goes on with the time and the serial numbers of the queues.
      #
      # @return [Integer] microseconds, 0 when it does more
      def plain_until = plain? ? @next_due : 0

      # @param name [Symbol] of the entity's method
      # @param rows [Elah::Entity::Index]
      # @param prefix [String] of the rows' keys
      # @return [Elah::SlotQueues::Loans]
      def loans(name, rows, prefix) = Elah::SlotQueues::Loans.new(name, @queues, FREE, HELD, rows, prefix)

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
        now = @queues.now
        return lease(:same, slot) if @leaving.key?(number) || now + @hold <= @queues.due(slot)

        prolong(slot, now + @hold)
        @journal.renewed(now, number, @hold, grant)
        lease(:renewed, slot)
      end

      # Ends a hold before its time.
      #
      # @param (see #renew)
      # @return [Lease, nil] nil when it was over
      def release(now, number, grant)
        slot = current(now, number, grant) or return
        ended = lease(:released, slot)
        ended.due = @queues.now
        let_go(slot)
        @journal.released(ended.due, number, grant)
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
        expire if @queues.advance(now) >= @next_due
      end

      # @return [Integer] numbers, without those that leave
      def size = @slots.size - @leaving.size

      # @return [Hash{Symbol=>Integer}] how many numbers are in which state
      def occupancy
        expire
        held = queued_size(HELD, HELD_BEFORE)
        quarantined = queued_size(QUARANTINED, QUARANTINED_BEFORE)
        { numbers: size, free: @slots.size - held - quarantined, held: held, quarantined: quarantined, leaving: @leaving.size }
      end

      # @return [Integer, nil] when a number is free; nil when there is none
      def next_free_at
        return now if occupancy[:free].positive?

        dues = [[HELD, @terms.quarantine], [HELD_BEFORE, @terms.quarantine], [QUARANTINED, 0], [QUARANTINED_BEFORE, 0]]
        dues.filter_map { |queue, more| (slot = @queues.first(queue)) && (@queues.due(slot) + more) }.min
      end

      private

      def step(now)
        @queues.step(now)
        expire
      end

      # A pool that has ever seen a session has to look for it each time.
      def remember(session, slot)
        @sessions[slot] = session
        return unless session

        @by_session[session] = slot
        @has_sessions = true
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
      def lend_ended(due, grant)
        end_all_holds
        @queues.lend_first(FREE, HELD, @queues.now, due, grant)
      end

      def lend_free(session, due, grant)
        slot = @free.take(session) unless @draining
        return unless slot

        @next_due = due if due < @next_due
        @queues.lend(slot, HELD, @queues.now, due, grant)
        slot
      end

      def lease(kind, slot)
        Lease.new(kind, @numbers[slot], @queues.serial(slot), @queues.begun(slot), @queues.due(slot), @sessions[slot])
      end

      def overflow
        number = @terms.overflow
        Lease.new(number ? :overflow : :refused, number, nil, nil, nil, nil, reason)
      end

      def current(now, number, grant)
        step(now)
        slot = @slots[number]
        slot if slot && held?(slot) && @queues.serial(slot) == grant
      end

      def held?(slot)
        queue = @queues.queue(slot)
        queue == HELD || queue == HELD_BEFORE
      end

      def queued_size(*queues) = queues.sum { |queue| @queues.size(queue) }

      def let_go(slot)
        @queues.remove(slot)
        end_hold(slot, @queues.now)
      end

      def free(slot)
        return forget(slot) if !@leaving.empty? && @leaving.key?(@numbers[slot])

        @free.put(slot, @sessions[slot])
      end

      def forget(slot)
        number = @numbers[slot]
        @leaving.delete(number)
        @slots.delete(number)
        @numbers[slot] = @sessions[slot] = nil
        @vacant << slot
      end

      def prolong(slot, due)
        @queues.remove(slot)
        @queues.append(slot, HELD)
        @queues.set_due(slot, due)
        @next_due = due if due < @next_due
      end
    end
  end
end
