# frozen_string_literal: true

module Elah
  class Sink
    # Owns the sinks of this process: they begin with a worker, end with it, and are let go before a fork, so that neither side has the
    # other's journal.
    module Life
      # @return [Array<Sink>] every sink that was made in this process
      def all = @sinks.dup

      # @param name [String]
      # @return [String] a UUID, always the same for the same text: for senders who name their events otherwise
      def id_of(name) = Id.of(name)

      # @api private
      def add(sink)
        @sinks << sink
      end

      # Opens every sink, so that what was left is delivered without a new event.
      #
      # @return [void]
      def start_all = all.each(&:start)

      # @return [void]
      def close_all = all.each(&:close)

      # What Ruby calls before it forks.
      module Fork
        # @return [Integer] as fork(2)
        def _fork
          Sink.close_all
          super
        end

        # `Process.daemon` forks without `_fork`.
        #
        # @return [Integer] as Process.daemon
        def daemon(...)
          Sink.close_all
          super
        end
      end

      Process.singleton_class.prepend(Fork)

      def self.extended(sink)
        # Held for good: the weak maps of a Ruby before 3.3 can hand out what has been collected.
        sink.instance_variable_set(:@sinks, [])
        Config.at(:before_worker_boot) { sink.start_all }
        Config.at(:before_worker_shutdown) { sink.close_all }
      end
    end
  end
end
