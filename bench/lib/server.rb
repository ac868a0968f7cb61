# frozen_string_literal: true

require "socket"
require "fileutils"
require_relative "procfs"

module Bench
  # A server under test: its own process, pinned to one core, with its output in a file.
  class Server
    READY_SECONDS_MAX = 30

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
      @pid = Process.spawn(@env, "taskset", "-c", @core.to_s, *command, in: File::NULL, out: @log, err: %i[child out])
      @tree = ProcessTree.new(@pid)
      deadline = now + READY_SECONDS_MAX
      until accepting?
        raise "#{name} ended before it was ready:\n#{File.read(@log)}" if Process.wait(@pid, Process::WNOHANG)
        raise "#{name} was not ready within #{READY_SECONDS_MAX} s:\n#{File.read(@log)}" if now > deadline

        sleep 0.02
      end
    end

    # Keeps all its processes from running until {#resume}.
    def pause = @tree.pids.each { |pid| Process.kill("STOP", pid) }

    def resume = @tree.pids.each { |pid| Process.kill("CONT", pid) }

    def stop
      return unless @pid

      Process.kill("TERM", @pid)
      Process.wait(@pid)
    rescue Errno::ESRCH, Errno::ECHILD
      nil
    ensure
      @pid = nil
    end

    private

    def accepting?
      TCPSocket.new("127.0.0.1", port).close
      true
    rescue Errno::ECONNREFUSED
      false
    end

    def now
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end
  end
end
