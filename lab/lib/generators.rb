# frozen_string_literal: true

require_relative "../../bench/lib/generator_process"

module Lab
  # Owns the calls of the two generators: wrk for saturation, elah-load for latency at a fixed rate. Failed requests are counted, not raised.
  class Generators
    LUA = "bench/wrk/json.lua"
    ELAH_LOAD = "target/release/elah-load"
    TIMEOUT_SECONDS = 10
    # Of one run: 10,000 connections may take a while to open on a busy machine.
    RUN_SECONDS_MAX = 90

    # The generator itself did not do its work.
    class Failure < Error; end

    # @param cores [Cores]
    def initialize(cores)
      @prefix = cores.generator
    end

    # Sends as fast as the server answers.
    # @return [Hash] requests, seconds, p50_us, p99_us, errors by kind
    def saturate(url, connections:, seconds:, paths_file: nil)
      run(saturate_command(url, connections: connections, seconds: seconds, paths_file: paths_file))
    end

    # Sends at a fixed rate and counts latency from the planned send times.
    # @return [Hash] what elah-load reports
    def pace(url, **load)
      run(pace_command(url, **load))
    end

    def saturate_command(url, connections:, seconds:, paths_file: nil)
      [*@prefix, "wrk", "-t1", "-c#{connections}", "-d#{seconds}s", "--timeout", "#{TIMEOUT_SECONDS}s", "-s", LUA, url,
       *(["--", paths_file] if paths_file)]
    end

    def pace_command(url, rate:, connections:, seconds:, status:, warmup: 0, paths_file: nil)
      [*@prefix, ELAH_LOAD, "--url", url, "--rate", rate.round, "--connections", connections, "--duration", seconds, "--warmup", warmup,
       "--timeout", TIMEOUT_SECONDS, "--expect-status", status, "--json", "--spectrum", *(["--paths", paths_file] if paths_file)].map(&:to_s)
    end

    private

    # elah-load ends with 1 when requests failed, and still reports.
    def run(command)
      Bench::GeneratorProcess.run(command, seconds_max: RUN_SECONDS_MAX).first
    rescue Bench::GeneratorProcess::Failure => e
      raise Failure, e.message
    end
  end
end
