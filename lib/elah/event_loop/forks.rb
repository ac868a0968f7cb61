# frozen_string_literal: true

module Elah
  class EventLoop
    # What a fork keeps of the loop that it was made in: nothing. The selector and the sockets are shared with the parent, so that whatever the
    # fork took out of them would be taken out of the parent's, too.
    module Forks
      # Prepended to the class methods of Process. Ruby calls it for `fork`, `Process.fork` and `IO.popen("-")`.
      module Leaving
        # @return [Integer] as fork(2)
        def _fork
          super.tap { |child| EventLoop.leave_in_fork if child.zero? }
        end
      end

      # Class methods of {EventLoop}.
      module Scheduling
        # Leaves the loop of this thread to the parent of this process, if there is one.
        def leave_in_fork
          scheduler = Fiber.scheduler
          scheduler.event_loop.leave_in_fork if scheduler.is_a?(Scheduler)
        end
      end

      # Calls the block in each fork that is made in this loop, after the fork has left it.
      def in_forks(&block) = @in_forks << block

      # Leaves the loop to the parent of this process: what runs goes on without a scheduler, and waits by blocking.
      def leave_in_fork
        @is_fork = true
        Fiber.set_scheduler(nil)
        abandon
        @in_forks.each(&:call)
      end

      # Ends a fork whose code has left the block or the handler in which it was made: it has nowhere to go on. Neither `at_exit` blocks nor
      # `ensure` blocks of the server run, as those are the parent's. Does nothing in the loop's own process.
      #
      # @param exception [Exception, nil] what it ended with
      def end_fork(exception = nil)
        return unless @is_fork

        status = exception.is_a?(SystemExit) ? exception.status : 1
        unless exception.is_a?(SystemExit)
          Log.current.error("A fork went on where its parent answers requests, and ends with status 1: give fork a block, or end it with exit!. " \
                            "#{Text.of_exception(exception) if exception}".rstrip, exception&.backtrace)
        end
        [$stdout, $stderr].each(&:flush)
      rescue SystemCallError, IOError
        nil
      ensure
        Process.exit!(status) if @is_fork
      end

      Process.singleton_class.prepend(Leaving)
    end
  end
end
