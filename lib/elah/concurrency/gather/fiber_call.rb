# frozen_string_literal: true

module Elah
  class Gather
    # A call of a gather that runs in its own fiber.
    class FiberCall
      # Starts the block: it runs at once, until its first wait.
      #
      # @param event_loop [Elah::EventLoop]
      # @param due [Float, nil] the end of the gather, in seconds of the monotonic clock
      # @param ended [#call] called when the block has ended
      def initialize(event_loop, due, ended, &block)
        task = Task.new.tap { |own| own.deadline = due }
        @async = Async.new(event_loop, parent: event_loop.current_task, task: task, finished: ended, &block).noticed
      rescue Overloaded => e
        @refusal = e
        ended.call
      end

      # @return [Array] outcome, result and error
      def outcome
        return [:failed, nil, @refusal] if @refusal
        return [:late, nil, nil] unless @async.done?

        @async.error ? [:failed, nil, @async.error] : [:returned, @async.value, nil]
      end

      # @return [Boolean]
      def done? = @async.nil? || @async.done?

      # Cancels it.
      #
      # @param exception [Exception] exception to raise in it
      def cancel(exception) = @async.cancel(exception)
    end
  end
end
