# frozen_string_literal: true

require "socket"
require "fileutils"
require_relative "procfs"

module Bench
  # A server under test: its own process, pinned to one core, with its output in a file.
  class Server
    READY_SECONDS_MAX = 30
    # More than Elah's own bound of a drain.
    STOP_SECONDS_MAX = 60

    attr_reader :name, :port, :tree, :command

    # @param name [String] used in the results and for the log file
    # @param core [Integer, String] the core to run on, or several as taskset takes them
    # @param directory [String] where the log goes
    # @yieldparam port [Integer] the port to listen on
    # @yieldreturn [Array<String>] the command
    def initialize(name, core:, directory:, env: {})
      @name = name
      @core = core
      @env = env
      @log = File.join(directory, "#{name}.log")
      @port = TCPServer.open("127.0.0.1", 0) { |socket| socket.addr[1] }
      @command = yield(@port)
    end

    # Starts the server, yields, and ends it again whatever happens.
    def run
      start
      yield self
    ensure
      stop
    end

    def url(path)
      "http://127.0.0.1:#{port}#{path}"
    end

    # Returns once the server accepts connections.
    # @raise [RuntimeError] when it ends before, or does not within READY_SECONDS_MAX
    def start
      pid = Process.spawn(@env, "taskset", "-c", @core.to_s, *command, in: File::NULL, out: @log, err: %i[child out])
      @process = Process.detach(pid)
      @tree = ProcessTree.new(pid)
      deadline = now + READY_SECONDS_MAX
      until accepting?
        raise "#{name} ended before it was ready:\n#{File.read(@log)}" unless @process.alive?
        raise "#{name} was not ready within #{READY_SECONDS_MAX} s:\n#{File.read(@log)}" if now > deadline

        sleep 0.02
      end
    end

    # Keeps all its processes from running until {#resume}.
    def pause = tree.pids.each { |pid| signal("STOP", pid) }

    def resume = tree.pids.each { |pid| signal("CONT", pid) }

    # @raise [RuntimeError] when it has not ended within STOP_SECONDS_MAX; then it is killed, with all that it started
    def stop
      return unless @process&.alive?

      family = tree.pids
      signal("TERM", family.find { |pid| !entrance?(pid) })
      return if @process.join(STOP_SECONDS_MAX)

      family.each { |pid| signal("KILL", pid) }
      raise "#{name} did not end within #{STOP_SECONDS_MAX} s:\n#{File.read(@log)}"
    end

    private

    def accepting?
      TCPSocket.new("127.0.0.1", port).close
      true
    rescue Errno::ECONNREFUSED
      false
    end

    # `unshare` stays as the parent of what it runs, and blocks TERM.
    def entrance?(pid)
      File.read("/proc/#{pid}/comm") == "unshare\n"
    rescue Errno::ENOENT
      false
    end

    def signal(name, pid)
      Process.kill(name, pid)
    rescue Errno::ESRCH
      nil # it has ended meanwhile
    end

    def now
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end
  end
end
