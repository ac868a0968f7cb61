# frozen_string_literal: true

require_relative "generator_process"

module Bench
  # Runs the load generators pinned to one core.
  class Generators
    LUA = "bench/wrk/json.lua"
    REQUEST_LUA = "bench/wrk/request.lua"
    # What wrk calls a failure. A threaded server with fewer threads than connections leaves some of them waiting for longer than
    # the two seconds that wrk allows by itself.
    TIMEOUT_SECONDS = 10
    # Beyond the seconds of its run: to start, to open connections and to wait for the last answers.
    OVERTIME_SECONDS_MAX = 60

    # @param core [Integer] the core that they run on
    # @param elah_load [String] path of that program
    # @param connections [Integer] connections of both
    def initialize(core:, elah_load:, connections:)
      @core = core
      @elah_load = elah_load
      @connections = connections
    end

    # Sends as fast as the server answers.
    # @return [Hash] what wrk/json.lua prints
    # @raise [RuntimeError, GeneratorProcess::Failure] when a request failed, none was answered, or wrk did not end
    def saturate(url, seconds:, paths_file: nil) = load(url, seconds, wrk_command(url, seconds, paths_file))

    # Sends one request as fast as the server answers.
    # @param arguments [Array<String>] of wrk/request.lua: verb, file of the body or "-", headers
    # @return [Hash] what wrk/request.lua prints
    # @raise [RuntimeError, GeneratorProcess::Failure] as {#saturate}
    def repeat(url, arguments, seconds:) = load(url, seconds, repeat_command(url, arguments, seconds))

    # Sends at a fixed rate and counts latency from the planned send times.
    # @param arrivals [String] `constant`, or `poisson`: as independent clients send
    # @return [Hash] the report of elah-load
    # @raise [RuntimeError, GeneratorProcess::Failure] when a request failed, or elah-load did not end
    def pace(url, rate:, seconds:, warmup:, status:, paths_file: nil, arrivals: "constant")
      run([*pace_command(url, rate, seconds, warmup, status, paths_file), "--arrivals", arrivals], seconds + warmup)
    end

    # Offers a fixed rate, whether the server keeps up or not.
    # @param arrivals [String] as {#pace}
    # @param closing [Boolean] whether each request has a connection of its own
    # @return [Hash] the report of elah-load, failures included
    # @raise [GeneratorProcess::Failure] when elah-load did not end
    def offer(url, rate:, seconds:, warmup:, arrivals: "constant", closing: false)
      command = [*pace_command(url, rate, seconds, warmup, 200), "--arrivals", arrivals, *(["--header", "Connection: close"] if closing)]
      run(command, seconds + warmup, [0, 1])
    end

    # Sends one request on each of `connections` connections at the same moment.
    # @return [Hash] the report of elah-load, failures included
    # @raise [GeneratorProcess::Failure] when elah-load did not end
    def once(url, connections:, timeout:)
      run(pinned(@elah_load, "--url", url, "--once", "--connections", connections, "--timeout", timeout, "--json"), timeout, [0, 1])
    end

    def wrk_command(url, seconds, paths_file = nil)
      pinned("wrk", "-t1", "-c#{@connections}", "-d#{seconds}s", "--timeout", "#{TIMEOUT_SECONDS}s", "-s", LUA, url,
             *(["--", paths_file] if paths_file))
    end

    def repeat_command(url, arguments, seconds)
      pinned("wrk", "-t1", "-c#{@connections}", "-d#{seconds}s", "--timeout", "#{TIMEOUT_SECONDS}s", "-s", REQUEST_LUA, url, "--", *arguments)
    end

    def pace_command(url, rate, seconds, warmup, status, paths_file = nil)
      pinned(@elah_load, "--url", url, "--rate", rate, "--connections", @connections, "--duration", seconds,
             "--warmup", warmup, "--expect-status", status, "--json", *(["--paths", paths_file] if paths_file))
    end

    private

    def pinned(*command)
      ["taskset", "-c", @core, *command].map(&:to_s)
    end

    def load(url, seconds, command)
      result = run(command, seconds)
      raise "wrk met errors at #{url}: #{result["errors"]}" unless result["errors"].values.sum.zero?
      raise "#{url} was not answered once in #{seconds} s" if result["requests"].zero?

      result
    end

    def run(command, seconds, statuses = [0])
      report, status = GeneratorProcess.run(command, seconds_max: seconds + OVERTIME_SECONDS_MAX)
      raise "#{command.join(" ")} ended with #{status}: #{report}" unless statuses.include?(status)

      report
    end
  end
end
