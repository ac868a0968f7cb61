# frozen_string_literal: true

module Elah
  module Adapters
    module ActiveRecord
      # Returns a task's connections when the task ends, in a state that the next task can use.
      module Return
        # Prepended to every connection.
        module OfConnection
          def lease
            super.tap do
              Interruption.fit(self.class)
              holder = owner
              @lessee = Elah.current_task
              @ending = @lessee&.at_end { pool.checkin(self) if owner.equal?(holder) }
            end
          end

          # A long task may lease again and again; returned connections are no longer tracked.
          def expire
            @lessee&.forget_ending(@ending)
            @lessee = @ending = nil
            super
          end

          # Without an owner: a connection that has left its pool is not returned.
          def disown
            @lessee&.forget_ending(@ending)
            @lessee = @ending = @owner = nil
          end

          # @return [Boolean] whether neither a statement nor a transaction is open on it
          def idle? = !transaction_open?
        end

        # Prepended to every pool.
        module OfPool
          # A connection with an open transaction or statement is of no use to the next task. It is closed, and the server rolls back. The pool
          # reconnects it on demand. A thread to which the handler has passed it ends its statement first.
          def checkin(connection)
            connection.lock.synchronize do
              connection.disconnect! unless connection.idle?
              super
            end
          end

          def remove(connection)
            super
          ensure
            connection.disown
          end

          # It leases those that it closes, and takes them out of the pool. Returned at the end of the task they would be more than its size.
          def flush(*)
            before = connections.to_a # nil in a pool that is discarded
            begin
              super
            ensure
              (before - connections.to_a).each(&:disown)
            end
          end
        end

        # Prepended to every pool of ActiveRecord 7.2 and later, which notes before it has a connection that the task keeps it. A task that got none
        # would leave that note to the next one in its fiber, which would take nil for its connection.
        module OfLease
          def lease_connection
            super
          ensure
            connection_lease.sticky = nil unless active_connection?
          end
        end
      end
    end
  end
end
