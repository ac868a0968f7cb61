# frozen_string_literal: true

require_relative "../../../concurrency/task"

module Elah
  module Adapters
    module ActiveRecord
      # The owner of a connection until ActiveRecord 7.0: the running task, and elsewhere the thread. A task is a request, a spawned fiber or a
      # block of Elah.offload. Fibers that a handler creates, for example an Enumerator, share the task's connection.
      module Ownership
        class << self
          # @return [Elah::Task, Thread, Fiber]
          def current = Elah.current_task || native

          # @return [Thread, Fiber] the owner according to ActiveRecord
          def native
            defined?(::ActiveSupport::IsolatedExecutionState) ? ::ActiveSupport::IsolatedExecutionState.context : Thread.current
          end
        end

        # Prepended to IsolatedExecutionState, by which ActiveRecord 7.1 and later find the owner of a connection. A fiber that a handler creates has
        # the state of the handler, and so its connection and transaction.
        module OfState
          # @return [Fiber, Thread]
          def context = Elah.current_task&.fiber || super
        end

        # Prepended to ConnectionPool.
        module OfPool
          private

          # The pool passes the current owner according to ActiveRecord, or the owner of a connection.
          def connection_cache_key(owner)
            owner.equal?(Thread.current) || owner.equal?(Ownership.native) ? Ownership.current : owner
          end

          # A reload, for example, first takes all connections. It would wait for the task's own, which it looks for under the thread.
          def attempt_to_checkout_all_existing_connections(*)
            release_connection
            super
          end

          # To connect is a part of the wait for a connection, and bounded as that is. The driver may be new here.
          def new_connection
            Adapters.install
            return super unless Elah.current_loop

            Timeout.timeout(checkout_timeout, ::ActiveRecord::ConnectionNotEstablished, "no connection within #{checkout_timeout} s") { super }
          end
        end

        # Prepended to the class methods of ActiveRecord::Base until 6.1, which keeps the role and the shard in use with the thread. Here they are
        # kept with the fiber, so `connected_to` in one request does not send the queries of another to the replica.
        module OfRole
          # @return [Array<Hash>] the roles and shards of the blocks that the fiber is in
          def connected_to_stack = Elah.current_task ? Thread.current[:ar_connected_to_stack] ||= Concurrent::Array.new : super

          # @return [ActiveRecord::ConnectionAdapters::ConnectionHandler] of the role, with `legacy_connection_handling`
          def connection_handler
            Elah.current_task ? Thread.current[:ar_connection_handler] || default_connection_handler : super
          end

          # @param handler [ActiveRecord::ConnectionAdapters::ConnectionHandler]
          def connection_handler=(handler)
            Elah.current_task ? Thread.current[:ar_connection_handler] = handler : super
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
