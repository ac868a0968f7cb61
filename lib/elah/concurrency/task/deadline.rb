# frozen_string_literal: true

module Elah
  class Task
    # The time until which a {Task} has to end: its own deadline, the limits of blocks that run in it, and what held where it was started. A shield
    # excludes what began before it.
    module Deadline
      # The limit of a block, and the one around it. Fibers that the block starts have it until the block ends.
      Limit = Struct.new(:due, :outer)
      private_constant :Limit

      # @return [Float, nil] its own, in seconds of the monotonic clock; a request has its deadline in addition
      attr_reader :deadline

      # @param due [Float, nil]
      def deadline=(due)
        @deadline = due
        @own_limit = nil
      end

      # @return [Limit] the deadline, for the fibers that it starts
      def own_limit = @own_limit ||= Limit.new(@deadline)

      # Takes over what holds in the task that starts it.
      #
      # @param parent [Elah::Task]
      def inherit(parent)
        @parent = parent
        @inherited = parent.limits
        @began_in_shield = parent.in_shield?
        @inherited << parent.own_limit if parent.deadline && !@began_in_shield
      end

      # @return [Boolean]
      def in_shield? = @shields.positive?

      # @return [Boolean] whether there is a shield between it and the deadline of a request
      def apart?
        task = self
        task = task.parent until task.nil? || task.in_shield? || task.began_in_shield
        !task.nil?
      end

      # @return [Float, nil] the earliest deadline
      def due
        earliest = limits.filter_map(&:due).min
        return earliest if @deadline.nil? || in_shield?

        earliest && earliest < @deadline ? earliest : @deadline
      end

      # @return [Elah::Request, nil] the one whose deadline ends the task
      def bounding_request = in_shield? ? nil : requested

      # @return [Elah::Request, nil] its own, or that of the task that started it, unless a shield was in between
      def requested
        task = self
        task = task.parent until task.nil? || task.request || task.began_in_shield
        task&.request
      end

      # @return [Array<Limit>] those that hold now
      def limits
        found = []
        limit = @limit
        until limit.nil? || (in_shield? && limit.equal?(@unlimited_from))
          found << limit
          limit = limit.outer
        end
        in_shield? || @inherited.nil? ? found : found.concat(@inherited)
      end

      # Has the deadline during the block.
      #
      # @param due [Float] seconds of the monotonic clock
      # @yieldparam limit [Limit] its `due` is set to nil when it has passed: what `ensure` blocks call may take its time
      def due_by(due)
        unit = enter_block
        outer = @limit
        yield @limit = limit = Limit.new(due, outer)
      ensure
        limit.due = nil
        @limit = outer if @unit == unit
      end

      # Has no deadline any more, because it is cancelled. Limits that began in a shield still end their blocks.
      def overdue
        @own_limit&.due = nil
        self.deadline = nil
        limit = in_shield? ? @shielded_from : @limit
        while limit
          limit.due = nil
          limit = limit.outer
        end
      end

      protected

      attr_reader :began_in_shield
    end
  end
end
