# frozen_string_literal: true

require_relative "control"

module Elah
  class Supervisor
    # A worker's connection to its supervisor: its row, its placement, and the commands of the supervisor.
    class SupervisorLink
      # How often a stopping worker checks whether it has finished.
      LOOK_SECONDS = 0.02

      # @param control [Control] the worker's end
      # @param scoreboard [Elah::Scoreboard]
      # @param row [Integer]
      # @param placement [Placement::Supervised]
      # @param log [Elah::Log]
      def initialize(control, scoreboard, row, placement, log)
        @control = control
        @scoreboard = scoreboard
        @row = row
        @placement = placement
        @log = log
      end

      # @return [Boolean] whether other workers accept from the same sockets
      def supervised? = true

      # Begins to write to the scoreboard and to follow the supervisor's instructions.
      #
      # @param event_loop [Elah::EventLoop]
      # @param worker [Elah::Worker]
      def attach(event_loop, worker)
        @loop = event_loop
        @worker = worker
        @loop.take_row(@scoreboard, Scoreboard.own_row = @row)
        spawn { follow_instructions }
      end

      # Tells the supervisor that the worker serves.
      #
      # @param _addresses [String] known to the supervisor
      def ready(_addresses)
        @scoreboard.set_state(@row, :ready)
        @control.say("ready")
      end

      # Records that the worker drains.
      #
      # @param _leaves_backlog [Boolean]
      def draining(_leaves_backlog) = @scoreboard.set_state(@row, :draining)

      private

      def follow_instructions
        while (line = @control.gets)
          word, rest = line.split(" ", 2)
          case word
          when "release" then spawn { release(*rest.split) }
          when "drain" then leave
          when "stop" then stop
          when "abandon" then @worker.abandon
          when "end" then @loop.linger(false)
          end
        end
        orphaned
      rescue SystemCallError
        orphaned
      end

      def release(number, shards)
        @scoreboard.set_state(@row, :releasing)
        @placement.release(shards.split(",").map(&:to_i)) { |exception| @log.exception(exception, "A before_release block failed") }
        @scoreboard.set_state(@row, :ready) if @scoreboard.state(@row) == :releasing
        @control.say("released", number)
      end

      # Another worker has taken its place. It still serves calls that others sent before they noticed.
      def leave
        @worker.drain(leaves_backlog: true)
        return if Elah.autoload?(:Entity) || Entity::Peers.all.empty?

        @loop.linger(true)
        spawn do
          sleep LOOK_SECONDS until @loop.served_all? && Entity::Peers.all.all?(&:quiet?)
          @worker.leave_clusters
          @loop.linger(false)
        end
      end

      # All workers stop: this one serves calls of the others until all have finished their requests.
      def stop
        @loop.linger(true)
        @worker.drain
        spawn do
          sleep LOOK_SECONDS until @loop.served_all?
          @worker.leave_clusters
          @control.say("drained")
        end
      end

      def orphaned
        @log.error("The supervisor has exited: this worker finishes its requests and exits")
        @loop.linger(false)
        @worker.drain
      end

      # The supervisor's instructions wait until the system has room for a fiber.
      def spawn(&block)
        @loop.spawn(Task.transient, &block)
      rescue Overloaded
        sleep LOOK_SECONDS
        retry
      end
    end
  end
end
