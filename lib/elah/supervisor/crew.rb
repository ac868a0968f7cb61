# frozen_string_literal: true

require_relative "child"
require_relative "slot"
require_relative "tether"
require_relative "../placement/supervised"

module Elah
  class Supervisor
    # The worker processes: it starts them, hears what they say, and notices their ends. All of it happens in the supervisor's main stack,
    # since a fork goes on in the fiber that called it.
    class Crew
      # @return [Array<Child>] every process that has not ended
      attr_reader :children

      # @return [Array<Slot>]
      attr_reader :slots

      # @param table [Table]
      # @param run_dir [RunDir]
      # @param config [Elah::Config]
      # @param log [Elah::Log]
      # @yieldparam tether [Tether] in the new process, which ends with the block
      def initialize(table, run_dir, config, log, &serve)
        @table = table
        @run_dir = run_dir
        @config = config
        @log = log
        @serve = serve
        @children = []
        @slots = []
      end

      # @param number [Integer] how many slots there are to be
      def slots=(number)
        @slots << Slot.new(@slots.size) while @slots.size < number
        @slots.pop while @slots.size > number
      end

      # Starts a process for a slot.
      #
      # @param slot [Slot]
      # @return [Child]
      # @raise [StandardError] when the system has no room for another process, or a before_fork block fails
      def start(slot)
        @config.run_hooks(:before_fork)
        incarnation = @table.next_incarnation
        seat = @table.take_seat(slot.number, incarnation) or raise Error, "The board has no free seat."
        ours, theirs = Control.pair
        pid = fork { become_worker(slot.number, seat, incarnation, ours, theirs) }
        @table.board.set_seat(seat, :pid, pid)
        child = Child.new(pid: pid, slot: slot.number, seat: seat, incarnation: incarnation, control: ours, now: Concurrency.now)
        @children << child
        child
      ensure
        theirs&.close
        abandon(seat, ours) unless child
      end

      # Takes over a process that an earlier image of this one has started.
      #
      # @param child [Child]
      def adopt(child) = @children << child

      # @return [Array<IO>] readable when a worker says something, or has ended
      def ios = @children.reject(&:hung_up?).map { |child| child.control.io }

      # Hears what the workers have said.
      #
      # @yieldparam child [Child] one that said it is ready, just now
      def listen
        @children.each do |child|
          lines = child.control.lines or next child.hung_up
          lines.each { |line| hear(child, line) { yield child } }
        end
      end

      # Takes the processes out that have ended.
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

      # A process that was not started leaves nothing.
      def abandon(seat, ours)
        @table.board.clear_seat(seat) if seat
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

      # @return [Process::Status, true, nil] true for one that is nobody's child; nil while it runs
      def ended(pid)
        Process.wait2(pid, Process::WNOHANG)&.last
      rescue Errno::ECHILD
        true
      end

      def become_worker(slot, seat, incarnation, ours, theirs)
        ours.close
        @children.each { |child| child.control.close }
        board = @table.board
        Placement.current = placement = Placement::Supervised.new(board, @run_dir, slot: slot, seat: seat, incarnation: incarnation)
        @serve.call(Tether.new(theirs, board, seat, placement, @log))
      rescue StandardError, ScriptError => e
        @log.exception(e, "Worker #{slot} failed")
        exit(1)
      end
    end
  end
end
