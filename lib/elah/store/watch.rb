# frozen_string_literal: true

module Elah
  class Store
    # Logs when a store of this worker begins to refuse writes, and when it accepts them again.
    class Watch
      # Interval of checks; a store that is full stays so at least this long.
      PERIOD_SECONDS = 0.5

      # @param event_loop [Elah::EventLoop]
      # @param log [Elah::Log]
      # @param config [Elah::Config, nil] of a worker, whose hooks have run
      def self.start(event_loop, log, config = nil)
        warn_of_missing_cluster(log, config) if config
        new(event_loop, log).expect
      end

      # The URL of the cluster may come from a variable that is empty. One worker tells it.
      def self.warn_of_missing_cluster(log, config)
        names = %i[cluster_listen cluster_node].select { |name| config.public_send(name) }
        return if names.empty? || Store.clusters.any? || Placement.current.slot.positive?

        log.warn("#{names.join(' and ')} #{names.one? ? 'has' : 'have'} no effect: the app has opened no store on a cluster, " \
                 "so it keeps its state on this machine")
      end
      private_class_method :warn_of_missing_cluster

      # @param event_loop [Elah::EventLoop]
      # @param log [Elah::Log]
      def initialize(event_loop, log)
        @event_loop = event_loop
        @log = log
        @known = {}
      end

      # Schedules the next check of the loop.
      def expect
        wait = @event_loop.new_wait
        @event_loop.after_wait(wait) do
          look
          expect
        end
        @event_loop.start_timer(wait, PERIOD_SECONDS)
      end

      private

      def look
        troubles = Store.troubles
        (troubles.keys - @known.keys).each { |dir| @log.error("The store in #{dir} accepts no writes: #{troubles[dir]}") }
        (@known.keys - troubles.keys).each { |dir| @log.info("The store in #{dir} accepts writes again") }
        @known = troubles
        Store.clusters.each { |cluster| cluster.notes.each { |note| @log.warn("#{note} (#{cluster.dir})") } }
      end
    end
  end
end
