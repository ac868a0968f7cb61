# frozen_string_literal: true

module Elah
  module Adapters
    module ActiveRecord
      # What a task has taken comes back when the task ends, and in a state that the next one can use.
      module Return
        # Prepended to every connection.
        module OfConnection
          def lease
            super.tap do
              Interruption.fit(self.class)
              holder = owner
              @lessee = Elah.current_loop&.current_task
              @ending = @lessee&.at_end { pool.checkin(self) if owner.equal?(holder) }
            end
          end

          # A task that goes on may lease again and again, and keeps nothing of what it gave back.
          def expire
            @lessee&.forget_ending(@ending)
            @lessee = @ending = nil
            super
          end

          # Belongs to nobody any more: a connection that has left its pool does not come back.
          def disown = @owner = nil

          # @return [Boolean] whether neither a statement nor a transaction is open on it
          def idle? = !transaction_open?
        end

        # Prepended to every pool.
        module OfPool
          # A connection in the middle of something is of no use to the next: it is closed, and the server rolls back. The pool opens it
          # again when it is wanted.
          def checkin(connection)
            connection.disconnect! unless connection.idle?
            super
          end

          def remove(connection)
            super
          ensure
            connection.disown
          end
        end
      end
    end
  end
end
