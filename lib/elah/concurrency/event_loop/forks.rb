# frozen_string_literal: true

module Elah
  class EventLoop
    # Forks: a fork keeps no loop, whichever thread made it. It shares the selector and the sockets with its parent. Events that it removed from
    # them would be missing in the parent.
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
        # @return [Array<EventLoop>] the loops of this process that have not been shut down
        def all = @all ||= []

        # @return [Thread, nil] the thread in which this process serves requests; other threads may begin and end loops meanwhile
        def serving_thread = all.dup.find(&:server?)&.thread

        # Leaves every loop to the parent of this process. The code that made the fork continues without a scheduler, and its waits block.
        def leave_in_fork
          all.each(&:mark_fork)
          scheduler = Fiber.scheduler
          if defined?(Scheduler) && scheduler.is_a?(Scheduler) # it is loaded with the first loop
            Fiber.set_scheduler(nil)
            scheduler.event_loop.abandon
          end
          all.shift.run_fork_blocks until all.empty?
        end
      end

      # Calls the block in each fork made before the loop is shut down, after the fork has left the loop.
      def in_forks(&block) = @in_forks << block

      # @api private
      def mark_fork = @is_fork = true

      # @return [Boolean] whether this process is a fork, in which none of its fibers goes on
      # @api private
      def fork? = @is_fork

      # @api private
      def run_fork_blocks = @in_forks.each(&:call)

      # Ends a fork whose code has left the block or the handler in which it was made: it has nothing left to run. No `at_exit` blocks and no
      # `ensure` blocks of the server run, because those belong to the parent. Does nothing in the loop's own process.
      #
      # @param exception [Exception, nil] the exception that ended it
      def end_fork(exception = nil)
        return unless @is_fork

        status = exception.is_a?(SystemExit) ? exception.status : 1
        unless exception.is_a?(SystemExit)
          Log.current.error("A fork left the block that made it and ends with status 1: pass a block to fork, or end the fork with exit!. " \
                            "#{Text.of_exception(exception) if exception}".rstrip, exception&.backtrace)
        end
        [$stdout, $stderr].each(&:flush)
      rescue SystemCallError, IOError
        nil
      ensure
        Process.exit!(status) if @is_fork
      end
    end
  end
end
