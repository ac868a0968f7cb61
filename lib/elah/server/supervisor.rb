# frozen_string_literal: true

require_relative "run_dir"
require_relative "systemd"
require_relative "worker"
require_relative "supervisor/changes"
require_relative "supervisor/forks"
require_relative "supervisor/worker_set"
require_relative "supervisor/restarting"
require_relative "supervisor/signals"
require_relative "supervisor/stop"
require_relative "supervisor/table"
require_relative "supervisor/watch"

module Elah
  # The process that owns the listening sockets and the workers: starts workers, replaces those that die, hang or grow too large, changes
  # their number, and stops them. It has one thread and no tokio runtime, so it may fork.
  class Supervisor
    include Restarting
    include Stop

    # The longest time between two checks of the workers.
    TICK_SECONDS = 0.1

    # @param worker [Elah::Worker, nil] the app, ready to run in a fork; nil keeps the workers of the previous image, because the code failed to load
    # @param config [Elah::Config]
    # @param log [Elah::Log]
    # @param sockets [Elah::Sockets]
    # @param restart [Elah::Restart]
    def initialize(worker, config, log, sockets, restart)
      @worker = worker
      @config = config
      @log = log
      @sockets = sockets
      @restart = restart
      @systemd = Systemd.new
      @signals = Signals.new
    end

    # Runs until the last worker has ended.
    #
    # @raise [Elah::BootError] when no worker boots
    # @raise [SystemExit] with {Worker::DRAIN_EXCEEDED} when requests were abandoned
    def run
      inherited = @restart.state["supervisor"]
      set_up(inherited)
      @signals.trap_all
      Forks.leave_by { leave }
      # The supervisor kills workers that take too long; the watchdog ends the supervisor when one of its hooks does not return.
      ShutdownWatchdog.start(@config.drain_seconds, 2 * Worker::GRACE_SECONDS, Worker::DRAIN_EXCEEDED, false)
      inherited ? adopt(inherited) : start_first_time
      @restart.release_signals
      supervise until @ended
      @log.info("All workers have exited; the server exits")
      exit(Worker::DRAIN_EXCEEDED) if @gave_up
    rescue StandardError
      @workers&.children&.each { |child| child.kill(:KILL) }
      raise
    ensure
      Forks.leave_by
      @run_dir&.remove unless @restart.going?
      ShutdownWatchdog.stop
    end

    private

    def set_up(inherited)
      @run_dir = inherited ? RunDir.new(inherited["folder"]) : RunDir.make(@config.run_dir)
      @table = inherited ? Table.new(Scoreboard.open(@run_dir.scoreboard_path)) : Table.create(@run_dir, @config.shards)
      @run_dir.hold
      @watch = Watch.new(@table.scoreboard, @config, @log)
      @workers = WorkerSet.new(@table, @run_dir, @config, @log, &(method(:serve) if @worker))
      @changes = Changes.new(@workers, @table, @config, @log)
    end

    # In a new process.
    def serve(supervisor_link)
      @signals.leave_to_supervisor
      @restart.leave_rack_pid_file
      @worker.run(@sockets, supervisor_link)
    end

    # In a fork of a hook, which may outlive the server: it handles signals as any other process, and nobody connects to it.
    def leave
      @signals.leave
      @sockets.leave_in_fork
      @workers.children.each { |child| child.control.close }
      @run_dir = @workers = nil
    end

    def start_first_time
      prepare_to_fork
      @table.divide(@config.workers)
      @workers.slots = @config.workers
      start_missing
    end

    # Pages that do not change after the fork stay shared with the workers.
    def prepare_to_fork
      Process.respond_to?(:warmup) ? Process.warmup : GC.start
      # A library marks threads that it starts again in a child, as ActiveRecord does and Puma reads.
      others = (Thread.list - [Thread.current]).reject { |thread| thread.thread_variable_get(:fork_safe) }
      return if others.empty?

      @log.warn("Threads that were started while the app was loaded do not run in the workers: start them in before_worker_boot. " \
                "They are #{others.map(&:inspect).join(', ')}")
    end

    def supervise
      IO.select([@signals.io, *@workers.ios], nil, nil, TICK_SECONDS)
      @signals.take.each { |signal| handle_signal(signal) }
      @workers.listen { |child| ready(child) }
      @workers.reap { |child| ended(child) }
      return continue_stopping if @stopping

      @changes.advance
      monitor_workers
      start_missing
      go if @restart.due? && !@signals.pending?
    end

    def handle_signal(signal)
      case signal
      when "INT", "TERM" then stop(signal)
      when "HUP", "USR1", "USR2" then restart
      when "TTIN" then @changes.resize(1) unless @stopping
      when "TTOU" then @changes.resize(-1) unless @stopping
      end
    end

    def ready(child)
      slot = @workers.slots[child.slot]
      @table.enter(child) if slot&.child.equal?(child)
      @log.info("#{child} is ready")
      # Workers that are still booting when the server is stopped become ready later: the server listens nowhere by then.
      return if @proven || @stopping || !@workers.slots.all? { |each| each.child&.ready? }

      @proven = true
      @run_dir.addresses = @sockets.addresses
      @log.info("Elah #{VERSION} listening on #{@sockets.addresses} with #{@workers.slots.size} workers")
      @systemd.ready
    end

    def ended(child)
      run_exit_hooks(child)
      slot = @workers.slots[child.slot]
      return note_end(child) if @stopping || !slot&.child.equal?(child)

      slot.child = nil
      return note_replaced(child) if child.leaving? && child.status&.success?

      raise BootError, "Worker #{child.slot} did not boot: #{child.ending}. See the log above for the reason." unless child.ready? || @proven

      @table.replaced(child.slot, child.killed_for || (child.ready? ? :crashes : :boot_failures))
      wait = slot.failed(child, Concurrency.now)
      @log.error("#{child} exited: #{child.ending}. #{next_start(wait, slot)}")
    end

    # It drained before its replacement was there, as after a TERM of its own.
    def note_replaced(child)
      @table.replaced(child.slot, :restarts)
      note_end(child)
    end

    def run_exit_hooks(child)
      @config.run_hooks(:after_worker_exit, child.slot, child.status)
    rescue StandardError => e
      @log.exception(e, "An after_worker_exit block failed")
    end

    def next_start(wait, slot)
      return "Starting another one" if wait.zero?

      "Failure #{slot.failures} in a row: starting another one in #{wait} s"
    end

    def monitor_workers
      now = Concurrency.now
      @table.scoreboard.set_server(:heartbeat_ms, Scoreboard.now_ms)
      @workers.children.each { |child| @watch.look(child, now) }
      @workers.slots.each { |slot| replace_one(slot, now) if slot.child&.ready? }
      @systemd.watchdog(now) { @watch.healthy?(@workers.children) }
      keep_run_dir(now)
    end

    def keep_run_dir(now)
      return if @keep_at && now < @keep_at

      @keep_at = now + RunDir::KEEP_SECONDS
      @run_dir.keep(@log) or @log.error("The run folder #{@run_dir.path} was removed: elah status does not see this server, and it cannot restart. " \
                                        "Stop the server and start it again")
    end

    def replace_one(slot, now)
      return replace_large(slot, now) if @watch.too_large?(slot.child)

      @changes.replace(slot, slot.child, :restarts) if @watch.drains?(slot.child) && slot.replaceable?(now)
    end

    def replace_large(slot, now)
      child = slot.child
      wait = slot.outgrown(child, now)
      @log.warn("#{child} uses #{@watch.size(child, now)}: #{next_replacement(wait)}") if wait
      @changes.replace(slot, child, :memory) if slot.replaceable?(now)
    end

    def next_replacement(wait)
      return "replacing it" if wait.zero?

      "replacing it in #{wait} s. If a fresh worker needs so much, set worker_bytes_max above it"
    end

    def start_missing
      now = Concurrency.now
      @workers.slots.each { |slot| start_in(slot, now) if slot.due?(now) }
    end

    def start_in(slot, now)
      slot.child = @workers.start(slot)
    rescue StandardError => e
      raise unless @proven

      @log.exception(e, "Worker #{slot.number} could not be started")
      slot.failed(nil, now)
      restart unless @worker
    end
  end
end
