# frozen_string_literal: true

module Elah
  class Task
    # The fibers that a {Task} has started. They end with it, or with the call of an entity that it was in.
    module Children
      # Whether the fibers may outlive the task.
      attr_writer :keeps_children

      # @return [Boolean] whether fibers that it has started run
      def children? = !@children.nil? && !@children.empty?

      # @return [Array<Elah::Async>]
      def children = @children.to_h.keys

      # Adds a fiber that ends with this task.
      #
      # @param child [Elah::Async]
      def adopt(child)
        at_end { end_children } unless @children
        (@children ||= {}.compare_by_identity)[child] = true
      end

      # Ends the fibers that a call of an entity has started.
      #
      # @param earlier [Array<Elah::Async>, nil] those from before the call, which go on
      def end_children_but(earlier)
        ended = children.reject(&:done?) - earlier.to_a # the failures of others are reported when the task ends, or soon
        ended.each { |child| release(child) }
        ended.each { |child| child.parent_ended(false) }
      end

      # Removes a child that has ended.
      #
      # @param child [Elah::Async]
      def release(child) = @children&.delete(child)

      private

      def end_children
        ended = children
        @children = nil
        ended.each { |child| child.parent_ended(@keeps_children) }
      end
    end
  end
end
