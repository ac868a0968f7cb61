# frozen_string_literal: true

module Elah
  class Store
    # Lets go of every store before this process forks, as LMDB wants it: neither side inherits anything, and each opens its
    # stores again when it uses them. Ruby calls `Process._fork` for `fork`, `Process.fork` and `IO.popen("-")`.
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
