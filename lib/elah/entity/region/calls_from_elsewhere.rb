# frozen_string_literal: true

module Elah
  class Entity
    class Region
      # The calls that other workers send here, because the board said that this one owns the entities.
      module CallsFromElsewhere
        # @api private
        # @param callers [Array<String>] the entities that wait for the answer
        # @return [Object] the method's value
        # @raise [Moved] when the entity lives elsewhere
        def serve(callers, key, name, arguments)
          return run_here(current_task, resident!(key), check_name(name), arguments) if callers.empty?

          called_by(callers) { |task| run_here(task, resident!(key), check_name(name), arguments) }
        end

        # @api private
        # @param calls [Array] calls, or the message of columns, which begins with the name of their method
        # @return [Array] answers and exceptions
        def serve_many(callers, calls)
          calls = CallColumns.from_message(calls) if calls.first.is_a?(Symbol)
          called_by(callers) { run_many(calls) }
        end

        # @api private
        # @return [Array] what {Peers.serve} makes of it
        def message_of_many(calls)
          [@number, Chain.of(current_task), nil, nil, calls.is_a?(CallColumns) ? calls.to_message : calls]
        end

        private

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
