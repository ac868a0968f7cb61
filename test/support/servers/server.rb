# frozen_string_literal: true

require "fileutils"
require "socket"
require "tmpdir"

# Real database servers of the tests, on free ports of 127.0.0.1, with their data in a fresh temporary folder.
#
#   Servers::Redis.start { |server| Redis.new(url: server.url).ping }
#   SERVER = Servers::PostgreSQL.shared        # one for the whole test process
#
# They trade durability for speed unless `durable: true`. What a test started is ended with it, also when it fails.
module Servers
  # Where `bin/setup --tests` and the servers keep what is made once: jars, and empty databases.
  CACHE = File.expand_path("../../../target/test-servers", __dir__)

  # Raised when a server does not start or end as it should; the message has its log.
  class Failure < StandardError; end

  # Owns one server process: its port, folder, log and signals. A subclass says how its program is called.
  class Server
    # Below the ports that the kernel gives to outgoing connections, so that a server finds its own again after a pause.
    PORTS = (20_000..31_999).freeze
    START_ATTEMPTS = 10
    START_SECONDS = 60
    STOP_SECONDS = 30
    POLL_SECONDS = 0.005
    ADDRESS_TAKEN = /address already in use|could not bind|can't start server: bind/i.freeze

    # What one says that starts while a process of the killed one has not ended.
    NOT_ENDED = /pre-existing shared memory block/.freeze

    # @return [Integer]
    attr_reader :port

    # @return [Integer] of the process that listens
    attr_reader :pid

    # @return [String] its temporary folder
    attr_reader :folder

    # Starts a server. With a block it is removed after the block, and the block's value is returned.
    #
    # @param durable [Boolean] whether what it acknowledged is on disk; the tests want speed
    # @param tls [Boolean] whether it speaks TLS, with a certificate that {#ca_file} vouches for
    # @param settings [Hash{String=>Object}] of the server, by its own names
    # @return [Server]
    # @raise [Failure]
    def self.start(**options)
      server = new(**options)
      return server unless block_given?

      begin
        yield server
      ensure
        server.remove
      end
    end

    # @return [Server] one for the whole process, started at its first use
    def self.shared(**options) = (@shared ||= {})[options] ||= start(**options)

    def initialize(durable: false, tls: false, settings: {})
      @durable = durable
      @tls = tls
      @settings = settings
      @owner = Process.pid
      @folder = Dir.mktmpdir("elah-#{name.downcase}")
      at_exit { remove }
      @certificate = Certificate.issue(@folder) if tls
      prepare
      start_on_free_port
    rescue StandardError
      remove
      raise
    end

    def tls? = @tls

    # @return [String, nil] path of the authority's certificate, for clients that check
    def ca_file = @certificate&.authority_path

    # @return [String] all it wrote so far
    def log = File.exist?(log_path) ? File.binread(log_path) : ""

    # @return [String] HOST:PORT
    def address = "127.0.0.1:#{port}"

    # Ends it in its own orderly way; its port and its data stay.
    def stop
      resume
      signal(self.class::STOP_SIGNAL)
      wait_until_ended or raise Failure, "#{name} did not end within #{STOP_SECONDS} s:\n#{log}"
    end

    # Ends it as `kill -9` does.
    def kill
      pids = process_ids
      pids.each { |pid| send_signal(:KILL, pid) }
      wait_until_ended
      wait_for("the processes of #{name} to end") { pids.none? { |pid| File.exist?("/proc/#{pid}/exe") } }
    end

    # Starts it again after {#stop} or {#kill}, on the same port and with the same data.
    def start
      give_up_at = monotonic + START_SECONDS
      launch until running? || (@pid && monotonic > give_up_at)
      running? or raise Failure, "#{name} did not start again on port #{port}:\n#{log}"
    end

    # Stops and starts it.
    def restart
      stop if running?
      start
    end

    # Halts it in the middle of whatever it does; its connections stay open, and nobody answers.
    def pause
      ids = process_ids.each { |pid| send_signal(:STOP, pid) }
      # A thread that runs on another core stops a little after the signal was sent, and may answer until then.
      wait_for("#{name} to stand still") do
        ids.flat_map { |pid| thread_states(pid) }.all? { |state| "TXZ".include?(state) }
      end
    end

    # Ends a {#pause}.
    def resume = process_ids.reverse_each { |pid| send_signal(:CONT, pid) }

    # @return [Boolean]
    def running? = !@process.nil? && @process.alive?

    # Ends it, if it runs, and removes its data. In a forked child this does nothing: the server is its parent's.
    def remove
      return unless Process.pid == @owner

      kill if running?
      FileUtils.remove_entry(@folder, true)
    end

    private

    # Makes what the server needs before its first start; subclasses have more to do.
    def prepare; end

    # @return [Hash] for Process.spawn
    def spawn_options = {}

    # @return [String] what people call it
    def name = self.class.name.split("::").last

    def log_path = File.join(@folder, "log")
    def data_path = File.join(@folder, "data")

    def start_on_free_port
      START_ATTEMPTS.times do
        @port = free_port
        return if launch
      end
      raise Failure, "#{name} found no free port in #{START_ATTEMPTS} attempts:\n#{log}"
    end

    # A port that nobody listens on. Another process may take it until the server does: then the next one is tried.
    def free_port
      port = rand(PORTS)
      TCPServer.new("127.0.0.1", port).close
      port
    rescue Errno::EADDRINUSE
      retry
    end

    # Starts the process and waits until it serves.
    #
    # @return [Boolean] false when its port is taken, or the server before it has not ended
    # @raise [Failure] when it ended for another reason, or is silent
    def launch
      FileUtils.rm_f(log_path)
      @pid = Process.spawn(*command, in: File::NULL, %i[out err] => [log_path, "a"], chdir: @folder, **spawn_options)
      @process = Process.detach(@pid)
      wait_for("#{name} to start") { !running? || log.match?(self.class::READY) }
      return true if running?

      log.match?(Regexp.union(ADDRESS_TAKEN, NOT_ENDED)) ? false : raise(Failure, "#{name} ended at its start:\n#{log}")
    end

    def wait_until_ended = @process.nil? || !@process.join(STOP_SECONDS).nil?

    # Polls, since a server's log and processes tell nobody that they have changed. Thread#join would not do: in a fiber
    # of a loop Ruby 3.1 forgets its limit.
    def wait_for(what)
      give_up_at = monotonic + START_SECONDS
      until yield
        raise Failure, "Waited #{START_SECONDS} s for #{what}:\n#{log}" if monotonic > give_up_at

        IO.select(nil, nil, nil, POLL_SECONDS)
      end
    end

    def signal(name) = running? && send_signal(name, @pid)

    def send_signal(name, pid)
      Process.kill(name, pid)
    rescue Errno::ESRCH
      nil # it has ended meanwhile
    end

    # The process and those that it started, parents first.
    def process_ids
      return [] unless running?

      ids = [@pid]
      ids.each { |pid| ids.concat(children(pid)) }
    end

    def children(pid)
      File.read("/proc/#{pid}/task/#{pid}/children").split.map(&:to_i)
    rescue Errno::ENOENT, Errno::ESRCH
      []
    end

    # @return [Array<String>] a letter for each thread, as proc(5) has it: T is stopped, X and Z are ended
    def thread_states(pid)
      Dir["/proc/#{pid}/task/*/stat"].map { |path| File.read(path)[/\) (\S)/, 1] }
    rescue Errno::ENOENT, Errno::ESRCH
      []
    end

    def monotonic = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end
end
