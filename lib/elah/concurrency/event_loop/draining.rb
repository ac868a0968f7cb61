# frozen_string_literal: true

module Elah
  class EventLoop
    # The end of a loop. When it drains, it stops accepting, ends streams that would continue as long as their clients stay, and serves the remaining
    # requests.
    module Draining
      # A stream that ends with the drain: the exception that ends it, and the number of shields around it.
      OpenStream = Struct.new(:ending, :shields)
      private_constant :OpenStream

      # A response to a cancelled request needs one to reach its connection and one to be written.
      LAST_ITERATIONS = 2
      private_constant :LAST_ITERATIONS

      # Asks the loop to stop accepting, and to end when all its requests have responses. May be called from a trap or another thread.
      #
      # @param leaves_backlog [Boolean] whether other workers accept connections of the same sockets that this one has not accepted
      def request_drain(leaves_backlog: false)
        @leaves_backlog = leaves_backlog
        @drain_requested = true
        interrupt
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

      # Cancels all waiting fibers, sends the responses that they have given, and closes the loop and its scheduler, even if one of these steps fails.
      #
      # @param reason [String] message of the exception in the cancelled fibers
      def shut_down(reason)
        @fatal = nil
        cancel_all(Cancelled.new(reason))
        LAST_ITERATIONS.times do
          @handle.interrupt
          @handle.iterate
        end
      ensure
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

      def begin_drain
        drain(@leaves_backlog)
        return if @ends_streams

        @ends_streams = true
        @open_streams.to_a.each { |task, stream| end_stream(task, stream) }
      end

      def end_stream(task, stream) = cancel(task, stream.ending, shields: stream.shields)

      def streams?(task) = @open_streams.key?(task)
    end
  end
end
