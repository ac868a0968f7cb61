# frozen_string_literal: true

module Elah
  class Scheduler
    # Thread.handle_interrupt in a fiber of the loop. Libraries protect with it what must not end halfway, such as the return of a connection to its
    # pool. Ruby's masks belong to the thread, which all fibers share, and concern only Thread#raise. Here a mask defers what cancels its fiber.
    module InterruptMasks
      # The exception with which Timeout ends a block without a class of the caller.
      TIMEOUT = defined?(::Timeout::ExitException) ? ::Timeout::ExitException : ::Timeout::Error

      # @param mask [Hash{Class=>Symbol}] `:never`, `:immediate` or `:on_blocking` by class of exception. A fiber is cancelled only where it waits, so
      #   the last two mean the same.
      # @raise [Exception] a deferred exception, once no mask defers it
      def handle_interrupt(mask, &block)
        scheduler = Fiber.current_scheduler
        task = scheduler.event_loop.current_task if scheduler.is_a?(Scheduler)
        return super unless task && block && InterruptMasks.valid?(mask) # or it raises an ArgumentError

        task.masked(mask, &block)
      end

      TIMINGS = %i[never immediate on_blocking].freeze
      private_constant :TIMINGS

      # @return [Boolean] whether it is a mask of Thread.handle_interrupt
      def self.valid?(mask) = mask.is_a?(Hash) && mask.all? { |kind, timing| kind.is_a?(Module) && TIMINGS.include?(timing) }

      # @param mask [Hash{Class=>Symbol}]
      # @param kind [Class]
      # @return [Symbol, nil] the timing of its nearest ancestor in the mask
      def self.timing(mask, kind)
        nearest = nil
        mask.each_key { |key| nearest = key if kind <= key && (nearest.nil? || key < nearest) }
        mask[nearest]
      end

      ::Thread.singleton_class.prepend(self)
    end
  end
end
