# frozen_string_literal: true

module Elah
  class Scheduler
    # `$?` of a task. Ruby keeps it with the thread, where the commands of all tasks change it. A task that has waited for a process gets its own
    # status back whenever it continues. Other tasks pay nothing.
    class LastStatus
      # Flags with which Process.wait waits for nothing: Ruby sets `$?` to what {Scheduler#process_wait} returns.
      RESTORE = 1 << 30

      WAIT = Process.method(:wait)
      private_constant :WAIT

      # @param task [Elah::Task] the running task
      # @return [LastStatus] of its current request
      def self.of(task)
        return task.observer if task.observer.is_a?(self)

        EventLoop::FiberState.note
        task.observer = new(task.observer)
      end

      # @return [Process::Status, nil]
      attr_reader :status

      # @param other [#stop, #start, nil] another observer of the task
      def initialize(other) = @other = other

      # Records the status of a process.
      #
      # @yieldreturn [Process::Status] its ID is negative when there is no such process; Ruby leaves `$?` as it is then
      def update
        @status = $?
        yield.tap { |status| @status = status if status.pid.positive? }
      end

      # The task waits.
      def stop = @other&.stop

      # The task continues. Ruby asks no scheduler in a blocking fiber, which native code may make.
      def start
        @other&.start
        WAIT.call(0, RESTORE) if !$?.equal?(@status) && Fiber.current_scheduler
      end
    end
  end
end
