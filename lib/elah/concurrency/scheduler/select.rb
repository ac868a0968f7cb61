# frozen_string_literal: true

require_relative "interval"

module Elah
  class Scheduler
    # IO.select in a fiber of the loop. Ruby's own says who is ready, so that buffers, closed descriptors and conversions are as
    # everywhere; the loop only waits between two looks.
    class Select
      # With more descriptors than this a thread waits: each costs the loop three system calls per look.
      DESCRIPTORS_MAX = 32

      NATIVE = IO.method(:select)
      private_constant :NATIVE

      # Ruby's IO.select, without the scheduler.
      if Fiber.respond_to?(:blocking)
        def self.native(*arguments) = Fiber.blocking { NATIVE.call(*arguments) }
      else
        def self.native(*arguments) = NATIVE.call(*arguments)
      end

      # @param readables [Array<IO>, nil]
      # @param writables [Array<IO>, nil]
      # @param exceptables [Array<IO>, nil]
      # @param timeout [Numeric, nil] seconds
      # @raise [TypeError, ArgumentError] see {Interval}
      def initialize(readables, writables, exceptables, timeout)
        Interval.check(timeout)
        @lists = [readables, writables, exceptables]
        @due = timeout && now + timeout
      end

      # @return [Boolean] whether there are too many descriptors for the loop
      def many? = @lists.sum { |list| list ? list.size : 0 } > DESCRIPTORS_MAX

      # @yieldparam interests [Array<Array(Integer, Integer)>] descriptors, each with the bits of what it should be ready for
      # @yieldparam seconds [Numeric, nil] how long to wait at most
      # @return [Array, nil] as of IO.select
      def wait
        loop do
          found = self.class.native(*@lists, 0) and return found
          left = @due && @due - now
          return if left && left <= 0

          yield interests, left
        end
      end

      private

      def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

      def interests
        @lists.zip([IO::READABLE, IO::WRITABLE, IO::PRIORITY]).each_with_object(Hash.new(0)) do |(list, event), interests|
          list&.each { |io| interests[io.to_io.fileno] |= event }
        end.to_a
      end

      # Ruby 3.1 asks no scheduler in IO.select: there a fiber of the loop is led to it by this module.
      module Cooperation
        # @return [Array, nil] as of IO.select
        def select(*arguments)
          scheduler = Fiber.current_scheduler
          scheduler.is_a?(Scheduler) ? scheduler.io_select(*arguments) : super
        end
      end

      # The same for a bare `select`, a private method of every object.
      module PrivateCooperation
        include Cooperation
        private :select
      end

      if RUBY_VERSION < "3.2"
        [IO.singleton_class, Kernel.singleton_class].each { |place| place.prepend(Cooperation) }
        Kernel.prepend(PrivateCooperation)
      end
    end
  end
end
