# frozen_string_literal: true

require_relative "child"
require_relative "worker_slot"
require_relative "supervisor_link"
require_relative "../placement/supervised"
require_relative "../process_limit"

module Elah
  class Supervisor
    # The worker processes: starts them, reads their messages and reaps them, all in the supervisor's main stack, because a fork continues
    # in the fiber that called it.
    class WorkerSet
      # @return [Array<Child>] every process that has not exited
      attr_reader :children

      # @return [Array<WorkerSlot>]
      attr_reader :slots

      # @param table [Table]
      # @param run_dir [RunDir]
      # @param config [Elah::Config]
      # @param log [Elah::Log]
      # @yieldparam supervisor_link [SupervisorLink] in the new process, which exits after the block. Without a block no worker can be started
      def initialize(table, run_dir, config, log, &serve)
        @table = table
        @run_dir = run_dir
        @config = config
        @log = log
        @serve = serve
        @children = []
        @slots = []
      end

      # @param number [Integer] the new number of slots
      def slots=(number)
        @slots << WorkerSlot.new(@slots.size) while @slots.size < number
        @slots.pop while @slots.size > number
      end

      # Starts a process for a slot.
      #
      # @param slot [WorkerSlot]
      # @return [Child]
      # @raise [StandardError] when the system cannot start another process, or a before_fork block fails
      def start(slot)
        @serve or raise Error, "The code failed to load in the last restart: restart again."

        ProcessLimit.check
        @config.run_hooks(:before_fork)
        generation = @table.next_worker_generation
        row = @table.take_row(slot.number, generation)
        raise Error, "The scoreboard has no free row for worker #{slot.number}: wait until replaced workers have exited." unless row

        ours, theirs = Control.pair
        pid = Forks.worker { fork { become_worker(slot.number, row, generation, ours, theirs) } }
        @table.scoreboard.set_row(row, :pid, pid)
        child = Child.new(pid: pid, slot: slot.number, row: row, generation: generation, control: ours, now: Concurrency.now)
        @children << child
        child
      ensure
        theirs&.close
        abandon(row, ours) unless child
      end

      # Takes over a process of the previous image of the supervisor.
      #
      # @param child [Child]
      def adopt(child) = @children << child

      # @return [Array<IO>] readable when a worker has sent a message or exited
      def ios = @children.reject(&:disconnected?).map { |child| child.control.io }

      # Reads the messages of the workers, and sends them what they had no room for.
      #
      # @yieldparam child [Child] one that has become ready
      def listen
        @children.each do |child|
          child.control.flush
          lines = child.control.lines or next child.mark_disconnected
          lines.each { |line| handle_message(child, line) { yield child } }
        end
      end

      # Removes processes that have exited.
      #
      # @yieldparam child [Child]
      def reap
        @children.dup.each do |child|
          status = ended(child.pid) or next
          child.leave if @table.scoreboard.state(child.row) == :draining
          child.gone(status == true ? nil : status)
          @children.delete(child)
          @table.leave(child)
          yield child
        end
      end

      private

      # Cleans up after a process that could not be started.
      def abandon(row, ours)
        @table.scoreboard.clear_row(row) if row
        ours&.close
      end

      def handle_message(child, line)
        word, number = line.split
        case word
        when "ready"
          child.ready(Concurrency.now)
          yield
        when "released" then child.released(number.to_i)
        when "drained" then child.drained
        end
      end

      # @return [Process::Status, true, nil] true for a process that is no child of this one; nil while it runs
      def ended(pid)
        Process.wait2(pid, Process::WNOHANG)&.last
      rescue Errno::ECHILD
        true
      end

      def become_worker(slot, row, generation, ours, theirs)
        ours.close
        @children.each { |child| child.control.close }
        scoreboard = @table.scoreboard
        Placement.current = placement = Placement::Supervised.new(scoreboard, @run_dir, slot: slot, row: row, generation: generation)
        @serve.call(SupervisorLink.new(theirs, scoreboard, row, placement, @log))
      rescue StandardError, ScriptError => e
        @log.exception(e, "Worker #{slot} failed")
        exit(1)
      end
    end
  end
end
