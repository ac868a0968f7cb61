# frozen_string_literal: true

module Elah
  # INT, TERM and QUIT while a server executes its next image and that loads the app. It needs nothing else, so the command `elah` can load it first.
  module HeldStop
    # The variable with which the previous image starts the next one, and a trial run.
    RESTART = "ELAH_RESTART"

    SIGNALS = %w[INT TERM QUIT].freeze

    class << self
      # @return [String, nil] the signal that was held
      attr_accessor :signal

      # Holds the signals of a process that another image has started.
      #
      # @param env [Hash{String=>String}]
      def hold_early(env) = env.key?(RESTART) && hold

      # Holds the first signal. A second one ends the process at once.
      def hold = SIGNALS.each { |name| trap(name) { @signal ? Process.exit!(1) : @signal = name } }

      # Holds no longer. The held signal is sent to this process again.
      def let_through
        SIGNALS.each { |name| trap(name, "DEFAULT") }
        release
      end

      # Sends the held signal to this process again, which handles it now.
      def release = @signal && Process.kill(@signal, Process.pid)
    end
  end
end
