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
        other = all.find { |known| known.name != sink.name && File.expand_path(known.folder) == File.expand_path(sink.folder) }
        raise OptionError, "The sinks #{other.name} and #{sink.name} have the same folder, #{sink.folder}. Give each its own." if other

        @sinks << sink
      end

      # Opens every sink, so that waiting events are delivered before a new one arrives.
      #
      # @return [void]
      def start_all = all.each(&:start)

      # @return [void]
      def close_all = all.each(&:close)

      # Closes the sinks before Ruby forks.
      # @api private
      module Fork
        # @return [Integer] as fork(2)
        def _fork
          Sink.all.each(&:leave_to_fork)
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

      # @api private
      def self.extended(sink)
        # A strong reference, because the weak maps of a Ruby before 3.3 can return collected objects.
        sink.instance_variable_set(:@sinks, [])
        Config.at(:before_worker_boot) { sink.start_all }
        Config.at(:before_worker_shutdown) { sink.close_all }
      end
    end
  end
end
