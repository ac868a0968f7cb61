# frozen_string_literal: true

require_relative "control"

module Elah
  class Supervisor
    # A worker's connection to its supervisor: its row, its placement, and the commands of the supervisor.
    class SupervisorLink
      # How often a stopping worker checks whether it has finished.
      LOOK_SECONDS = 0.02

      # Interval of attempts while another worker prevents the boot.
      RETRY_SECONDS = 0.05

      # How long a worker that is replaced stays without a call: others may have sent one before they knew its successor.
      QUIET_SECONDS = 0.25
      private_constant :RETRY_SECONDS, :QUIET_SECONDS

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
        @state = :booting
      end

      # @return [Boolean] whether other workers accept from the same sockets
      def supervised? = true

      # Waits for a moment, in a restart for a worker that drains. The supervisor ends one that needs longer than `boot_seconds`.
      #
      # @param error [Elah::ListenError] why the worker is not ready yet
      # @return [Boolean] false when the supervisor stops the worker, or has exited
      def try_again?(error)
        @log.warn("#{error.message} This worker waits for one") unless @is_waiting
        @is_waiting = true
        @control.io.wait_readable(RETRY_SECONDS).nil?
      end

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
        @state = :ready if @state == :booting
        @scoreboard.set_state(@row, @state)
        @control.say("ready")
      end

      # Records that the worker drains. After a TERM, which the supervisor does not know of, it starts another one.
      #
      # @param _leaves_backlog [Boolean]
      def draining(_leaves_backlog) = @scoreboard.set_state(@row, @state = :draining)

      # Serves calls of other workers, after its own requests, as long as there may be any. A worker that is replaced serves those that were sent
      # before another one has taken its place. When all workers stop, it serves them until all have finished their requests.
      #
      # @param worker [Elah::Worker]
      def finish(worker)
        return unless @stops || peers.any?

        await_quiet
        worker.leave_clusters
        return unless @stops

        @control.say("drained")
        sleep LOOK_SECONDS until @may_end
      end

      private

      def follow_instructions
        while (line = @control.gets)
          word, rest = line.split(" ", 2)
          case word
          when "release" then spawn { release(*rest.split) }
          when "drain" then leave
          when "stop" then stop
          when "abandon" then @worker.abandon
          when "end" then @may_end = true
          end
        end
        orphaned
      rescue SystemCallError
        orphaned
      end

      def release(number, shards)
        @scoreboard.set_state(@row, :releasing)
        @placement.release(shards.split(",").map(&:to_i)) { |exception| @log.exception(exception, "A before_release block failed") }
        @scoreboard.set_state(@row, @state) if @scoreboard.state(@row) == :releasing
        @control.say("released", number)
      end

      def await_quiet
        quiet_from = Concurrency.now
        until @stops || Concurrency.now - quiet_from >= QUIET_SECONDS
          sleep LOOK_SECONDS
          quiet_from = Concurrency.now unless @is_replaced && peers.all?(&:quiet?)
        end
      end

      # Another worker has taken its place.
      def leave
        @is_replaced = true
        @worker.drain(leaves_backlog: true)
      end

      # All workers stop.
      def stop
        @stops = true
        @worker.drain
      end

      def orphaned
        @log.error("The supervisor has exited: this worker finishes its requests and exits")
        @is_replaced = @may_end = true
        @worker.drain
      end

      def peers = Elah.autoload?(:Entity) ? [] : Entity::Peers.all

      # The supervisor's instructions wait until the system has room for a fiber.
      def spawn(&block)
        @loop.spawn(Task.service, &block)
      rescue Overloaded
        sleep LOOK_SECONDS
        retry
      end
    end
  end
end
