# frozen_string_literal: true

module Elah
  # Signals that arrive while a server executes its next image and that loads the app. It needs nothing else, so the command `elah` can load it first.
  module HeldSignals
    # The variable with which the previous image starts the next one, and a trial run.
    RESTART = "ELAH_RESTART"

    # The signals that end a server.
    STOPS = %w[INT TERM QUIT].freeze

    # The other signals that a server handles.
    OTHERS = %w[HUP USR1 USR2 TTIN TTOU].freeze

    @others = []

    class << self
      # @return [String, nil] the signal of {STOPS} that was held
      attr_accessor :stop

      # Holds the signals of a process that another image has started.
      #
      # @param env [Hash{String=>String}]
      def hold_early(env) = env.key?(RESTART) && hold

      # Holds all signals.
      def hold
        hold_stop
        OTHERS.each { |name| hold_each(name) { @others << name } }
      end

      # Holds the first signal of {STOPS}. A second one ends the process at once.
      def hold_stop = STOPS.each { |name| hold_each(name) { @stop ? Process.exit!(1) : @stop = name } }

      # Holds no longer. The held signals are sent to this process again.
      def let_through
        [*STOPS, *OTHERS].each { |name| trap(name, "DEFAULT") }
        release
      end

      # Sends the held signals to this process again, which handles them now. After one that ends it the others have no meaning.
      def release = (@stop ? [@stop] : @others.shift(@others.size)).each { |name| Process.kill(name, Process.pid) }

      private

      # A process that the app forks while it loads has the handlers, but handles signals as any other.
      def hold_each(name)
        holder = Process.pid
        trap(name) do
          next yield if Process.pid == holder

          trap(name, "DEFAULT")
          Process.kill(name, Process.pid)
        end
      end
    end
  end
end
