# frozen_string_literal: true

module Elah
  module Adapters
    # The ActiveSupport adapter: Rails counts tasks of the loop where it would count threads. Otherwise a reload in development would unload classes
    # while requests that wait use them, and before 7.0 a request that begins would complete another, with the app's hooks.
    module ActiveSupport
      # Stands for Thread in the lock under which Rails loads and unloads code, and in the executor.
      module Owner
        # @return [Elah::Task, Thread] what holds the lock, or runs
        def self.current = Elah.current_task || ::Thread.current
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
        counters.each { |counter| counter.const_set(:Thread, Owner) unless counter.const_defined?(:Thread, false) }.any?
      end

      # ActiveSupport loads an ExecutionWrapper at its first use, and all Rails apps use it.
      def self.counters
        lock = ::ActiveSupport::Concurrency::ShareLock if defined?(::ActiveSupport::Concurrency::ShareLock)
        executor = ::ActiveSupport::ExecutionWrapper if defined?(::ActiveSupport::ExecutionWrapper) && !::ActiveSupport.autoload?(:ExecutionWrapper)
        [lock, executor].compact
      end
      private_class_method :counters
    end
  end
end
