# frozen_string_literal: true

module Elah
  class Sink
    # The sinks of this process. They start and stop with a worker. They close before a fork, so that no two processes share a journal.
    module Lifecycle
      # @return [Array<Sink>] every sink that was created in this process
      def all = @sinks.dup

      # @param name [String]
      # @return [String] a UUID, always the same for the same text: for senders with other names for events
      def id_of(name) = Id.of(name)

      # @api private
      # @raise [Elah::OptionError] when a sink of another name has the folder: each would deliver the events of both
      def add(sink)
        other = all.find { |known| known.name != sink.name && known.folder == sink.folder }
        raise OptionError, "The sinks #{other.name} and #{sink.name} have the same folder, #{sink.folder}. Give each its own." if other

        @sinks << sink
      end

      # Opens every sink, so that waiting events are delivered before a new one arrives.
      #
      # @return [void]
      def start_all = all.each(&:start)

      # @return [void]
      def close_all = all.each(&:close)

      # @api private
      # Keeps the sinks closed during the block, which forks.
      def closed_for_fork(sinks = all, &fork)
        first, *others = sinks
        first ? first.closed_for_fork { closed_for_fork(others, &fork) } : yield
      end

      # Closes the sinks while Ruby forks. Pushes wait meanwhile, so what may wait for a database comes before.
      # @api private
      module Fork
        # @return [Integer] as fork(2)
        def _fork
          Entity::Collection.flush_all unless Elah.autoload?(:Entity)
          Sink.closed_for_fork { super }
        end

        # `Process.daemon` forks without `_fork`.
        #
        # @return [Integer] as Process.daemon
        def daemon(...)
          Entity::Collection.flush_all unless Elah.autoload?(:Entity)
          Sink.closed_for_fork { super }
        end
      end

      Process.singleton_class.prepend(Fork)

      # @api private
      def self.extended(sink)
        # A strong reference, because the weak maps of a Ruby before 3.3 can return collected objects.
        sink.instance_variable_set(:@sinks, [])
        Config.at(:before_worker_boot) { sink.start_all }
        Config.at(:before_fork) { sink.close_all } # for good: the supervisor leaves its events to the workers
      end
    end
  end
end
