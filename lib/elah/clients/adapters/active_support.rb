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

      # Prepended to IsolatedExecutionState, where Rails keeps what belongs to a request: CurrentAttributes, the time zone, the events of
      # notifications, and ActiveRecord its roles and connections. A fiber that a handler makes has the state of the handler.
      module TaskState
        # @return [Fiber, Thread]
        def context = Elah.current_task&.fiber || super
      end

      # The same for 7.0, where the state has no method for its owner.
      module EarlyTaskState
        private

        def current
          fiber = Elah.current_task&.fiber
          fiber ? fiber.active_support_execution_state ||= {} : super
        end
      end

      # Does nothing before ActiveSupport 7.0.
      def self.isolate_tasks
        return unless defined?(::ActiveSupport::IsolatedExecutionState)

        ::ActiveSupport::IsolatedExecutionState.isolation_level = :fiber
        methods = ::ActiveSupport::IsolatedExecutionState.singleton_class
        methods.prepend(methods.method_defined?(:context) ? TaskState : EarlyTaskState)
      end

      # @return [Boolean] whether the gem is loaded
      def self.install
        isolate_tasks
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
