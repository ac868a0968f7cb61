# frozen_string_literal: true

module Elah
  class Store
    # Forks: every store in a folder is closed before this process forks, as LMDB requires. Each side opens its stores again when it uses them.
    # Clusters of the child have connections and a sweeper of their own. Ruby calls `Process._fork` for `fork`, `Process.fork` and `IO.popen("-")`.
    # @api private
    module Fork
      # @return [Integer] as fork(2)
      def _fork
        # While the first one waits for the disk, other threads wait too. Then they run before the second one, and may begin a transaction. After
        # that none runs: Ruby changes threads at the end of a block or a method of Ruby, and there is none.
        Store.release_all
        Store.release_all
        super.tap { |child| Store.clusters.each(&:forked) if child.zero? }
      end

      # `Process.daemon` forks without `_fork`.
      #
      # @return [Integer] as Process.daemon
      def daemon(...)
        Store.release_all
        super.tap { Store.clusters.each(&:forked) }
      end
    end

    Process.singleton_class.prepend(Fork)
  end
end
