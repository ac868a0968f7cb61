# frozen_string_literal: true

require_relative "run_dir"

module Elah
  # The scoreboard and the service manager of a single-process server: a scoreboard with one row. The counterpart of {Supervisor::SupervisorLink}.
  class SingleProcess
    # @param config [Elah::Config]
    # @param log [Elah::Log]
    def initialize(config, log)
      @log = log
      @systemd = Systemd.new
      @run_dir = RunDir.make(config.run_dir)
      log.warn("worker_bytes_max has no effect with one worker.") if config.worker_bytes_max.positive?
      @scoreboard = Scoreboard.create(@run_dir.scoreboard_path, 1, 1, config.shards)
      @run_dir.hold
      fill(Placement.current)
    rescue RunDirError => e
      @scoreboard = nil
      @run_dir&.give_up
      log.warn("`elah status` and the metrics will not show this server. #{e.message}")
    end

    # @return [Boolean] whether other workers accept from the same sockets
    def supervised? = false

    # @return [Boolean] whether a worker of the same server may be the reason for an error of the boot, and end
    def try_again?(_error) = false

    # Begins to write to the scoreboard.
    #
    # @param event_loop [Elah::EventLoop]
    # @param _worker [Elah::Worker]
    def attach(event_loop, _worker)
      if @scoreboard
        event_loop.take_row(@scoreboard, Scoreboard.own_row = 0)
        Elah.watch(RunDir::KEEP_SECONDS) { @run_dir.keep(@log) }
      end
      return unless @systemd.watchdog_seconds

      event_loop.spawn(Task.service) do
        loop do
          @systemd.watchdog(Concurrency.now) { true }
          sleep @systemd.watchdog_seconds / 4
        end
      end
    end

    # Records that the server serves.
    #
    # @param addresses [String]
    def ready(addresses)
      state(:ready)
      @run_dir.addresses = addresses if @scoreboard
      @log.info("Elah #{VERSION} listening on #{addresses}")
      @systemd.ready
    end

    # Records that the server may restart.
    def restarting = @systemd.reloading

    # Records that the server does not restart.
    def continuing = @systemd.ready

    # Records that the server drains.
    #
    # @param is_restarting [Boolean]
    def draining(is_restarting)
      state(:draining)
      @systemd.stopping unless is_restarting
    end

    # Ends what is left when the worker has served its last request.
    #
    # @param worker [Elah::Worker]
    def finish(worker) = worker.leave_clusters

    # Removes the scoreboard.
    def remove = @scoreboard && @run_dir.remove

    private

    def state(name) = @scoreboard&.set_state(0, name)

    def fill(placement)
      Scoreboard.current = placement.scoreboard = @scoreboard
      now = Scoreboard.now_ms
      { slots: 1, rows_used: 1, generation: 1, map_version: 1, started_ms: now }.each { |cell, value| @scoreboard.set_server(cell, value) }
      @scoreboard.set_slot(0, :generation, placement.generation)
      { pid: Process.pid, generation: placement.generation, started_ms: now }.each { |cell, value| @scoreboard.set_row(0, cell, value) }
      @scoreboard.set_state(0, :booting)
    end
  end
end
