# frozen_string_literal: true

module Elah
  class Supervisor
    # The signals of the supervisor: the handlers record the name and wake the supervisor, which acts between two waits.
    class Signals
      NAMES = %w[INT TERM HUP USR1 USR2 TTIN TTOU CHLD].freeze

      # @return [IO] readable after a signal
      attr_reader :io

      def initialize
        @io, @wake = IO.pipe
        @noted = []
      end

      # Handles the signals from now on.
      def trap_all
        supervisor = Process.pid
        NAMES.each do |name|
          trap(name) do
            next end_fork if name == "TERM" && Process.pid != supervisor

            @noted << name
            @wake.write_nonblock(".", exception: false)
          end
        end
      end

      # @return [Array<String>] the signals since the last call
      def take
        @io.read_nonblock(1024, exception: false)
        Array.new(@noted.size) { @noted.shift }
      end

      # @return [Boolean] whether a signal arrived since the last {#take}
      def pending? = !@noted.empty?

      # Resets the signals in a worker. It ignores signals that a terminal sends to all processes, because the supervisor handles them.
      def leave_to_supervisor
        ["QUIT", *(NAMES - %w[TERM CHLD])].each { |name| trap(name) { nil } }
        %w[TERM CHLD].each { |name| trap(name, "DEFAULT") }
        [@io, @wake].each(&:close)
      end

      # Resets the signals in another fork.
      def leave
        ["QUIT", *NAMES].each { |name| trap(name, "DEFAULT") }
        [@io, @wake].each(&:close)
      end

      private

      # A worker that has just been forked has no handler of its own yet.
      def end_fork
        trap("TERM", "DEFAULT")
        Process.kill(:TERM, Process.pid)
      end
    end
  end
end
