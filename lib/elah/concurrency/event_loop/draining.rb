# frozen_string_literal: true

module Elah
  class EventLoop
    # The end of a loop. When it drains, it stops accepting, ends streams that would continue as long as their clients stay, and serves the remaining
    # requests. Then the fibers of the app end, and those of Elah last: the app may use sinks, entities and clients until its own end.
    module Draining
      # A stream that ends with the drain: the exception that ends it, and the number of shields around it.
      OpenStream = Struct.new(:ending, :shields)
      private_constant :OpenStream

      # A response to a cancelled request needs one to reach its connection and one to be written.
      LAST_ITERATIONS = 2

      # Interval of checks whether the fibers of the app have ended.
      PAUSE_SECONDS = 0.005

      # How often a fiber that waits again is ended at the end of the loop.
      ENDINGS_MAX = 10
      private_constant :LAST_ITERATIONS, :PAUSE_SECONDS, :ENDINGS_MAX

      # Asks the loop to stop accepting, and to end when all its requests have responses. May be called from a trap or another thread.
      #
      # @param leaves_backlog [Boolean] whether other workers accept connections of the same sockets that this one has not accepted
      def request_drain(leaves_backlog: false)
        @leaves_backlog = leaves_backlog
        @drain_requested = true
        interrupt
      end

      # Serves the connections that wait in the sockets of a loop which drains and has left them to others: these do not come.
      #
      # @param sockets [Array<Elah::ListeningSocket>]
      def take_backlog(sockets)
        request_drain
        begin_drain
        sockets.each { |socket| listen(socket) }
      end

      # Runs a block that may continue as long as its client stays, such as an event stream. When the loop drains, the block is cancelled at its
      # wait: its `ensure` blocks run, and this method returns nil.
      #
      # @return [Object, nil] the block's value
      # @raise [Elah::OutsideLoop] in the loop itself
      def until_drain
        task = waiting_task
        return yield if streams?(task)

        ending = Cancelled.new("The server drains: the stream ends.")
        @open_streams[task] = stream = OpenStream.new(ending, task.shields(ending))
        begin
          end_stream(task, stream) if @drain_requested
          yield
        rescue Cancelled => e
          raise unless e.equal?(stream.ending)
        ensure
          @open_streams.delete(task)
          task.withdraw(stream.ending)
        end
      end

      # @return [Array<Elah::Task>] waiting fibers of the app: requests, and what they and the boot have started
      # @api private
      def unended = [*@waits.values, *@ready].reject(&:service?)

      # Cancels the fibers of the app and waits until they have ended. Those in shielded blocks come first, as they may need the others. The caller is
      # a fiber and bounds the time for shielded blocks. Another fiber that waits although it was cancelled twice, {Async::AGAIN_SECONDS} apart, is
      # left behind.
      #
      # @param reason [String] message of the exception in the cancelled fibers
      # @return [Array<Elah::Task>] those left behind
      def end_fibers(reason)
        @ending = Cancellation.of_all(reason)
        times = Hash.new(0).compare_by_identity
        told = end_each(unended.select { |task| held?(task) && !held?(task.parent) }, times)
        pause_until { unended.none? { |task| held?(task) } }
        has_ended = -> { unended.all? { |task| times[task] > 1 } }
        until has_ended.call
          end_each(unended.reject { |task| held?(task.parent) || (held?(task) && times[task].positive?) } - told, times)
          told = []
          pause_until(&has_ended)
        end
        unended
      end

      # Waits until commands that were sent without waiting for their replies have them, for up to {Async::AGAIN_SECONDS}. The caller is a fiber.
      def await_replies = pause_until { in_flight.zero? }

      # Cancels what is left of the app, without waiting for it, and sends the responses that it has given.
      #
      # @param reason [String] as of {#end_fibers}
      def abandon_fibers(reason)
        @fatal = nil
        @ending ||= Cancellation.of_all(reason)
        iterate_last { cancel_each(unended, @ending) }
      end

      # Cancels all fibers, and closes the loop and its scheduler, even if one of these steps fails.
      #
      # @param reason [String] message of the exception in the cancelled fibers
      def shut_down(reason)
        @fatal = nil
        cancellation = Cancellation.of_all(reason)
        iterate_last { cancel_all(cancellation) }
        end_waits(Ended.new(reason))
      ensure
        @current = nil # that of a thread which was killed in a fiber
        begin
          Fiber.set_scheduler(nil)
        ensure
          close
          EventLoop.all.delete(self)
          @endings.each(&:call)
        end
      end

      # Calls the block when the loop has been shut down.
      def at_end(&block) = @endings << block

      private

      def end_each(tasks, times)
        tasks.each do |task|
          task.ending = true
          times[task] += 1
        end
        cancel_each(tasks, @ending)
        tasks
      end

      # Whether a task is in a shielded block, its own or one in a thread, or belongs to one that is.
      def held?(task)
        task = task.parent until task.nil? || task.shields(@ending).positive? || task.job&.shielded?
        !task.nil?
      end

      # Calls the block in a fiber when all requests are served. The loop ends when it has returned.
      def finished?(finish)
        return true if @finishes || finish.nil?

        @finishes = true
        linger(true)
        spawn(Task.service) do
          finish.call
          await_replies
        ensure
          linger(false)
        end
        enter_ready
        drained?
      rescue Overloaded
        linger(false)
        true
      end

      # Ruby has a fiber that waits for a Mutex or a Queue in a line, on the stack of the fiber. The next thread that unlocks or pushes would find the
      # stack of a fiber that has no loop, or none at all, and crash.
      def end_waits(exception)
        ENDINGS_MAX.times do
          @waits.values.each { |task| cancel(task, exception, shields: Cancellation::UNSHIELDED) }
          ready_woken
          break if @ready.empty?

          enter_ready
        end
      end

      # Those that have acquired what they wait for, such as the turn of an entity, give it back: the exception meets them at their next wait.
      def ready_woken
        woken = @waits.select { |_, task| task.woken? }
        woken.each do |id, task|
          @waits.delete(id)
          @ready << task
        end
      end

      # What waits again, in its `ensure` block, gets the exception there.
      def iterate_last
        LAST_ITERATIONS.times do
          yield
          @handle.interrupt
          @handle.iterate
        end
      end

      # The first check comes when those that were cancelled have run.
      def pause_until
        due = Concurrency.now + Async::AGAIN_SECONDS
        yield_to_others
        sleep(PAUSE_SECONDS) until yield || Concurrency.now > due
      end

      # Once, and again when others no longer accept the connections of its sockets.
      def begin_drain
        return if @drained_with == @leaves_backlog

        drain(@drained_with = @leaves_backlog)
        return if @ends_streams

        @ends_streams = true
        @open_streams.to_a.each { |task, stream| end_stream(task, stream) }
      end

      def end_stream(task, stream) = cancel(task, stream.ending, shields: stream.shields)

      def streams?(task) = @open_streams.key?(task)
    end
  end
end
