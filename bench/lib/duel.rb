# frozen_string_literal: true

require_relative "saturation"
require_relative "statistics"
require_relative "turns"

module Bench
  # One workload, measured on two servers in turns.
  class Duel
    # The load at which p99 is compared, as a share of each server's own capacity.
    PACED_SHARE = 0.5

    # @param workload [Workload]
    # @param servers [Hash{Symbol=>Server}] :elah and :bare, both running
    # @param generators [Generators]
    # @param rounds [Integer]
    # @param seconds [Integer] of each run
    # @param warmup [Integer] seconds of load before each run
    # @param paths_file [String, nil] what is asked for when the workload has no single path
    def initialize(workload, servers, generators, rounds:, seconds:, warmup:, paths_file:)
      @workload = workload
      @servers = servers
      @generators = generators
      @rounds = rounds
      @seconds = seconds
      @warmup = warmup
      @paths_file = workload.links? ? paths_file : nil
    end

    # @yieldparam line [String] one sentence of progress per run
    # @return [Hash] runs, ratios and the commands that were used
    def run(&progress)
      saturated = Turns.take(%i[elah bare], @rounds) { |side| saturate(side, &progress) }
      rates = saturated.transform_values { |runs| (Statistics.median(runs.map { |run| run[:rate] }) * PACED_SHARE).round }
      paced = Turns.take(%i[elah bare], @rounds) { |side| pace(side, rates[side], &progress) }
      { workload: @workload.name, title: @workload.title, target: @workload.target, saturated: saturated, paced: paced,
        ratios: ratios(saturated, paced), commands: commands(rates) }
    end

    private

    def saturate(side)
      saturation = Saturation.new(@generators, seconds: @seconds, warmup: @warmup, paths_file: @paths_file)
      saturation.run(@servers.fetch(side), url(side)).tap { |run| yield Saturation.line(@workload.name, side, run) }
    end

    def pace(side, rate)
      result = @generators.pace(url(side), rate: rate, seconds: @seconds, warmup: @warmup, status: @workload.status,
                                           paths_file: @paths_file)
      latency = result["latency_us"]
      yield format("%-5s %-4s %9d requests/s planned, p50 %5.0f µs, p99 %6.0f µs",
                   @workload.name, side, rate, latency["p50"], latency["p99"])
      { rate: rate, p50_us: latency["p50"], p99_us: latency["p99"], elah_load: result }
    end

    def ratios(saturated, paced)
      elah, bare = saturated.values_at(:elah, :bare)
      { rate: Turns.ratio(elah, bare, :rate), cpu: Turns.ratio(bare, elah, :cpu_us), p99: Turns.ratio(*paced.values_at(:elah, :bare), :p99_us) }
    end

    def commands(rates)
      @servers.to_h do |side, server|
        pace = @generators.pace_command(url(side), rates[side], @seconds, @warmup, @workload.status, @paths_file)
        [side, { server: server.command.join(" "), saturate: @generators.wrk_command(url(side), @seconds, @paths_file).join(" "),
                 pace: pace.join(" ") }]
      end
    end

    def url(side)
      @servers.fetch(side).url(@workload.path || "/")
    end
  end
end
