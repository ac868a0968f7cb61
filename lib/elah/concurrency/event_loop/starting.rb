# frozen_string_literal: true

module Elah
  class EventLoop
    # The first switch to a fiber. Only then does the system provide the fiber's stack, and it may refuse: too little memory, too many mappings.
    module Starting
      # The shortest time between two garbage collections for the sake of stacks.
      RECLAIM_SECONDS = 1.0

      # Runs a new task in its fiber, at once, until its first wait. A running task continues in the same iteration.
      #
      # @param task [Elah::Task]
      # @raise [Elah::Overloaded] when the system refuses the fiber
      def start(task)
        current = @current
        if current
          current.observer&.stop
          current.suspended = Fiber.current
          @ready << current
        end
        @current = task
        refusal = first_switch(task)
        return refused(current, refusal) if refusal

        current ? current.observer&.start : leave_task
      rescue Exception
        @current = nil unless current
        raise
      end

      private

      # The loop's own fiber is blocking. If a switch from a blocking fiber fails, Ruby forgets that the fiber is blocking, and no later wait of
      # this thread reaches the scheduler. So another fiber makes the first switch.
      def prepare_starting
        @next_reclaim = 0.0
        @starting = @origin = @refusal = nil
        @starter = Fiber.new(**FiberState::OPTIONS) do
          @root.transfer
          while true
            begin
              @starting.suspended.transfer
            rescue Exception => e # -- the one who starts raises it
              @refusal = e
              @origin.transfer
            end
          end
        end
        @starter.transfer
      end

      # @return [Exception, nil] why the task's fiber has not begun
      def first_switch(task)
        refusal = try_first_switch(task)
        return refusal unless starved?(refusal) && reclaim_stacks?

        GC.start
        try_first_switch(task)
      end

      # Anything else was raised here from outside.
      def starved?(refusal) = refusal.is_a?(FiberError) || refusal.is_a?(NoMemoryError)

      # Ruby frees the stack of a fiber that has ended when it collects the fiber.
      def reclaim_stacks?
        now = Concurrency.now
        return false if now < @next_reclaim

        @next_reclaim = now + RECLAIM_SECONDS
        true
      end

      def try_first_switch(task)
        return switch_by_starter(task) if Fiber.current.blocking?

        begin
          task.suspended.transfer
          nil
        rescue Exception => e
          raise unless @current.equal?(task) # the caller is running again: the exception is for it

          e
        end
      end

      def switch_by_starter(task)
        @starting = task
        @origin = Fiber.current
        @starter.transfer
        refusal = @refusal
        @refusal = nil
        refusal
      end

      def refused(current, refusal)
        @ready.pop if current
        @current = current
        raise refusal unless starved?(refusal)

        raise Overloaded, "The system refuses another fiber: #{refusal.message}"
      end
    end
  end
end
