# frozen_string_literal: true

module Elah
  class Supervisor
    # Forks of the supervisor that are no workers, such as those of hooks: what is the supervisor's is not theirs.
    module Forks
      # Prepended to the class methods of Process. Ruby calls it for `fork`, `Process.fork` and `IO.popen("-")`.
      module Leaving
        # @return [Integer] as fork(2)
        def _fork
          super.tap { |child| Forks.leave if child.zero? }
        end
      end

      class << self
        # Calls the block in each fork from now on, unless it becomes a worker.
        #
        # @param leave [Proc, nil] nil to call none
        def leave_by(&leave)
          @leave = leave
          Process.singleton_class.prepend(Leaving)
        end

        # @yield makes a fork that becomes a worker
        # @yieldreturn [Integer]
        # @return [Integer] its process ID
        def worker
          @thread = Thread.current
          yield
        ensure
          @thread = nil
        end

        # In a fork, whose own forks have nothing to leave.
        def leave
          leave = @leave
          @leave = nil
          leave&.call unless Thread.current.equal?(@thread)
        end
      end
    end
  end
end
