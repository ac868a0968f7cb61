# frozen_string_literal: true

require_relative "../config/options/environment"
require_relative "../native"
require_relative "data_folder"
require_relative "held_signals"
require_relative "process_limit"

module Elah
  # The restart of a server: after a trial run in another process, the server process executes its command line again with new code and
  # configuration. It keeps its listening sockets, its workers, its process ID and the variables with which it was started.
  class Restart
    # The command line of this process, from before the app can set a process title, which takes its place.
    COMMAND = File.binread("/proc/self/cmdline").split("\0", -1)[0...-1].freeze

    # The variables of this process, from before the app and Elah can set any. Those of a loaded app would override the config file. Not those of
    # /proc/self/environ: Bundler sets RUBYOPT in its own process, and only root may read that file once a process has changed its user.
    VARIABLES = Options::Environment.lasting.freeze

    # The key of the state of a trial run.
    TRIAL = "trial"

    # The exit status of a trial run that has succeeded. An app that exits while it is loaded has another one.
    PASSED_STATUS = 86

    # The key of INT or TERM, if it arrived while the previous image executed this one.
    STOP = "stop"

    # The key of the descriptors that stay open, which programs that the app starts while it loads shall not have.
    DESCRIPTORS = "descriptors"

    # Options that the next image keeps when its code does not load.
    KEPT_OPTIONS = %i[bind pidfile log_level drain_seconds boot_seconds hang_seconds handover_seconds].freeze

    private_constant :COMMAND, :KEPT_OPTIONS, :VARIABLES

    # @param status [Process::Status, nil] of a trial run
    # @return [Boolean] whether it succeeded
    def self.passed?(status) = status&.exitstatus == PASSED_STATUS

    # @return [String] the command line of this process
    def self.command = COMMAND.join(" ")

    # A path for the state, which is JSON and has no form for one that is not UTF-8: that is a list of its bytes.
    #
    # @param path [String, nil]
    # @return [String, Array<Integer>, nil]
    # @api private
    def self.written_path(path) = path && !Text.utf8?(path) ? path.bytes : path

    # @param written [String, Array<Integer>, nil] from {written_path}
    # @return [String, nil]
    # @api private
    def self.read_path(written) = written.is_a?(Array) ? written.pack("C*") : written

    # @return [Restart] of this process, with the state that the previous image left
    def self.current = @current ||= new(Options::Environment.take_restart)

    # @return [Boolean] whether this process is known to be a trial run; under `rackup` it is, once Elah is loaded
    def self.trial? = !@current.nil? && @current.trial?

    # @return [Hash{String=>Object}] the state that the previous image left; empty at a first start
    attr_reader :state

    # @return [String, nil] the pid file of `rackup` or `rails server`, which do not start while it names a running process, even the server itself
    attr_accessor :rack_pid_file

    # @param left [String, nil] the state as JSON
    def initialize(left)
      @state = left ? JSON.parse(left) : {}
      @state.delete(DESCRIPTORS)&.each { |number| IO.for_fd(number, autoclose: false).close_on_exec = true }
      HeldSignals.stop ||= @state.delete(STOP)
      @folder = Options::Environment.working_folder
    end

    # Holds signals while the next image of a server loads the app, until {#release_signals}. At INT or TERM the server would otherwise exit without
    # serving the connections that wait in its sockets; a second one ends it at once. HUP, USR1 and USR2 may mean later code than what it has loaded.
    def hold_signals
      return HeldSignals.let_through if trial?
      return if @state.empty?

      HeldSignals.hold
      StopSignals.unblock
    end

    # Sends the held signals to this process again, which handles them now.
    def release_signals = HeldSignals.release

    # @return [Boolean] whether this process is a trial run
    def trial? = @state.key?(TRIAL)

    # @return [Hash{Symbol=>Object}] state of the server that started this trial run: `held`, the addresses on which it listens, `frees_ports`,
    #   whether its exit frees them, `scoreboard`, the path of that which the next image would use, and `data`, see {DataFolder}
    def trial = @state.fetch(TRIAL).transform_keys(&:to_sym)

    # Remembers where the server keeps its data, before a deployment changes where its option leads.
    #
    # @param config [Elah::Config]
    def note_data_folder(config) = @data_folder = DataFolder.state(config)

    # Refuses the configuration of a trial run in which the server would lose its data. An earlier version of Elah does not tell where they are.
    #
    # @param config [Elah::Config]
    # @raise [Elah::OptionError]
    def check_data_folder(config)
      state = trial[:data] if trial?
      DataFolder.check(config, state) if state
    end

    # @return [Boolean] whether the previous image left workers
    def supervises? = @state.key?("supervisor")

    # @return [Hash{Symbol=>Object}] options of the previous image; empty at a first start
    def options
      values = @state.fetch("options", {}).transform_keys(&:to_sym)
      values.key?(:pidfile) ? values.merge(pidfile: Restart.read_path(values[:pidfile])) : values
    end

    # Starts a trial run.
    #
    # @param sockets [Elah::Sockets]
    # @param log [Elah::Log] gets the reason why it cannot be started
    # @param frees_ports [Boolean] whether no other process listens on them
    # @param scoreboard [String, nil] path of the scoreboard that the workers keep
    # @yieldparam pid [Integer]
    # @yieldreturn [Boolean] whether it succeeded
    # @return [Boolean, nil]
    def possible?(sockets, log, frees_ports:, scoreboard: nil)
      about = { held: sockets.state.map(&:first), frees_ports: frees_ports, scoreboard: scoreboard, data: @data_folder }
      state = JSON.generate({ TRIAL => about })
      with_own_pid_file do |arguments|
        pid = spawn_trial(state, arguments, log)
        pid && yield(pid)
      end
    end

    # Ends a trial run without the `at_exit` blocks of the app, which may undo what the server needs that goes on.
    #
    # @param status [Integer]
    def leave_trial(status)
      [$stdout, $stderr].each(&:flush)
      exit!(status)
    end

    # Keeps the exit of a worker from deleting Rack's pid file: `at_exit`, Rack deletes the file that this String names.
    def leave_rack_pid_file
      @rack_pid_file.replace("") unless @rack_pid_file.nil? || @rack_pid_file.frozen?
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
    # @raise [StandardError] when the command cannot be executed; the process continues unchanged
    def go(state, descriptors)
      @is_due = false
      @is_going = true
      # A signal that arrives before the next image holds it would end the process.
      HeldSignals::OTHERS.each { |signal| trap(signal, "IGNORE") }
      HeldSignals.hold_stop
      StopSignals.block
      Systemd.new.loading(Elah.config.boot_seconds)
      kept = descriptors.to_h { |descriptor| [descriptor, descriptor] }
      left = state.merge(STOP => HeldSignals.stop, DESCRIPTORS => descriptors, "options" => options_for_next)
      # The next image writes it again.
      deleted = @rack_pid_file && File.exist?(@rack_pid_file) && File.delete(@rack_pid_file)
      exec(variables(JSON.generate(left)), *COMMAND, chdir: @folder, unsetenv_others: true, **kept)
    ensure
      StopSignals.unblock
      trap("QUIT") { Process.kill(:TERM, Process.pid) }
      @is_going = false
      File.write(@rack_pid_file, Process.pid) if deleted
    end

    private

    # @param state [String]
    # @return [Hash{String=>String}] all variables of the next image, or of a trial run
    def variables(state) = VARIABLES.merge(HeldSignals::RESTART => state)

    def options_for_next
      values = KEPT_OPTIONS.to_h { |name| [name, Elah.config.public_send(name)] }
      values.merge(bind: values[:bind].map(&:to_s), pidfile: Restart.written_path(values[:pidfile])).compact
    end

    # Gives a trial run a pid file of its own.
    #
    # @yieldparam arguments [Array<String>] to add to the command line
    def with_own_pid_file
      return yield [] unless @rack_pid_file && File.exist?(@rack_pid_file)

      own = "#{@rack_pid_file}.trial"
      begin
        remove(own)
        yield ["-P", own]
      ensure
        remove(own)
      end
    end

    def remove(file) = File.exist?(file) && File.delete(file)

    def spawn_trial(state, arguments, log)
      ProcessLimit.check
      Process.spawn(variables(state), *COMMAND, *arguments, chdir: @folder, unsetenv_others: true)
    rescue SystemCallError, Error => e
      log.error("The trial process cannot be started: #{e.message}. Its command is #{Restart.command}, in #{@folder}")
      nil
    end
  end
end
