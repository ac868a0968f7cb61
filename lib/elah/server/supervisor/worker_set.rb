# frozen_string_literal: true

require_relative "child"
require_relative "slot"
require_relative "tether"
require_relative "../placement/supervised"

module Elah
  class Supervisor
    # The worker processes: starts them, reads their messages and reaps them, all in the supervisor's main stack, because a fork continues
    # in the fiber that called it.
    class WorkerSet
      # @return [Array<Child>] every process that has not exited
      attr_reader :children

      # @return [Array<Slot>]
      attr_reader :slots

      # @param table [Table]
      # @param run_dir [RunDir]
      # @param config [Elah::Config]
      # @param log [Elah::Log]
      # @yieldparam tether [Tether] in the new process, which exits after the block
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
        @slots << Slot.new(@slots.size) while @slots.size < number
        @slots.pop while @slots.size > number
      end

      # Starts a process for a slot.
      #
      # @param slot [Slot]
      # @return [Child]
      # @raise [StandardError] when the system cannot start another process, or a before_fork block fails
      def start(slot)
        @config.run_hooks(:before_fork)
        incarnation = @table.next_incarnation
        seat = @table.take_seat(slot.number, incarnation)
        raise Error, "The scoreboard has no free seat for worker #{slot.number}: wait until replaced workers have exited." unless seat

        ours, theirs = Control.pair
        pid = fork { become_worker(slot.number, seat, incarnation, ours, theirs) }
        @table.scoreboard.set_seat(seat, :pid, pid)
        child = Child.new(pid: pid, slot: slot.number, seat: seat, incarnation: incarnation, control: ours, now: Concurrency.now)
        @children << child
        child
      ensure
        theirs&.close
        abandon(seat, ours) unless child
      end

      # Takes over a process of the previous image of the supervisor.
      #
      # @param child [Child]
      def adopt(child) = @children << child

      # @return [Array<IO>] readable when a worker has sent a message or exited
      def ios = @children.reject(&:hung_up?).map { |child| child.control.io }

      # Reads the messages of the workers.
      #
      # @yieldparam child [Child] one that has become ready
      def listen
        @children.each do |child|
          lines = child.control.lines or next child.hung_up
          lines.each { |line| hear(child, line) { yield child } }
        end
      end

      # Removes processes that have exited.
      #
      # @yieldparam child [Child]
      def reap
        @children.dup.each do |child|
          status = ended(child.pid) or next
          child.gone(status == true ? nil : status)
          @children.delete(child)
          @table.leave(child)
          yield child
        end
      end

      private

      # Cleans up after a process that could not be started.
      def abandon(seat, ours)
        @table.scoreboard.clear_seat(seat) if seat
        ours&.close
      end

      def hear(child, line)
        case line
        when "ready"
          child.ready(Concurrency.now)
          yield
        when "released" then child.released
        when "drained" then child.drained
        end
      end

      # @return [Process::Status, true, nil] true for a process that is no child of this one; nil while it runs
      def ended(pid)
        Process.wait2(pid, Process::WNOHANG)&.last
      rescue Errno::ECHILD
        true
      end

      def become_worker(slot, seat, incarnation, ours, theirs)
        ours.close
        @children.each { |child| child.control.close }
        scoreboard = @table.scoreboard
        Placement.current = placement = Placement::Supervised.new(scoreboard, @run_dir, slot: slot, seat: seat, incarnation: incarnation)
        @serve.call(Tether.new(theirs, scoreboard, seat, placement, @log))
      rescue StandardError, ScriptError => e
        @log.exception(e, "Worker #{slot} failed")
        exit(1)
      end
    end
  end
end
