# frozen_string_literal: true

require_relative "../../task"

module Elah
  module Adapters
    module ActiveRecord
      # Who owns a connection until ActiveRecord 7.0: the task of the loop that runs, and elsewhere the thread. A task is a request or a
      # spawned fiber; the fibers that a handler makes inside, an Enumerator for one, share what it has.
      module Ownership
        class << self
          # @return [Elah::Task, Thread, Fiber]
          def current = Elah.current_loop&.current_task || native

          # @return [Thread, Fiber] who ActiveRecord thinks runs
          def native
            defined?(::ActiveSupport::IsolatedExecutionState) ? ::ActiveSupport::IsolatedExecutionState.context : Thread.current
          end
        end

        # Prepended to ConnectionPool.
        module OfPool
          private

          # The pool asks with who it thinks runs, or with the owner of a connection.
          def connection_cache_key(owner)
            owner.equal?(Thread.current) || owner.equal?(Ownership.native) ? Ownership.current : owner
          end

          # To connect is a part of the wait for a connection, and bounded as that is. The driver may be new here.
          def new_connection
            Adapters.install
            return super unless Elah.current_loop

            Timeout.timeout(checkout_timeout, ::ActiveRecord::ConnectionNotEstablished, "no connection within #{checkout_timeout} s") { super }
          end
        end

        # The lock of a connection that a task has taken: nobody else uses it, and a fiber that the task made inside would wait for ever
        # for a Monitor, which Ruby 3.1 gives to fibers. ActiveRecord 7.1 and later do without one too.
        module NoLock
          def self.synchronize = yield
        end

        # Prepended to AbstractAdapter, whose own methods compare with who they think runs.
        module OfConnection
          def lease
            super
            @owner = Ownership.current
            @own_lock ||= @lock
            @lock = @owner.is_a?(Task) ? NoLock : @own_lock
          end

          def expire
            @owner = Ownership.native if @owner.equal?(Ownership.current)
            super
          end

          def steal!
            pool.send(:remove_connection_from_thread_cache, self, @owner)
            super
            @owner = Ownership.current
          end
        end
      end
    end
  end
end
