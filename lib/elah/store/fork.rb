# frozen_string_literal: true

module Elah
  class Store
    # Forks: every store is closed before this process forks, as LMDB requires. Each side opens its stores again when it uses them. Ruby calls
    # `Process._fork` for `fork`, `Process.fork` and `IO.popen("-")`.
    # @api private
    module Fork
      # @return [Integer] as fork(2)
      def _fork
        Store.release_all
        super
      end

      # `Process.daemon` forks without `_fork`.
      #
      # @return [Integer] as Process.daemon
      def daemon(...)
        Store.release_all
        super
      end
    end

    Process.singleton_class.prepend(Fork)
  end
end
