# frozen_string_literal: true

require_relative "run_dir"

module Elah
  # Where a server that is one process shows what it does: a board with one seat, and its service manager. What {Supervisor::Tether} is to a
  # worker under a supervisor.
  class OwnSeat
    # @param config [Elah::Config]
    # @param log [Elah::Log]
    def initialize(config, log)
      @log = log
      @systemd = Systemd.new
      @run_dir = RunDir.make(config.run_dir)
      @board = Board.create(@run_dir.board_path, 1, 1, config.shards)
      @run_dir.hold
      fill(Placement.current)
    rescue RunDirError => e
      @board = nil
      log.warn("`elah status` and the metrics do without this server. #{e.message}")
    end

    # @return [Boolean] whether others accept from the same sockets
    def supervised? = false

    # Begins to write on the board.
    #
    # @param event_loop [Elah::EventLoop]
    # @param _worker [Elah::Worker]
    def attach(event_loop, _worker)
      event_loop.take_seat(@board, Board.own_seat = 0) if @board
      return unless @systemd.watchdog_seconds

      event_loop.spawn(Task.new.tap { |task| task.transient = true }) do
        loop do
          @systemd.watchdog(Concurrency.now) { true }
          sleep @systemd.watchdog_seconds / 4
        end
      end
    end

    # Notes that the server serves.
    #
    # @param addresses [String]
    def ready(addresses)
      state(:ready)
      @run_dir.addresses = addresses if @board
      @log.info("Elah #{VERSION} listening on #{addresses}")
      @systemd.ready
    end

    # Notes that the server drains.
    #
    # @param is_restarting [Boolean]
    def draining(is_restarting)
      state(:draining)
      is_restarting ? @systemd.reloading : @systemd.stopping
    end

    # Removes the board.
    def remove = @board && @run_dir.remove

    private

    def state(name) = @board&.set_state(0, name)

    def fill(placement)
      Board.current = @board
      { slots: 1, seats_used: 1, generation: 1, map_version: 1, started_ms: Board.now_ms }.each { |cell, value| @board.set_server(cell, value) }
      @board.set_slot(0, :incarnation, placement.incarnation)
      { pid: Process.pid, incarnation: placement.incarnation, started_ms: Board.now_ms }.each { |cell, value| @board.set_seat(0, cell, value) }
      @board.set_state(0, :booting)
    end
  end
end
