# frozen_string_literal: true

module Elah
  module Adapters
    module ActiveRecord
      # The owner of a connection until ActiveRecord 7.0: the running task, and elsewhere the thread. A task is a request, a spawned fiber or a
      # block of Elah.offload. Fibers that a handler creates, for example an Enumerator, share the task's connection.
      module Ownership
        # @return [Elah::Task, Thread] what ActiveRecord takes the thread for
        def self.current = Elah.current_task || Thread.current

        # Prepended to ConnectionPool.
        module OfPool
          private

          # The pool passes the thread, or the owner of a connection.
          def connection_cache_key(owner) = owner.equal?(Thread.current) ? Ownership.current : owner

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
        # kept with the task, so `connected_to` in one request does not send the queries of another to the replica. A fiber that a handler creates
        # has the role of the handler.
        module OfRole
          # @return [Array<Hash>] the roles and shards of the blocks that the task is in
          def connected_to_stack
            task = Elah.current_task or return super
            task.locals[:ar_connected_to_stack] ||= Concurrent::Array.new
          end

          # @return [ActiveRecord::ConnectionAdapters::ConnectionHandler] of the role, with `legacy_connection_handling`
          def connection_handler
            task = Elah.current_task or return super
            task.locals[:ar_connection_handler] || default_connection_handler
          end

          # @param handler [ActiveRecord::ConnectionAdapters::ConnectionHandler]
          def connection_handler=(handler)
            task = Elah.current_task or return super
            task.locals[:ar_connection_handler] = handler
          end
        end

        # The lock of a connection that a task has leased: statements take turns, also when a handler passes its connection to threads. The own lock
        # of ActiveRecord is a Monitor, which in Ruby 3.1 belongs to a fiber, so that a fiber inside the task would wait forever. Here all fibers of
        # the task pass. One that never goes on may keep the lock, so each lease has a new one, and the pool ActiveRecord's.
        class Lock
          def initialize = @free = Thread::Queue.new.push(true)

          # @return [Object] the block's value
          def synchronize
            current = Ownership.current
            return yield if @holder.equal?(current)

            is_held = false
            begin
              # The flag is set in the block, because an exception may come between that and its end.
              @free.empty? ? permitting_loads { is_held = @free.pop } : is_held = @free.pop
              @holder = current
              yield
            ensure
              if is_held
                @holder = nil
                @free.push(true)
              end
            end
          end

          private

          # As ActiveRecord does it: in development, the holder may wait until it can load code.
          def permitting_loads(&block) = ::ActiveSupport::Dependencies.interlock.permit_concurrent_loads(&block)
        end

        # Prepended to AbstractAdapter, whose own methods compare with the thread.
        module OfConnection
          def lease
            super
            take_over
          end

          def expire
            @owner = Thread.current if @owner.equal?(Ownership.current)
            super
            @lock = @own_lock if @own_lock
          end

          def steal!
            pool.send(:remove_connection_from_thread_cache, self, @owner)
            super
            take_over
          end

          private

          # Who steals a connection does not wait for a statement of its owner.
          def take_over
            @owner = Ownership.current
            @own_lock ||= @lock
            @lock = @owner.is_a?(Task) ? Lock.new : @own_lock
          end
        end
      end
    end
  end
end
