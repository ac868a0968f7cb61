# frozen_string_literal: true

require "fileutils"
require "socket"
require "tmpdir"

module Bench
  # A server of one checkout under callgrind, and the instructions that it has executed.
  class CountedServer
    # Ruby and the app load some fifty times slower under callgrind.
    READY_SECONDS_MAX = 300
    # exe/elah starts Ruby anew unless the first four are set, and valgrind does not follow it. With the last three Ruby's heap is so
    # large that no garbage is collected: one collection costs as much as a hundred requests, and falls into one count or the other.
    ENVIRONMENT = { "RUBY_FIBER_VM_STACK_SIZE" => "1048576", "RUBY_FIBER_MACHINE_STACK_SIZE" => "1048576", "MALLOC_ARENA_MAX" => "2",
                    "GLIBC_TUNABLES" => "glibc.malloc.arena_max=2",
                    "RUBY_GC_HEAP_INIT_SLOTS" => "1000000", "RUBY_GC_MALLOC_LIMIT" => "1000000000",
                    "RUBY_GC_OLDMALLOC_LIMIT" => "1000000000" }.freeze
    private_constant :READY_SECONDS_MAX, :ENVIRONMENT

    # Starts the server, yields it, and stops it.
    #
    # @param checkout [String] folder of the checkout whose Elah serves
    # @param app [String] path of the app file
    # @yieldparam server [CountedServer]
    # @raise [RuntimeError] when the server ends early or does not listen in time
    def self.run(checkout, app)
      Dir.mktmpdir("elah-instructions") do |folder|
        server = new(checkout, app, folder)
        begin
          server.wait_until_ready
          yield server
        ensure
          server.stop
        end
      end
    end

    def initialize(checkout, app, folder)
      @folder = folder
      @log = File.join(folder, "log")
      @port = TCPServer.open("127.0.0.1", 0) { |socket| socket.addr[1] }
      command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=#{folder}/counts", "--log-file=#{folder}/valgrind",
                 "ruby", "--disable=gems", "-I#{checkout}/lib", "#{checkout}/exe/elah", "serve", app,
                 "--bind", "tcp://127.0.0.1:#{@port}", "--data", "#{folder}/data", "--run-dir", "#{folder}/run", "--request-seconds", "600"]
      @process = Process.detach(Process.spawn(ENVIRONMENT, *command, in: File::NULL, out: @log, err: %i[child out]))
      @dumps = 0
    end

    # @return [TCPSocket] a new connection to the server
    def connect = TCPSocket.new("127.0.0.1", @port).tap { |socket| socket.setsockopt(:TCP, :NODELAY, true) }

    # @yield the work to count
    # @return [Integer] instructions of all threads of the server during the block
    def count
      dump
      yield
      Integer(File.read(dump)[/^totals: (\d+)/, 1])
    end

    # Waits until the server's main thread waits for the system.
    def wait_until_at_rest
      Thread.pass until File.read("/proc/#{@process.pid}/stat").match?(/\) S /)
    end

    # Waits until the server accepts connections.
    def wait_until_ready
      deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + READY_SECONDS_MAX
      begin
        connect.close
      rescue Errno::ECONNREFUSED
        is_late = Process.clock_gettime(Process::CLOCK_MONOTONIC) > deadline
        raise "the server did not become ready:\n#{File.read(@log)}" if is_late || !@process.alive?

        sleep 0.1
        retry
      end
    end

    # Ends the process. Nothing of it is kept, so that it need not drain.
    def stop
      Process.kill("KILL", @process.pid)
      @process.join
    rescue Errno::ESRCH
      nil # it has ended by itself
    end

    private

    # Writes what was counted since the last dump, and counts from zero again.
    # @return [String] the file
    def dump
      @dumps += 1
      system("callgrind_control", "--dump", @process.pid.to_s, out: File::NULL, err: File::NULL) or raise "callgrind_control failed"
      file = File.join(@folder, "counts.#{@dumps}")
      sleep 0.05 until File.exist?(file) && File.read(file).match?(/^totals: \d+/)
      file
    end
  end
end
