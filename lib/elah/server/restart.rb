# frozen_string_literal: true

require_relative "../native"
require_relative "../config/options/environment"

module Elah
  # The restart of a server: after a trial run in another process, the server process executes its command line again with new code and
  # configuration. It keeps its listening sockets, its workers and its process ID.
  class Restart
    # The key of the state of a trial run.
    TRIAL = "trial"

    # The key of INT or TERM, if it arrived while the previous image executed this one.
    STOP = "stop"

    # The signals that a server handles in addition to INT and TERM.
    SIGNALS = %w[HUP USR1 USR2 TTIN TTOU].freeze

    # @return [Restart] of this process, with the state that the previous image left
    def self.current = @current ||= new(Options::Environment.take_restart)

    # @return [Hash{String=>Object}] the state that the previous image left; empty at a first start
    attr_reader :state

    # @param left [String, nil] the state as JSON
    def initialize(left)
      @state = left ? JSON.parse(left) : {}
      @held = @state.delete(STOP)
      @command = File.binread("/proc/self/cmdline").split("\0")
      @folder = Options::Environment.working_folder
    end

    # Holds INT and TERM while the next image of a server loads the app, until {#release_stop}. The server would otherwise exit without serving the
    # connections that wait in its sockets. A second signal ends it at once.
    def hold_stop
      hold unless @state.empty? || trial?
    end

    # Sends the held signal to this process again, which handles it now.
    def release_stop = @held && Process.kill(@held, Process.pid)

    # @return [Boolean] whether this process is a trial run
    def trial? = @state.key?(TRIAL)

    # @return [Hash{Symbol=>Object}] state of the server that started this trial run: `held`, the addresses on which it listens, and
    #   `frees_ports`, whether its exit frees them
    def trial = @state.fetch(TRIAL).transform_keys(&:to_sym)

    # Starts a trial run.
    #
    # @param sockets [Elah::Sockets]
    # @param frees_ports [Boolean] whether no other process listens on them
    # @yieldparam pid [Integer]
    # @yieldreturn [Boolean] whether it succeeded
    def possible?(sockets, frees_ports:)
      state = JSON.generate({ TRIAL => { held: sockets.state.map(&:first), frees_ports: frees_ports } })
      yield(Process.spawn(Options::Environment.restart(state), *@command, chdir: @folder))
    end

    # Requests the restart of the process after its drain.
    def prepare = @is_due = true

    # Cancels the restart: the process exits after its drain.
    def abandon = @is_due = false

    # @return [Boolean]
    def due? = @is_due == true

    # @return [Boolean] whether the process is executing its next image
    def going? = @is_going == true

    # Executes the next image; does not return.
    #
    # @param state [Hash{String=>Object}]
    # @param descriptors [Array<Integer>] that stay open
    # @raise [SystemCallError] when the command cannot be executed; the process continues unchanged
    def go(state, descriptors)
      @is_due = false
      @is_going = true
      # A signal that arrives before the next image handles it would end the process.
      SIGNALS.each { |signal| trap(signal, "IGNORE") }
      hold
      kept = descriptors.to_h { |descriptor| [descriptor, descriptor] }
      left = state.merge(STOP => @held, "pidfile" => Elah.config.pidfile)
      exec(Options::Environment.restart(JSON.generate(left)), *@command, chdir: @folder, **kept)
    ensure
      @is_going = false
    end

    private

    def hold
      %w[INT TERM].each { |signal| trap(signal) { @held ? Process.exit!(1) : @held = signal } }
    end
  end
end
