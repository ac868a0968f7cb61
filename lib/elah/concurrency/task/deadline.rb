# frozen_string_literal: true

module Elah
  class Task
    # The time until which a {Task} has to end.
    module Deadline
      # @return [Float, nil] its deadline, in seconds of the monotonic clock; a request has its own deadline in addition
      attr_accessor :deadline

      # @return [Float, nil] the earliest deadline: its own, or that of the task that started it, unless a shield is in between
      def due
        inherited = @parent&.due unless @shields.positive?
        inherited && @deadline ? [inherited, @deadline].min : inherited || @deadline
      end

      # @return [Elah::Request, nil] the one whose deadline ends the task: its own, or that of the task that started it, unless a shield is in between
      def bounding_request = @shields.positive? ? nil : @request || @parent&.bounding_request

      # Has the deadline during the block, unless it has an earlier one.
      #
      # @param due [Float] seconds of the monotonic clock
      def due_by(due)
        unit = enter_block
        previous = @deadline
        @deadline = due if previous.nil? || due < previous
        yield
      ensure
        put_back(previous) if @unit == unit
      end

      # Has no deadline any more, because that has passed: what `ensure` blocks call may take its time.
      #
      # @return [Object] the block's value
      def overdue
        @deadline = nil
        yield
      end

      private

      # One that has passed does not bind what the `ensure` blocks around call.
      def put_back(deadline)
        @deadline = deadline && deadline > Concurrency.now ? deadline : nil
      end
    end
  end
end
