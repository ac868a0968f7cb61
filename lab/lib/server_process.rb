# frozen_string_literal: true

require "fileutils"
require "socket"
require "tmpdir"
require_relative "../../bench/lib/procfs"
require_relative "keeper"

module Lab
  # A contender that runs: a process group of its own on a free port, with its output in a file and its data in a folder that goes with it.
  class ServerProcess
    # It did not start, or has ended by itself.
    class Failure < Error; end

    PORTS = (20_000..31_999).freeze # below those that the kernel gives to connections that go out
    ADDRESS_TAKEN = /address (is )?already in use|EADDRINUSE|could not bind/i
    START_ATTEMPTS = 3
    STOP_SECONDS = 8
    POLL_SECONDS = 0.01
    LOG_LINES_MAX = 8
    DESCRIPTORS_MAX = 65_536

    # @return [Integer]
    attr_reader :port
    # @return [Bench::ProcessTree]
    attr_reader :tree
    # @return [Array<String>] the command, without what binds it to a core
    attr_reader :command
    # @return [Float] seconds from its start until it accepted a connection
    attr_reader :start_seconds

    # @param contender [Contender]
    # @param workload [Workload]
    # @param cores [Cores]
    # @param places [Hash{Symbol=>String}] store, the URL of a database server; data, a folder that stays. Without that it gets an empty one
    def initialize(contender, workload, cores: Cores.new, **places)
      @contender = contender
      @workload = workload
      @cores = cores
      @places = places
    end

    # Starts it, yields itself, and ends it with everything that it started, whatever happens.
    # @raise [Failure]
    def run
      @folder = Dir.mktmpdir("#{@contender.name}-", FileUtils.mkdir_p(WORK_FOLDER).first)
      start
      yield self
    ensure
      stop
      FileUtils.remove_entry(@folder, true) if @folder
    end

    # @return [String]
    def url(path = "") = "http://127.0.0.1:#{port}#{path}"

    # @return [Boolean]
    def running? = !@process.nil? && @process.alive?

    # @return [String] the end of what it wrote
    def log = File.exist?(log_path) ? File.read(log_path, encoding: "BINARY").scrub("?").lines.last(LOG_LINES_MAX).join.strip : ""

    # @raise [Failure] when it has ended by itself
    def require_running
      raise Failure, "it ended by itself (#{@process.value.to_s.sub(/\Apid \d+ /, '')}). Its last words: #{log}" unless running?
    end

    private

    def start
      attempt = 1
      until launch
        unlucky = log.match?(ADDRESS_TAKEN) && attempt < START_ATTEMPTS
        raise Failure, "it ended before it was ready. Its last words: #{log}" unless unlucky

        attempt += 1
      end
    end

    # @return [Boolean] false when it has ended
    def launch
      @port = free_port
      places = { data: @folder, **@places, port: @port }
      @command = @contender.run_command(@workload, **places)
      @started_at = now
      words = [*@cores.server, *@command]
      pid = Keeper.start(@contender.environment(@workload, **places), words, log: log_path, rlimit_nofile: descriptors)
      @tree = Bench::ProcessTree.new(pid, root: false)
      @process = Process.detach(pid)
      wait_until_ready
    end

    # As many as 10,000 connections need, where the system allows it.
    def descriptors = Process.getrlimit(:NOFILE).then { |_, hard| [hard, DESCRIPTORS_MAX].min }.then { |limit| [limit, limit] }

    def wait_until_ready
      until accepting?
        return false unless running?
        raise Failure, "it was not ready within #{@contender.ready_seconds} s. Its last words: #{log}" if now - @started_at > @contender.ready_seconds

        sleep POLL_SECONDS
      end
      @start_seconds = now - @started_at
      running?
    end

    def accepting?
      TCPSocket.new("127.0.0.1", port).close
      true
    rescue Errno::ECONNREFUSED, Errno::ECONNRESET
      false
    end

    def free_port
      port = rand(PORTS)
      TCPServer.new("127.0.0.1", port).close
      port
    rescue Errno::EADDRINUSE
      retry
    end

    # First as its manual says, then by force; descendants that left the group too.
    def stop
      return unless @process

      family = tree.pids
      signal(@contender.stop_signal, -@process.pid)
      @process.join(STOP_SECONDS)
      signal("KILL", -@process.pid)
      family.each { |pid| signal("KILL", pid) }
      @process.join
      @process = nil
    end

    def signal(name, pid)
      Process.kill(name, pid)
    rescue Errno::ESRCH
      nil # it has ended meanwhile
    end

    def log_path = File.join(@folder, "server.log")
    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end
end
