# frozen_string_literal: true

require_relative "server/log"
require_relative "native"

module Elah
  # The server of one app: opens the sockets, then runs one worker, or the supervisor of several, until it has drained.
  class Server
    # What a worker does not name unless the app has named it before.
    LATER = %i[Adapter ApiKey AppFile AppParts Broadcast CLI Entity JetStream Metrics Mongo MongoCollection ParquetFiles Pidfile Redis SQL SQLTable
               SingleProcess Sink StoreChoice StoreTable Supervisor].freeze
    private_constant :LATER

    # @param app [#handle, #call] an Elah::API, or any Rack app
    # @param config [Elah::Config]
    # @param log [Elah::Log]
    def initialize(app, config, log: Log.new(level: config.log_level))
      @app = app
      @config = config
      @log = log
    end

    # Blocks until INT, TERM or {#stop}.
    #
    # @raise [Elah::ListenError] when an address is in use or invalid
    # @raise [SystemExit] when requests were abandoned
    def run
      @pid = Process.pid
      # So that a write beyond RLIMIT_FSIZE fails like one to a full disk. The signal would end the process.
      trap("XFSZ", "IGNORE")
      trap("QUIT") { stop } # which other servers know as the signal of an orderly stop
      Descriptors.allow(@config, @log)
      @config.warnings.each { |warning| @log.warn(warning) }
      warn_of_small_stacks
      Adapters.install if @config.adapters?
      @restart = Restart.current
      @restart.note_data_folder(@config)
      @sockets = Sockets.new(@config.bind.map(&:to_s), inherited: @restart.state.fetch("sockets", []), given: Systemd.take_descriptors)
      load_code
      AppFile.compile(@app) if @app # there is none when its code failed to load in a restart
      worker = Worker.new(@app, @config, @log) if @app
      warn_of_gates
      supervised? ? Supervisor.new(worker, @config, @log, @sockets, @restart).run : run_alone(worker)
    ensure
      @pid = nil
      @sockets&.remove
    end

    # Stops the server like TERM: it finishes accepted requests, then {#run} returns. Returns at once; does nothing when the server does not
    # run. May be called from a handler, another thread or a trap.
    #
    # @return [nil]
    def stop
      Process.kill(:TERM, @pid) if @pid
      nil
    end

    # Without the app and the configuration, which may contain secrets.
    #
    # @return [String]
    def inspect = "#<#{self.class} #{@pid ? "running, #{@config.workers} workers, on" : 'for'} #{@config.bind.map(&:to_s).join(', ')}>"

    # Runs the steps of a start that may fail, for a trial run: compiles the API, compares the data folder, opens the scoreboard, whose layout differs
    # between versions of Elah, and binds new addresses. Closes everything again, and exits with {Restart::PASSED_STATUS}.
    #
    # @raise [Elah::Error]
    # @api private
    def try
      AppFile.compile(@app)
      Restart.current.check_data_folder(@config)
      trial = Restart.current.trial
      scoreboard = trial[:scoreboard]
      scoreboard ? Scoreboard.open(scoreboard) : (@config.workers > 1 && RunDir.make(@config.run_dir).remove)
      Sockets.try(@config.bind.map(&:to_s), **trial.slice(:held, :frees_ports))
      Restart.current.leave_trial(Restart::PASSED_STATUS)
    end

    private

    # Under `rackup` and `rails server`; the command `elah` sets the variables.
    def warn_of_small_stacks
      variables = Options::Environment.unset_stacks.map { |name, value| "#{name}=#{value}" }
      return if variables.empty?

      @log.warn("Fibers have a smaller stack than threads here, so code that recurses deeply can fail with SystemStackError: use `elah serve " \
                "config.ru`, or start it as `#{variables.join(' ')} #{Restart.command}`")
    end

    # A server knows the routes of the API that it runs itself, and no others.
    def warn_of_gates
      return if @app.nil? || Elah.autoload?(:API) || Worker.native?(@app)

      AppParts.each(@app) do |part, _|
        next true unless Worker.native?(part)

        limited = part.routes.find(&:gate) or next
        @log.warn("`behind` has no effect on #{limited.request_method} #{limited.origin} of #{part}, which is within middleware, `map` or another " \
                  "Rack app. Run #{part} alone (`rackup` adds middleware, `elah serve` does not), or acquire an Elah::Semaphore in its endpoints")
      end
    end

    # Loads what a worker may name later, because its files may be gone by then: a deployment removes the release that still runs.
    def load_code
      require_relative "server/worker"
      used = %i[Entity Sink].reject { |name| Elah.autoload?(name) }
      used |= [:Entity] if @config.hook?(:before_worker_boot) # for `Elah.every(once:)`
      [Elah, Adapters, Rack, *used.map { |name| Elah.const_get(name) }].each do |owner|
        owner.constants.each { |name| owner.const_get(name) if owner.autoload?(name) && !LATER.include?(name) }
      end
    end

    # Inherited workers need a supervisor, whatever the option says.
    def supervised? = @config.workers > 1 || @restart.supervises?

    # New connections wait in the sockets while the process restarts.
    def run_alone(worker)
      run_until_drained(worker, SingleProcess.new(@config, @log))
      return unless @restart.due?

      %i[SQL Redis].each { |name| Elah.const_get(name).finish unless Elah.autoload?(name) } # the next image runs no `at_exit` blocks of this one
      @restart.go({ "sockets" => @sockets.state }, @sockets.descriptors)
    end

    # A restart does not depend on the requests that its drain abandons. It removes the run folder, because a fork of the app may hold the lock in it.
    def run_until_drained(worker, supervisor_link)
      worker.run(@sockets, supervisor_link)
    rescue SystemExit, Cancelled
      raise unless @restart.due?
    ensure
      supervisor_link.remove
    end
  end
end
