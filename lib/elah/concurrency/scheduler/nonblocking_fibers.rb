# frozen_string_literal: true

require_relative "enumerator_fibers"

module Elah
  class Scheduler
    # Fibers that code in a task makes. In a blocking fiber Ruby asks no scheduler: a wait would block the loop, and one for another task would never
    # end. So `Fiber.new(blocking: true)` makes a non-blocking fiber there. Ruby makes the fibers of Enumerators without this
    # method: see {EnumeratorFibers}.
    module NonblockingFibers
      # @param blocking [Boolean] whether waits block the thread; they don't in a task
      # @param options [Hash] of Fiber.new
      def initialize(blocking: false, **options)
        super(blocking: blocking && !Elah.current_loop, **options)
      end

      ::Fiber.prepend(self)
    end
  end
end
