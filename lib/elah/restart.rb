# frozen_string_literal: true

require_relative "native"
require_relative "options/environment"

module Elah
  # How a server becomes its own successor: the same process executes its command line anew, with new code and configuration, and keeps
  # its listening sockets, its workers and its process id. A trial run in a process of its own comes first.
  class Restart
    # What the state has for a trial run, and nothing else: what the server holds.
    TRIAL = "trial"

    # The signals that a server handles beside INT and TERM.
    SIGNALS = %w[HUP USR1 USR2 TTIN TTOU].freeze

    # @return [Restart] that of this process: what the image before this one has left
    def self.current = @current ||= new(Options::Environment.take_restart)

    # @return [Hash{String=>Object}] what the image before this one has left; empty at a first start
    attr_reader :state

    # @param left [String, nil] the state as JSON
    def initialize(left)
      @state = left ? JSON.parse(left) : {}
      @command = File.read("/proc/self/cmdline").split("\0")
      @folder = Options::Environment.working_folder
    end

    # @return [Boolean] whether this process only tries whether app and configuration can be served
    def trial? = @state.key?(TRIAL)

    # @return [Hash{Symbol=>Object}] what the server holds for which this process is a trial run: `held`, the addresses on which it listens, and
    #   `frees_ports`, whether nobody listens on them any more once it has let go
    def trial = @state.fetch(TRIAL).transform_keys(&:to_sym)

    # Starts a trial run.
    #
    # @param sockets [Elah::Sockets]
    # @param frees_ports [Boolean] whether no other process listens on them
    # @yieldparam pid [Integer]
    # @yieldreturn [Boolean] whether it went well
    def possible?(sockets, frees_ports:)
      state = JSON.generate({ TRIAL => { held: sockets.state.map(&:first), frees_ports: frees_ports } })
      yield(Process.spawn(Options::Environment.restart(state), *@command, chdir: @folder))
    end

    # Notes that the process is to become the next image.
    def prepare = @is_due = true

    # Notes that the process is to end instead.
    def abandon = @is_due = false

    # @return [Boolean]
    def due? = @is_due == true

    # @return [Boolean] whether this image has been given up for the next
    def going? = @is_going == true

    # Becomes the next image; does not return.
    #
    # @param state [Hash{String=>Object}]
    # @param descriptors [Array<Integer>] that stay open
    # @raise [SystemCallError] when the command cannot be executed; then the process is as before
    def go(state, descriptors)
      @is_due = false
      @is_going = true
      # Ruby would end by one that comes before the next image handles it.
      SIGNALS.each { |signal| trap(signal, "IGNORE") }
      kept = descriptors.to_h { |descriptor| [descriptor, descriptor] }
      exec(Options::Environment.restart(JSON.generate(state)), *@command, chdir: @folder, **kept)
    ensure
      @is_going = false
    end
  end
end
