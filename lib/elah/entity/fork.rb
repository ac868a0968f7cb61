# frozen_string_literal: true

module Elah
  class Entity
    # A fork owns no entity of its parent's, and leaves what was gathered to it.
    module Fork
      # @return [Integer] as fork(2)
      def _fork
        Region.flush_all
        super.tap { |child| Region.reset_all if child.zero? }
      end

      # `Process.daemon` forks without `_fork`.
      #
      # @return [Integer] as Process.daemon
      def daemon(...)
        Region.flush_all
        super.tap { Region.reset_all }
      end
    end

    Process.singleton_class.prepend(Fork)
    at_exit { Region.flush_all }
    Config.at(:before_worker_boot) { Region.warn_of_others }
  end
end
