# frozen_string_literal: true

module Elah
  class EventLoop
    # How a task is ended from outside: by an exception where it waits. The loop's own thread calls these.
    module Cancellation
      # Passes through every shield.
      UNSHIELDED = Float::INFINITY

      # Methods that change nothing, so that a handler may be ended anywhere.
      SAFE_METHODS = %w[GET HEAD].freeze
      private_constant :SAFE_METHODS

      # Which requests are cancelled when their clients have gone: `:safe` (GET and HEAD), `:all` or `:none`. An event stream is
      # cancelled whatever its method, unless this is `:none`: it is for nobody else.
      attr_writer :cancels_gone

      # Raises `exception` in the fiber that a task is suspended in. A task that does not wait, that is shielded, or that has just
      # got what it waited for, meets it when it waits next.
      #
      # @param task [Elah::Task]
      # @param exception [Exception]
      # @param shields [Numeric] how many shields the exception passes through
      def cancel(task, exception, shields: 0)
        if task.woken? || task.shields > shields || !@waits.delete(task.wait)
          task.postpone(exception, shields)
        else
          cancel_wait(task.wait)
          task.interrupt(exception, shields)
          @ready << task
        end
      end

      # Cancels whatever waits; called in the loop itself, it returns when everything that was cancelled has run.
      #
      # @param exception [Exception]
      def cancel_all(exception)
        @waits.values.each { |task| cancel(task, exception) }
        enter_ready unless @current
      end

      # Runs the block; after `seconds` raises in it where it waits. A shield inside the block holds it off.
      #
      # @param seconds [Numeric]
      # @param exception [#call] gives what to raise
      # @yieldparam seconds [Numeric]
      # @raise [Elah::OutsideLoop] in the loop itself
      def limit(seconds, exception)
        task = waiting_task
        shields = task.shields
        raised = nil
        id = new_wait
        begin
          after_wait(id) { cancel(task, raised = exception.call, shields: shields) }
          start_timer(id, seconds.to_f)
          yield seconds
        ensure
          forget(id)
          task.withdraw(raised) if raised
        end
      end

      # Raises in a fiber that waits; one that does not is left alone.
      #
      # @param fiber [Fiber]
      # @param exception [Exception]
      def interrupt_fiber(fiber, exception)
        task = @waits.each_value.find { |waiting| waiting.suspended.equal?(fiber) }
        cancel(task, exception, shields: UNSHIELDED) if task
      end

      # Has the task that is running begin with a request, and meet an exception when it waits first: it is what the request's responder met.
      #
      # @param request [Elah::Request]
      # @param exception [Exception]
      def begin_with(request, exception)
        @current.request = request
        @current.postpone(exception, UNSHIELDED)
      end

      private

      def cancel_requests
        cancelled = cancelled_requests or return
        tasks = {}
        [*@waits.values, *@ready].each { |task| tasks[task.request.key] = task if task.request }
        cancelled.each do |key, reason|
          task = tasks[key]
          cancel(task, reason_for(reason)) if task && (reason != :gone || cancels_gone?(task))
        end
      end

      def cancels_gone?(task)
        return @cancels_gone == :all unless @cancels_gone == :safe

        SAFE_METHODS.include?(task.request.request_method) || streams?(task)
      end

      def reason_for(reason)
        return ClientGone.new("The client closed the connection before its answer.") if reason == :gone

        DeadlineExceeded.new("The request took longer than its deadline.")
      end
    end
  end
end
