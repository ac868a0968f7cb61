# frozen_string_literal: true

require_relative "../../../concurrency/task"

module Elah
  module Adapters
    module ActiveRecord
      # The owner of a connection until ActiveRecord 7.0: the running task of the loop, and elsewhere the thread. A task is a request or a spawned
      # fiber. Fibers that a handler creates, for example an Enumerator, share the task's connection.
      module Ownership
        class << self
          # @return [Elah::Task, Thread, Fiber]
          def current = Elah.current_loop&.current_task || native

          # @return [Thread, Fiber] the owner according to ActiveRecord
          def native
            defined?(::ActiveSupport::IsolatedExecutionState) ? ::ActiveSupport::IsolatedExecutionState.context : Thread.current
          end
        end

        # Prepended to IsolatedExecutionState, by which ActiveRecord 7.1 and later find the owner: a fiber that a handler makes has the state, and so
        # the connection and the transaction, of the handler.
        module OfState
          # @return [Fiber, Thread]
          def context = Elah.current_loop&.current_task&.fiber || super
        end

        # Prepended to ConnectionPool.
        module OfPool
          private

          # The pool passes the current owner according to ActiveRecord, or the owner of a connection.
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

        # The lock of a connection that a task has leased. No other task uses it, and a fiber inside the task would wait forever for a Monitor,
        # which belongs to fibers in Ruby 3.1. ActiveRecord 7.1 and later need none either.
        module NoLock
          def self.synchronize = yield
        end

        # Prepended to AbstractAdapter, whose own methods compare with the current owner according to ActiveRecord.
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
