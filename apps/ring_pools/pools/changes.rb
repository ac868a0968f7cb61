# frozen_string_literal: true

require_relative "../policies"

module RingPools
  module Pools
    # Owns how a {Pool} gets other terms and other numbers while its numbers are held.
    module Changes
      # Changes what the pool gives and how. A number that is not listed any more is given to nobody, and leaves when its hold and its
      # quarantine are over.
      #
      # @param now [Integer]
      # @param terms [Terms]
      # @param numbers [Array<Integer>] in their order
      # @return [Hash{Integer=>Integer}] the numbers that leave, and when each has left
      def change(now, terms, numbers)
        step(now)
        change_policy(terms.policy) unless terms.policy == @terms.policy
        age_queues unless terms.hold == @terms.hold && terms.quarantine == @terms.quarantine
        adopt(terms)
        listed = numbers.to_h { |number| [number, true] }
        gone = @slots.keys.reject { |number| listed[number] }.to_h { |number| [number, dismiss(number)] }
        numbers.each { |number| admit(number) }
        gone
      end

      private

      def admit(number)
        return @leaving.delete(number) if @slots[number]

        slot = @vacant.pop || @numbers.size
        @slots[number] = slot
        @numbers[slot] = number
        @sessions[slot] = nil
        free(slot)
      end

      # @return [Integer] when it has left
      def dismiss(number)
        slot = @slots[number]
        @leaving[number] = true
        queue = @queues.queue(slot)
        return @queues.due(slot) + (held?(slot) ? @terms.quarantine : 0) if queue && queue != Pool::FREE

        @free.remove(slot)
        forget(slot)
        now
      end

      def change_policy(name)
        slots = @free.to_a
        slots.each { |slot| @free.remove(slot) }
        @free = Policies::BY_NAME.fetch(name).new(@queues, Pool::FREE)
        slots.each { |slot| @free.put(slot, @sessions[slot]) }
      end

      # New holds may end before those that there are, so they get queues of their own.
      def age_queues
        [[Pool::HELD, Pool::HELD_BEFORE], [Pool::QUARANTINED, Pool::QUARANTINED_BEFORE]].each do |queue, before|
          slots = (@queues.slots(before) + @queues.slots(queue)).sort_by { |slot| @queues.due(slot) }
          slots.each { |slot| @queues.remove(slot) }
          slots.each { |slot| @queues.append(slot, before) }
        end
        @has_more_queues = true
        plan_expiry
      end
    end
  end
end
