# frozen_string_literal: true

module Elah
  class Task
    # The fibers that a {Task} has started. They end with it, or with the call of an entity that it was in.
    module Children
      # Whether the fibers may outlive the task.
      attr_writer :keeps_children

      # @return [Integer] how many it has started so far. Every call of an entity asks twice, so it is not a Ruby method.
      attr_reader :started_count

      # @return [Array<Elah::Async>]
      def children = @started.to_h.values

      # Adds a fiber that ends with this task.
      #
      # @param child [Elah::Async]
      def adopt(child)
        at_end { end_children } unless @started
        (@started ||= {})[child.number = @started_count += 1] = child
      end

      # Ends the fibers that a call of an entity has started. The failures of those that have ended are reported when the task ends, or soon.
      #
      # @param count [Integer] {#started_count} when the call began
      def end_children_since(count)
        started = @started.to_h
        ended = ((count + 1)..@started_count).filter_map { |number| started[number] }.reject(&:done?)
        ended.each { |child| release(child) }
        ended.each { |child| child.parent_ended(false) }
      end

      # Removes a child that has ended.
      #
      # @param child [Elah::Async]
      def release(child) = @started&.delete(child.number)

      private

      def end_children
        ended = children
        @started = nil
        ended.each { |child| child.parent_ended(@keeps_children) }
      end
    end
  end
end
