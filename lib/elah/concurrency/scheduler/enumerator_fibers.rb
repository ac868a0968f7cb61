# frozen_string_literal: true

module Elah
  class Scheduler
    # The fibers of Enumerators that are read with `next`, on Ruby 3.1. They are blocking ones, in which Ruby asks no scheduler: a wait for another
    # task, such as for its Mutex, would never end. So the `each` that such a fiber calls runs in a non-blocking fiber inside it.
    module EnumeratorFibers
      # @return [Object] as without this module
      ruby2_keywords def each(*arguments, &block)
        return super unless block_given? && Fiber.current.blocking? && Elah.current_loop

        EnumeratorFibers.each_value(->(&handle) { super(*arguments, &handle) }, block)
      end

      # @param iteration [#call] calls its block for each value
      # @param handle [#call] receives the values, in the calling fiber; its result is that of the iteration's block
      # @return [Object] the result of the iteration
      def self.each_value(iteration, handle)
        result = nil
        fiber = Fiber.new do
          result = iteration.call { |*values| Fiber.yield(values) }
          nil
        end
        values = fiber.resume
        values = fiber.resume(handle.call(*values)) while values
        result
      end

      ::Enumerator.prepend(self) if RUBY_VERSION < "3.2"
    end
  end
end
