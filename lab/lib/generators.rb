# frozen_string_literal: true

require "json"
require "open3"

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

    # wrk prints its own report first; the JSON is what starts with a brace. elah-load ends with 1 when requests failed, and still reports.
    # A generator does not outlive an interrupt.
    def run(command)
      output = errors = nil
      Open3.popen3(*command) do |input, out, err, process|
        input.close
        readers = [out, err].map { |stream| Thread.new { stream.read } }
        process.join(RUN_SECONDS_MAX) or raise Failure, "`#{command.join(' ')}` did not end within #{RUN_SECONDS_MAX} s."
        output, errors = readers.map(&:value)
      ensure
        kill(process)
        readers&.each(&:join)
      end
      raise Failure, "`#{command.join(' ')}` gave no report: #{errors.lines.last}" unless output.include?("{")

      JSON.parse(output[output.index("{")..])
    end

    def kill(process)
      Process.kill("KILL", process.pid) if process.alive?
    rescue Errno::ESRCH
      nil # it has ended meanwhile
    end
  end
end
