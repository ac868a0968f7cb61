# frozen_string_literal: true

module Elah
  class Entity
    # Detection of calls that wait for themselves: they are refused instead of hanging until their deadline.
    module Chain
      NOBODY = [].freeze
      private_constant :NOBODY

      class << self
        # Follows the waits that begin at a busy entity.
        #
        # @param activation [Activation] that `task` is about to wait for
        # @param task [Elah::Task]
        # @raise [Reentrant] when `task`, or the task that started it, is at their end
        def check(activation, task)
          busy = activation
          while busy
            refuse(activation) if waits_for?(busy, task)
            busy = busy.runner&.awaits
          end
        end

        # The entities that wait for this task, here and in the workers that called it.
        #
        # @param task [Elah::Task]
        # @return [Array<String>] their identities
        def of(task)
          return NOBODY unless task.callers || task.activation || task.parent

          identities = []
          while task
            identities.concat(task.callers) if task.callers
            add_callers(task, identities)
            task = task.parent
          end
          identities.uniq
        end

        # @param task [Elah::Task, nil]
        # @return [Boolean] whether an entity waits for it, also through other workers, that has left its collection, as when its shard is handed
        #   over
        def leaving?(task)
          while task
            return true if task.callers && Collection.leaving?(task.callers)

            activation = task.activation
            activation = activation.outer while activation && !activation.leaving?
            return true if activation

            task = task.parent
          end
          false
        end

        private

        def add_callers(task, identities)
          activation = task.activation
          while activation
            identities << activation.identity
            activation = activation.outer
          end
        end

        # Whether the entity waits for the task, or for one that started it: here, or as the caller of a call from another worker.
        def waits_for?(busy, task)
          while task
            return true if task.equal?(busy.runner) || task.callers&.include?(busy.identity)

            task = task.parent
          end
          false
        end

        def refuse(activation)
          raise Reentrant, "This call came from #{activation.identity} and cannot call it: it waits for the result itself."
        end
      end
    end
  end
end
