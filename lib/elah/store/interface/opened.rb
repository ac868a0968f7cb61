# frozen_string_literal: true

module Elah
  class Store
    # What stores in a folder and on a cluster share.
    module Interface
      # The calls of an open store that are the same in a folder and on a cluster. A class that includes it has `new_counter(name, is_in_memory)` and
      # `begin_attempt(is_reserved)`.
      module Opened
        # The counters of that name. They are independent of a table with the same name.
        #
        # @param name [String] 1 to 255 bytes
        # @param durability [Symbol] default of {Counter#increment}: `:disk` or `:memory`
        # @return [Elah::Store::Counter, Elah::Store::Cluster::Counter]
        # @raise [InvalidKey] when the name is empty or too long
        def counter(name, durability: :disk)
          unless %i[disk memory].include?(durability)
            raise ArgumentError, "durability: must be :disk or :memory, not #{durability.inspect}"
          end

          new_counter(name, durability == :memory)
        end

        # Runs a block that reads one snapshot of the store, and whose writes are stored together or not at all. If another write changed data that
        # the block had read, the block runs again. So it should only read and write the store. In a folder the writers of all processes wait for it
        # after {FREE_ATTEMPTS_MAX} attempts, so that it cannot fail forever; on a cluster it waits a little longer before each attempt. Transactions
        # are serialisable: the result is as if they had run one after another. Nothing is stored if the block raises, or is left with `break`,
        # `return` or `throw`.
        #
        # @yieldparam tx [Elah::Store::Transaction, Elah::Store::Cluster::Transaction]
        # @yieldreturn [T]
        # @return [T] the block's value, once its writes are on disk
        # @raise [Conflict] after {ATTEMPTS_MAX} attempts
        def transaction(&block)
          outcome = attempt(&block)
          return outcome.first if outcome

          # Retries run one after another, so that they do not conflict again. In a fork, the fiber of the parent that holds the lock never runs.
          @losers = Mutex.new unless @losers_of == Process.pid
          @losers_of = Process.pid
          return again(&block) if @losers.owned?

          @losers.synchronize { again(&block) }
        end

        private

        def again(&block)
          (2..ATTEMPTS_MAX).each do |number|
            back_off(number)
            outcome = attempt(is_reserved: number > FREE_ATTEMPTS_MAX, &block)
            return outcome.first if outcome
          end
          raise Conflict, "The transaction lost against other writes #{ATTEMPTS_MAX} times."
        end

        # Waits before an attempt.
        def back_off(_number) = nil

        # The block's value in an array, or nil after a conflict.
        def attempt(is_reserved: false)
          transaction = begin_attempt(is_reserved)
          value = yield transaction
          [value] if transaction.send(:commit)
        ensure
          transaction&.send(:give_up)
        end
      end
    end
  end
end
