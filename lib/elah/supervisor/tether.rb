# frozen_string_literal: true

require_relative "control"

module Elah
  class Supervisor
    # A worker's side of its supervisor: its seat, its placement, and what the supervisor asks of it.
    class Tether
      # How often a worker that stops looks whether it has served all.
      LOOK_SECONDS = 0.02

      # @param control [Control] the worker's end
      # @param board [Elah::Board]
      # @param seat [Integer]
      # @param placement [Placement::Supervised]
      # @param log [Elah::Log]
      def initialize(control, board, seat, placement, log)
        @control = control
        @board = board
        @seat = seat
        @placement = placement
        @log = log
      end

      # @return [Boolean] whether others accept from the same sockets
      def supervised? = true

      # Begins to write on the board and to listen to the supervisor.
      #
      # @param event_loop [Elah::EventLoop]
      # @param worker [Elah::Worker]
      def attach(event_loop, worker)
        @loop = event_loop
        @worker = worker
        @loop.take_seat(@board, Board.own_seat = @seat)
        spawn { obey }
      end

      # Tells the supervisor that the worker serves.
      #
      # @param _addresses [String] which the supervisor knows
      def ready(_addresses)
        @board.set_state(@seat, :ready)
        @control.say("ready")
      end

      # Notes that the worker drains.
      #
      # @param _leaves_backlog [Boolean]
      def draining(_leaves_backlog) = @board.set_state(@seat, :draining)

      private

      def obey
        while (line = @control.gets)
          word, rest = line.split(" ", 2)
          case word
          when "release" then spawn { release(rest.to_s.split(",").map(&:to_i)) }
          when "drain" then leave
          when "stop" then stop
          when "end" then @loop.linger(false)
          end
        end
        orphaned
      rescue SystemCallError
        orphaned
      end

      def release(shards)
        @board.set_state(@seat, :releasing)
        @placement.release(shards) { |exception| @log.exception(exception, "A before_release block failed") }
        @board.set_state(@seat, :ready) if @board.state(@seat) == :releasing
        @control.say("released")
      end

      # Another worker has taken its place. What others had called here before they knew is answered, too.
      def leave
        @worker.drain(leaves_backlog: true)
        return if Elah.autoload?(:Entity) || Entity::Peers.current.nil?

        @loop.linger(true)
        spawn do
          sleep LOOK_SECONDS until @loop.served_all? && Entity::Peers.current.quiet?
          @loop.linger(false)
        end
      end

      # All workers stop: this one answers the calls of the others until they have all served what they had.
      def stop
        @loop.linger(true)
        @worker.drain
        spawn do
          sleep LOOK_SECONDS until @loop.served_all?
          @control.say("drained")
        end
      end

      def orphaned
        @log.error("The supervisor is gone; this worker ends when it has answered what it has")
        @loop.linger(false)
        @worker.drain
      end

      def spawn(&block)
        @loop.spawn(Task.new.tap { |task| task.transient = true }, &block)
      end
    end
  end
end
