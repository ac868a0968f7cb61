# frozen_string_literal: true

require_relative "cpu_use"

module Bench
  # Owns one run of a server at its limit: some load to warm it up, then what it answers in some seconds, and at which cost.
  class Saturation
    # @param generators [Generators]
    # @param seconds [Integer] of a run
    # @param warmup [Integer] seconds of load before it
    # @param paths_file [String, nil] what is asked for when there is no single path
    # @param arguments [Array<String>, nil] of the one request, as {Generators#repeat} takes them, where it is no plain GET
    def initialize(generators, seconds:, warmup:, paths_file: nil, arguments: nil)
      @generators = generators
      @seconds = seconds
      @warmup = warmup
      @paths_file = paths_file
      @arguments = arguments
    end

    # @param server [Server]
    # @param url [String]
    # @return [Hash] requests per second, CPU time of the server per request, p95, who used the processor, and wrk's own report
    def run(server, url)
      load(url, @warmup) if @warmup.positive?
      result = nil
      use = CpuUse.of(server.tree) { result = load(url, @seconds) }
      { rate: result["requests"] / result["seconds"], cpu_us: use.server_seconds * 1e6 / result["requests"], p95_us: result["p95_us"],
        server_share: use.server_share, generator_share: use.generator_share, foreign_share: use.foreign_share, wrk: result }
    end

    # @param run [Hash] as {#run} gave it
    # @return [String] one line of progress
    def self.line(*names, run)
      format("%s %9.0f requests/s, %6.2f µs CPU each; busy: server %3.0f %%, generator %3.0f %%, others %3.0f %%",
             names.map { |name| name.to_s.ljust(7) }.join(" "), run[:rate], run[:cpu_us],
             *run.values_at(:server_share, :generator_share, :foreign_share).map { |share| share * 100 })
    end

    private

    def load(url, seconds)
      return @generators.repeat(url, @arguments, seconds: seconds) if @arguments

      @generators.saturate(url, seconds: seconds, paths_file: @paths_file)
    end
  end
end
