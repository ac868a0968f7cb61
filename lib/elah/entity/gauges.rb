# frozen_string_literal: true

require_relative "../server/scoreboard"

module Elah
  class Entity
    # Gauges on the scoreboard: this worker's entities, and the state of calls to and from the others. A timer of the loop writes them, so calls
    # need not count.
    class Gauges
      # Interval of writes: that at which the loop itself writes to the scoreboard.
      PERIOD_SECONDS = 0.25

      class << self
        # Starts to write, unless that loop does already, or this process has no row on a scoreboard.
        #
        # @param event_loop [Elah::EventLoop]
        def show(event_loop)
          return if Scoreboard.own_row.nil? || @event_loop.equal?(event_loop)

          @event_loop = event_loop
          new(event_loop, Scoreboard.current, Scoreboard.own_row).expect
        end
      end

      # @param event_loop [Elah::EventLoop]
      # @param scoreboard [Elah::Scoreboard]
      # @param row [Integer]
      def initialize(event_loop, scoreboard, row)
        @event_loop = event_loop
        @scoreboard = scoreboard
        @row = row
        @shown_slots = []
      end

      # Schedules the next write of the loop.
      def expect
        wait = @event_loop.new_wait
        @event_loop.after_wait(wait) do
          write
          expect
        end
        @event_loop.start_timer(wait, PERIOD_SECONDS)
      end

      private

      def write
        set(:entities, Collection.entities_in_memory)
        set(:shards_claimed, Epochs.claimed)
        peers = Peers.current
        limiters = peers ? peers.limiters : {}
        set(:calls_received, Peers.all.sum(&:calls_received))
        set(:calls_sent, Peers.all.sum { |each| each.limiters.sum { |_, limiter| limiter.in_flight } })
        publish({ timers_fired: Timers::COUNTS.fired, timers_failed: Timers::COUNTS.failed }.select { |_, count| count.positive? })
        Store.clusters.each { |cluster| publish(cluster.gauges) if cluster.joined? }
        (@shown_slots | limiters.keys).each { |slot| @scoreboard.show_peer(@row, slot, limiters[slot]&.to_h) }
        @shown_slots = limiters.keys
      end

      def publish(gauges) = gauges.each { |name, value| @scoreboard.publish_own(@row, name.to_s, value) }

      def set(cell, value) = @scoreboard.set_row(@row, cell, value)
    end
  end
end
