# frozen_string_literal: true

module Elah
  class Entity
    class Collection
      # Calls that other workers send here, because this worker owned the entities according to the scoreboard.
      # @api private
      module InboundCalls
        # @api private
        # @param callers [Array<String>] the entities that wait for the result
        # @return [Object] the method's value
        # @raise [Moved] when another worker owns the entity
        def serve(callers, key, name, arguments)
          return run_here(current_task, resident!(key), method_named(name), arguments) if callers.empty?

          called_by(callers) { |task| run_here(task, resident!(key), method_named(name), arguments) }
        rescue Store::Closed => e
          raise moved(e)
        end

        # @api private
        # @param calls [Array<Array>]
        # @return [Array] results and exceptions
        def serve_many(callers, calls)
          replies = called_by(callers) { run_many(calls) }
          @store.closed? ? replies.map { |reply| reply.is_a?(Store::Closed) ? moved(reply) : reply } : replies
        end

        # @api private
        # @return [Array] arguments for {Peers.serve}
        def message_of_many(calls) = [@number, Chain.of(current_task), nil, nil, calls]

        # @api private
        # @return [Array<Array>] for each call the arguments for {Peers.serve}
        def messages_of(calls)
          callers = Chain.of(current_task)
          calls.map { |key, name, *arguments| [@number, callers, key, name, arguments] }
        end

        private

        # This process has closed the store, so nothing of the call is stored: the caller asks the next owner.
        def moved(error) = @store.closed? ? Moved.new(error.message) : error

        def called_by(callers)
          task = current_task
          task.callers = callers unless callers.empty?
          yield task
        ensure
          task.callers = nil if task
        end
      end
    end
  end
end
