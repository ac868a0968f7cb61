# frozen_string_literal: true

module Elah
  class Entity
    # Forks: a fork owns no entities of its parent, and leaves gathered writes to it.
    # @api private
    module Fork
      # @return [Integer] as fork(2)
      def _fork
        Collection.flush_all
        super.tap { |child| Collection.reset_all if child.zero? }
      end

      # `Process.daemon` forks without `_fork`.
      #
      # @return [Integer] as Process.daemon
      def daemon(...)
        Collection.flush_all
        super.tap { Collection.reset_all }
      end
    end

    Process.singleton_class.prepend(Fork)
    at_exit { Collection.flush_at_end }
    Config.at(:before_worker_boot) { Collection.warn_of_others }
  end
end
