# frozen_string_literal: true

require "json"
require "open3"

module Bench
  # Runs the load generators pinned to one core.
  class Generators
    LUA = "bench/wrk/json.lua"
    REQUEST_LUA = "bench/wrk/request.lua"
    # What wrk calls a failure. A threaded server with fewer threads than connections leaves some of them waiting for longer than
    # the two seconds that wrk allows by itself.
    TIMEOUT_SECONDS = 10

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
    # @raise [RuntimeError] when a request failed
    def saturate(url, seconds:, paths_file: nil)
      result = run(wrk_command(url, seconds, paths_file))
      raise "wrk met errors at #{url}: #{result["errors"]}" unless result["errors"].values.sum.zero?

      result
    end

    # Sends one request as fast as the server answers.
    # @param arguments [Array<String>] of wrk/request.lua: verb, file of the body or "-", headers
    # @return [Hash] what wrk/request.lua prints
    # @raise [RuntimeError] when a request failed
    def repeat(url, arguments, seconds:)
      result = run(repeat_command(url, arguments, seconds))
      raise "wrk met errors at #{url}: #{result["errors"]}" unless result["errors"].values.sum.zero?

      result
    end

    # Sends at a fixed rate and counts latency from the planned send times.
    # @return [Hash] the report of elah-load
    # @param arrivals [String] `constant`, or `poisson`: as independent clients send
    # @raise [RuntimeError] when a request failed
    def pace(url, rate:, seconds:, warmup:, status:, paths_file: nil, arrivals: "constant")
      run([*pace_command(url, rate, seconds, warmup, status, paths_file), "--arrivals", arrivals])
    end

    # Offers a fixed rate, whether the server keeps up or not.
    # @return [Hash] the report of elah-load, failures included
    def offer(url, rate:, seconds:, warmup:)
      run(pace_command(url, rate, seconds, warmup, 200), [0, 1])
    end

    # Sends one request on each of `connections` connections at the same moment.
    # @return [Hash] the report of elah-load, failures included
    def once(url, connections:, timeout:)
      run(pinned(@elah_load, "--url", url, "--once", "--connections", connections, "--timeout", timeout, "--json"), [0, 1])
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

    def run(command, statuses = [0])
      output, status = Open3.capture2(*command)
      raise "#{command.join(" ")} ended with #{status.exitstatus}: #{output}" unless statuses.include?(status.exitstatus)

      # wrk prints its own report first; the JSON is what starts with a brace.
      JSON.parse(output[output.index("{")..])
    end
  end
end
