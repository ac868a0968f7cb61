# frozen_string_literal: true

module Elah
  module Adapters
    # The ActiveSupport adapter: the lock under which Rails loads and unloads code counts tasks of the loop. It would count threads otherwise, and
    # a reload in development would unload classes while requests that wait use them.
    module ActiveSupport
      # Stands for Thread in the lock.
      module Owner
        # @return [Elah::Task, Thread] what holds the lock
        def self.current = Elah.current_loop&.current_task || ::Thread.current
      end

      # @return [Symbol, nil] whether `:thread` or `:fiber` owns the state of a request; nil before ActiveSupport 7.0
      def self.isolation_level
        ::ActiveSupport::IsolatedExecutionState.isolation_level if defined?(::ActiveSupport::IsolatedExecutionState)
      end

      # Also CurrentAttributes and the events of notifications are kept there.
      def self.isolate_fibers
        ::ActiveSupport::IsolatedExecutionState.isolation_level = :fiber if isolation_level
      end
      private_class_method :isolate_fibers

      # @return [Boolean] whether the gem is loaded
      def self.install
        isolate_fibers
        return false unless defined?(::ActiveSupport::Concurrency::ShareLock)

        lock = ::ActiveSupport::Concurrency::ShareLock
        lock.const_set(:Thread, Owner) unless lock.const_defined?(:Thread, false)
        true
      end
    end
  end
end
