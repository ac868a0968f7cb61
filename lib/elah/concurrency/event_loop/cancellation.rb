# frozen_string_literal: true

module Elah
  class EventLoop
    # Cancellation of tasks from outside: an exception is raised where the task waits. Only the loop's own thread calls these methods.
    module Cancellation
      # Passes every shield.
      UNSHIELDED = Float::INFINITY

      # Safe methods, whose handlers may be cancelled anywhere.
      SAFE_METHODS = %w[GET HEAD].freeze

      # What a time limit or the end of the loop raises, made in the fiber that it interrupts: the constructor of an app's exception may raise, and
      # fibers that end together share none. Masks know it by its kind.
      Interruption = Struct.new(:maker, :kind) do
        def exception(*) = maker.call
      end
      private_constant :SAFE_METHODS, :Interruption

      # @param exception [Exception, #exception]
      # @return [Class] what a mask of Thread.handle_interrupt names, or an ancestor of that
      def self.kind(exception) = exception.is_a?(Interruption) ? exception.kind : exception.class

      # @param reason [String] message of the exception in each fiber
      # @return [#exception] what cancels the fibers of a loop that ends, for {#cancel_all}
      def self.of_all(reason) = Interruption.new(-> { Cancelled.new(reason) }, Cancelled)

      # Which requests are cancelled when their clients disconnect: `:safe` (GET and HEAD), `:begun` (those of them whose response has begun), `:all`
      # or `:none`. An event stream is cancelled whatever its method, unless this is `:none`, because nobody else reads it.
      attr_writer :cancels_gone

      # @return [#exception, nil] what ends the fibers of the app; nil while the loop goes on
      attr_reader :ending

      # @return [Boolean] whether the fibers of Elah itself end too
      def closing? = @closing

      # Raises `exception` in the suspended fiber of a task. A task that does not wait, is shielded, or has just acquired what it waited for gets
      # the exception at its next wait.
      #
      # @param task [Elah::Task]
      # @param exception [Exception, #exception]
      # @param shields [Numeric] number of shields that the exception passes
      # @param is_end [Boolean] see {Task#interrupt}
      def cancel(task, exception, shields: 0, is_end: true)
        if task.woken? || task.shields(exception) > shields || !@waits.delete(task.wait)
          task.postpone(exception, shields, is_end: is_end)
        else
          cancel_wait(task.wait)
          task.interrupt(exception, shields, is_end)
          @ready << task
        end
      end

      # Ends the wait of a task with an exception that concerns this wait alone, such as that its stream is closed.
      #
      # @param task [Elah::Task]
      # @param exception [Exception]
      def fail_wait(task, exception) = cancel(task, exception, shields: UNSHIELDED, is_end: false)

      # Cancels all tasks, because the loop ends: those that wait, and those that run next at their next wait. If the loop goes on meanwhile, it does
      # so again and again. It runs in the loop itself, and returns when all cancelled tasks have run.
      #
      # @param exception [#exception]
      def cancel_all(exception)
        @closing = true
        @ending = exception
        cancel_each([*@waits.values, *@ready], exception)
        after(Async::AGAIN_SECONDS) { cancel_all(exception) }
      end

      # Runs the block; after `seconds` it raises in the block, at its wait. A shield inside the block defers the exception.
      #
      # @param seconds [Numeric]
      # @param exception [#call] returns the exception to raise
      # @param kind [Class] of that exception, for masks
      # @yieldparam seconds [Numeric]
      # @raise [Elah::OutsideLoop] in the loop itself
      def limit(seconds, exception, kind)
        task = waiting_task
        made = nil
        before = task.ended_by
        late = Interruption.new(-> { made = exception.call }, kind)
        shields = task.shields(late)
        unit = task.enter_block
        id = new_wait
        begin
          after_wait(id) { cancel(task, late, shields: shields) if task.unit == unit }
          start_timer(id, seconds.to_f)
          yield seconds
        ensure
          forget(id)
          task.withdraw(late)
          task.ended_by = before if made && task.ended_by.equal?(made)
        end
      end

      # Raises in a waiting fiber; leaves other fibers alone.
      #
      # @param target [Fiber, #raise] Ruby 4.1 and later pass a proxy of the operation that the fiber waits in, which is no Fiber
      # @param exception [Exception]
      def interrupt_fiber(target, exception)
        return enter_operation(target, exception) unless target.is_a?(Fiber)

        task = @waits.each_value.find { |waiting| waiting.suspended.equal?(target) }
        fail_wait(task, exception) if task
      end

      private

      def cancel_each(tasks, exception)
        tasks.each { |task| cancel(task, exception) unless task.raising }
        enter_ready unless @current
      end

      # Only the fiber itself knows its task: {EventLoop#park} sets it.
      def enter_operation(operation, exception)
        operation.raise(exception)
        leave_task
      end

      def cancel_requests
        cancelled = cancelled_requests or return
        tasks = {}
        [*@waits.values, *@ready].each { |task| tasks[task.request.key] = task if task.request }
        cancelled.each do |key, reason|
          task = tasks[key] or next
          reason == :gone ? cancel_gone(task, key) : cancel(task, reason_for(reason))
        end
      end

      # A handler whose write has raised it already has time for its `ensure` blocks.
      def cancel_gone(task, key)
        return unless cancels_gone?(task)
        return cancel(task, reason_for(:gone)) unless task.told_gone == key

        after(Async::AGAIN_SECONDS) { cancel(task, reason_for(:gone)) if task.request&.key == key }
      end

      def cancels_gone?(task)
        return @cancels_gone == :all if %i[all none].include?(@cancels_gone)
        return true if streams?(task)

        SAFE_METHODS.include?(task.request.request_method) && (@cancels_gone == :safe || task.request.begun?)
      end

      def reason_for(reason)
        return ClientGone.new("The client closed the connection before its response.") if reason == :gone

        DeadlineExceeded.new("The request took longer than its deadline.")
      end
    end
  end
end
